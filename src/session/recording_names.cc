#include "recording_names.h"

#include "hodo/symbol/demangle.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::session {
namespace {

void add_symbol(Place& place, const symbol::SymbolTable& table) {
  auto vaddr = table.elf().vaddr_of(place.offset);
  const symbol::Symbol* symbol = vaddr ? table.at(*vaddr) : nullptr;
  if (symbol == nullptr) return;
  place.symbol = symbol::demangle(symbol->name);
  place.offset = *vaddr - symbol->start;
  place.size = symbol->size;
  place.stub = symbol->kind == symbol::SymbolKind::plt;
}

// Times of 0 ask for the last state.
std::uint64_t or_last(std::uint64_t time) { return time == 0 ? perfdata::kForever - 1 : time; }

}  // namespace

std::vector<symbol::SourceFrame> source_of(const Object& object) {
  if (object.table == nullptr) return {};
  auto vaddr = object.table->elf().vaddr_of(object.offset);
  if (!vaddr) return {};
  std::vector<symbol::SourceFrame> frames = object.table->source(*vaddr);
  for (symbol::SourceFrame& frame : frames) frame.function = symbol::demangle(frame.function);
  return frames;
}

Object RecordingNames::object(std::uint32_t space, std::uint64_t address,
                              std::uint64_t time) const {
  const Space* where = spaces_.of(space, address);
  const perfdata::Mapping* mapping =
      where == nullptr ? nullptr : where->mapping(address, or_last(time));
  if (mapping == nullptr) return {};
  Object object{.offset = address - mapping->address + mapping->file_offset};
  if (mapping->file != perfdata::kNone) {
    object.path = recording_.files()[mapping->file].path;
    object.table = spaces_.files().symbols(mapping->file);
  }
  if (object.path.empty()) {
    object.path = "[anon]";
    object.offset = address;
  }
  return object;
}

Place RecordingNames::place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const {
  Object found = object(space, address, time);
  Place place{.offset = found.offset, .object = std::move(found.path)};
  if (found.table != nullptr) add_symbol(place, *found.table);
  return place;
}

std::uint32_t RecordingNames::generation(std::uint32_t space, std::uint64_t time) const {
  const Space* where = spaces_.user(space);
  return where == nullptr ? 0 : where->generation(or_last(time));
}

}  // namespace hodo::session
