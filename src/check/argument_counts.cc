#include "argument_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

namespace hodo::check {
namespace {

template <class Map, class Find>
const auto& remembered(Map& map, const typename Map::key_type& key, Find find) {
  const auto found = map.find(key);
  return found != map.end() ? found->second : map.emplace(key, find()).first->second;
}

// The function begins with [ENDBR64;] PUSH RBP; MOV RBP, RSP, as all do that were compiled without
// optimisation.
bool begins_frame(const text::Module& module, std::uint64_t vaddr) {
  constexpr std::array<std::uint8_t, 4> kEndbr = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr std::array<std::uint8_t, 4> kFrame = {0x55, 0x48, 0x89, 0xe5};
  const text::Function* const function = module.function(vaddr);
  if (function == nullptr) return false;
  auto code = module.bytes(function->begin);
  if (code.size() > kEndbr.size() && std::ranges::equal(code.first(kEndbr.size()), kEndbr)) {
    code = code.subspan(kEndbr.size());
  }
  return code.size() > kFrame.size() && std::ranges::equal(code.first(kFrame.size()), kFrame);
}

// One more than the last of the arguments.
int count_of(unsigned arguments) { return std::bit_width(arguments); }

}  // namespace

std::optional<Verdict> ArgumentCounts::judge(const Edge& edge) {
  if (edge.mode != isa::Mode::bits64) return std::nullopt;
  const text::Module& from = *edge.from.module;
  const text::Module& to = *edge.to.module;
  const auto& read = remembered(read_, Place(&to, edge.to.vaddr),
                                [&] { return to.arguments_read(edge.to.vaddr); });
  const int reads = count_of(read.values);
  // Of optimised code nobody knows whether RDX, the third, was returned by a call before.
  constexpr int kMayBeReturned = 3;
  if (reads == 0 || (reads <= kMayBeReturned && !begins_frame(from, edge.from.vaddr))) {
    return std::nullopt;
  }
  const auto& set = remembered(set_, Place(&from, edge.from.vaddr),
                               [&] { return from.arguments_set(edge.from.vaddr); });
  const int has = std::max(count_of(set.set), set.returned ? kMayBeReturned : 0);
  if (set.unprototyped || reads <= has) return std::nullopt;
  return Verdict{.grade = Grade::unexplained,
                 .reason = fmt::format(
                     "leads to a function that reads {} arguments in registers by a call that "
                     "can have set {} at most",
                     reads, has)};
}

}  // namespace hodo::check
