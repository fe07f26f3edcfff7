#include "text_pages.h"

namespace hodo::check {
void TextPages::add(std::uint32_t space, std::uint64_t since, std::uint64_t until, const End& first,
                    const End& last) {
  const bool alike = first.is_as_its_file() && last.is_as_its_file() &&
                     first.region == last.region && first.module == last.module &&
                     last.vaddr - first.vaddr == last.address - first.address;
  if (!alike) return;
  table_[slot(space, first.address)] = {
      .begin = first.address, .space = space, .since = since, .until = until, .first = first};
}

}  // namespace hodo::check
