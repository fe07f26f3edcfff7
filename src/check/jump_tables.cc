#include "jump_tables.h"

#include <algorithm>

namespace hodo::check {

bool mark_jump_tables(const ElfBytes& elf, const Sweep& sweep, const FunctionMap& functions,
                      TextMap& text) {
  std::vector<bool> jumps(functions.all().size());  // functions with an indirect jump
  for (const std::uint64_t at : sweep.indirect_jumps) {
    if (const auto index = functions.index(at)) jumps[*index] = true;
  }
  std::uint64_t budget = elf.file().size();
  for (const Sweep::Reference& reference : sweep.references) {
    const auto function = functions.index(reference.from);
    if (!function || !jumps[*function]) continue;
    ByteReader table(elf.at(reference.to));
    while (const auto distance = table.read<std::int32_t>()) {
      if (budget == 0) return false;
      --budget;
      const std::uint64_t target =
          reference.to + static_cast<std::uint64_t>(std::int64_t{*distance});
      const bool inside = functions.same(reference.from, target);
      if (!inside || (text.marks(target) & kInsn) == 0) break;
      text.mark(target, kTableTarget);
    }
  }
  return true;
}

}  // namespace hodo::check
