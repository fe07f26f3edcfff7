#include "image_names.h"

#include <ranges>

namespace hodo::session {

void ImageNames::add(const image::ElfImage& image, const symbol::SourcePaths& sources) {
  auto table = symbol::SymbolTable::open(image.path, {.sources = sources});
  if (!table) return;
  std::uint64_t bias = image.base ? *image.base - (*table)->elf().lowest_page() : 0;
  images_.push_back({image.path, bias, *std::move(table)});
}

std::vector<const symbol::SymbolTable*> ImageNames::tables() const {
  std::vector<const symbol::SymbolTable*> out;
  out.reserve(images_.size());
  for (const Image& image : images_) out.push_back(image.table.get());
  return out;
}

Object ImageNames::object(std::uint32_t, std::uint64_t address, std::uint64_t) const {
  for (const Image& image : images_ | std::views::reverse) {
    auto offset = image.table->elf().offset_of(address - image.bias);
    if (offset) return {.path = image.path, .offset = *offset, .table = image.table.get()};
  }
  return {};
}

}  // namespace hodo::session
