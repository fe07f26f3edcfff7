// Findings that somebody has looked at and does not want to see again, each with the reason.
//
// A file of lines RULE | FROM => TO | REASON. An end is OBJECT:FUNCTION, both as findings name them
// (the last part of the object's path), OBJECT:+OFFSET where no function has a name, "?" where no
// object is known, or "-" where the branch has no such end; "*" stands for any text. The reason
// must not be empty. Empty lines and those that begin with # are none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/check/finding.h"
#include "hodo/session/names.h"

namespace hodo::check {

struct Suppression {
  const Rule* rule = nullptr;
  std::string from;
  std::string to;
  std::string reason;
};

class Suppressions {
 public:
  static constexpr std::size_t kMost = 100'000;

  // Errors: malformed, naming the line and what is wrong with it; no_space for more than kMost.
  static Result<Suppressions> parse(std::string_view text);
  // Also as image::RegularFile::open and read_all.
  static Result<Suppressions> load(const std::string& path);

  // The first that fits; null: none. Steps of an attack are asked for one by one.
  const Suppression* find(const Finding& finding, const session::Names& names) const;
  const std::vector<Suppression>& all() const { return all_; }

 private:
  std::vector<Suppression> all_;
};

// The line that suppresses a finding, without its reason: "call.sensitive | ls:main =>
// libc:system".
std::string suppression_of(const Finding& finding, const session::Names& names);

}  // namespace hodo::check
