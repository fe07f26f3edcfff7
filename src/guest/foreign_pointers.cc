#include "hodo/guest/foreign_pointers.h"

#include <array>
#include <charconv>

#include "hodo/base/page.h"

namespace hodo::guest {
namespace {

constexpr std::uint64_t kMostData = 256 << 20;
constexpr std::size_t kMostPointers = 1024;
// Where modules are, and everything else that executes outside of the kernel's image: the half that
// belongs to the kernel. Nearly all words are none of its addresses.
constexpr std::uint64_t kHighHalf = 0xffff'8000'0000'0000;

std::string name_of(const Kernel& kernel, std::uint64_t slot) {
  const KernelSymbol* before = nullptr;
  for (const KernelSymbol& symbol : kernel.symbols) {
    if (symbol.address > slot) continue;
    if (before == nullptr || symbol.address > before->address) before = &symbol;
  }
  char offset[16];
  const std::uint64_t distance = before == nullptr ? slot : slot - before->address;
  const auto end = std::to_chars(std::begin(offset), std::end(offset), distance, 16).ptr;
  return (before == nullptr ? "" : before->name) + "+0x" + std::string(offset, end);
}

}  // namespace

std::vector<ForeignPointer> foreign_pointers(
    const VirtualMemory& memory, const Kernel& kernel,
    const std::function<bool(std::uint64_t target)>& is_foreign) {
  std::vector<ForeignPointer> out;
  const std::uint64_t start = kernel.address_of("__start_rodata") & ~(kPage - 1);
  const std::uint64_t end = kernel.address_of("__end_rodata");
  if (start == 0 || end < start || end - start > kMostData) return out;
  for (std::uint64_t page = start; page < end; page += kPage) {
    const auto words = memory.read<std::array<std::uint64_t, kPage / sizeof(std::uint64_t)>>(page);
    if (!words) continue;
    for (std::size_t i = 0; i < words->size() && out.size() < kMostPointers; ++i) {
      const std::uint64_t target = (*words)[i];
      if (target < kHighHalf || !is_foreign(target)) continue;
      const std::uint64_t slot = page + i * sizeof(target);
      out.push_back({.slot = slot, .target = target, .name = name_of(kernel, slot)});
    }
  }
  return out;
}

}  // namespace hodo::guest
