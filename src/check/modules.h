// Analyses of files, each made when it is first asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/check/module.h"

namespace hodo::check {

// A file that could not be analysed.
struct Unread {
  std::string path;
  std::string reason;
};

class Modules {
 public:
  // `cache`: where analyses are kept, or null.
  explicit Modules(const ModuleCache* cache) : cache_(cache) {}

  // The analysis of the file at `location`; null where it cannot be made. A file is read once.
  const Module* get(std::string_view location);
  const std::vector<Unread>& unread() const { return unread_; }

 private:
  const ModuleCache* cache_;
  std::map<std::string, std::shared_ptr<const Module>, std::less<>> by_location_;
  // The same file under other names.
  std::map<std::vector<std::uint8_t>, std::shared_ptr<const Module>> by_build_id_;
  std::vector<Unread> unread_;
};

}  // namespace hodo::check
