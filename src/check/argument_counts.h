// Calls through pointers that give a function fewer arguments than it reads.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "edge.h"
#include "edge_rules.h"

namespace hodo::check {

// Compilers put arguments into registers right before a call, so a pointer that leads to a function
// which reads one that nothing can have been put into was made for another function.
class ArgumentCounts {
 public:
  // Of a call or jump through a pointer to a function in 64-bit code; both ends are known.
  std::optional<Verdict> judge(const Edge& edge);

 private:
  using Place = std::pair<const text::Module*, std::uint64_t>;

  std::map<Place, text::ArgumentsRead> read_;
  std::map<Place, text::ArgumentsSet> set_;
};

}  // namespace hodo::check
