#include "text_pages.h"

namespace hodo::check {
namespace {

bool is_as_its_file(const End& end) {
  return end.kind == End::Kind::file && !end.kept && !end.generated && !end.grant &&
         end.writing == session::Region::Writing::none;
}

}  // namespace

void TextPages::add(std::uint32_t space, std::uint64_t since, std::uint64_t until, const End& first,
                    const End& last) {
  const bool alike = is_as_its_file(first) && is_as_its_file(last) && first.region == last.region &&
                     first.module == last.module &&
                     last.vaddr - first.vaddr == last.address - first.address;
  if (!alike) return;
  table_[slot(space, first.address)] = {
      .begin = first.address, .space = space, .since = since, .until = until, .first = first};
}

}  // namespace hodo::check
