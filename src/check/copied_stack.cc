#include "copied_stack.h"

#include <algorithm>
#include <array>

namespace hodo::check {

bool copies_before(const End& behind) {
  constexpr std::uint64_t kReach = 4096;
  constexpr std::array<std::string_view, 4> kCopies = {"memcpy", "memmove", "__memcpy_chk",
                                                       "__memmove_chk"};
  if (!behind.known()) return false;
  const text::Module& module = *behind.module;
  // The call of a function that does not return may be the last of its own.
  const text::Function* const function = module.function(behind.vaddr - 1);
  if (function == nullptr) return false;
  const std::uint64_t begin = behind.vaddr - std::min(behind.vaddr - function->begin, kReach);
  for (std::uint64_t at = begin; at < behind.vaddr; ++at) {
    if (!module.has(at, text::kReturnSite)) continue;
    if (std::ranges::find(kCopies, module.callee_before(at)) != kCopies.end()) return true;
  }
  return false;
}

}  // namespace hodo::check
