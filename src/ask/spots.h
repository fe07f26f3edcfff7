// Places in files that are looked for on a path: the code of a line, or of an address.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "by_file.h"
#include "hodo/ask/occurrences.h"
#include "hodo/session/session.h"

namespace hodo::ask {

// Code of a process: [begin, end).
struct Spot {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

class Spots {
 public:
  // `session` must outlive this.
  Spots(session::Session& session, Wanted wanted)
      : wanted_(std::move(wanted)), files_(session.names(), [this](const session::Object& object) {
          return ranges_of(object);
        }) {}
  Spots(const Spots&) = delete;
  Spots& operator=(const Spots&) = delete;

  // Those of the object that `first` lies in that meet [first, last], by address. Valid until the
  // next question.
  std::span<const Spot> within(std::uint32_t space, std::uint64_t first, std::uint64_t last,
                               std::uint64_t time);
  // Whether one of them has this address.
  bool has(std::uint32_t space, std::uint64_t address, std::uint64_t time);

  const Meant& meant() const { return meant_; }
  bool found_any() const { return found_; }

 private:
  using Ranges = std::vector<Spot>;  // in a file, by offset
  Ranges ranges_of(const session::Object& object);
  void add_lines(const symbol::SymbolTable& table, Ranges& out);
  void add_symbol(const symbol::SymbolTable& table, Ranges& out);

  Wanted wanted_;
  ByFile<Ranges> files_;
  std::vector<Spot> answer_;
  Meant meant_;
  bool found_ = false;
};

}  // namespace hodo::ask
