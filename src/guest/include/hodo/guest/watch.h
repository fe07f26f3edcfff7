// Which processes of a guest are to be recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hodo::guest {

struct WatchList {
  bool everyone = false;
  bool children = false;           // and what these start, and so on
  std::vector<std::string> names;  // as the guest's kernel has them: at most 15 bytes
  std::vector<std::int32_t> pids;
  std::vector<std::uint64_t> cr3s;  // physical addresses of top-level tables

  bool wants(std::int32_t pid, std::string_view name, std::uint64_t cr3) const;
};

// The words that carry a list to a recorder in another process: "process=NAME", "pid=N", "cr3=HEX",
// "process=all", "children". parse_watch takes one of them; false: it is none.
std::vector<std::string> watch_words(const WatchList& list);
bool parse_watch(std::string_view word, WatchList& list);

}  // namespace hodo::guest
