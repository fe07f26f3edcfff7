#include "hodo/session/names.h"

#include "hodo/symbol/demangle.h"

namespace hodo::session {

Place place_in(const Object& object) {
  Place place{.offset = object.offset, .object = object.path};
  if (object.table == nullptr) return place;
  auto vaddr = object.table->elf().vaddr_of(object.offset);
  const symbol::Symbol* symbol = vaddr ? object.table->function_at(*vaddr) : nullptr;
  if (symbol == nullptr) return place;
  place.symbol = symbol::demangle(symbol->name);
  place.offset = *vaddr - symbol->start;
  place.mark = object.table->mark_of(*symbol);
  place.size = symbol->size;
  place.stub = symbol->kind == symbol::SymbolKind::plt;
  place.synthetic = symbol->kind == symbol::SymbolKind::synthetic;
  return place;
}

std::string full_name(const Place& place) {
  return place.mark.empty() ? place.symbol : place.symbol + " [" + place.mark + "]";
}

std::vector<symbol::SourceFrame> source_of(const Object& object) {
  if (object.table == nullptr) return {};
  auto vaddr = object.table->elf().vaddr_of(object.offset);
  if (!vaddr) return {};
  std::vector<symbol::SourceFrame> frames = object.table->source(*vaddr);
  for (symbol::SourceFrame& frame : frames) frame.function = symbol::demangle(frame.function);
  return frames;
}

}  // namespace hodo::session
