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
}

// Times of 0 ask for the last state.
std::uint64_t or_last(std::uint64_t time) { return time == 0 ? perfdata::kForever - 1 : time; }

}  // namespace

Place RecordingNames::place(std::uint32_t space, std::uint64_t address, std::uint64_t time) const {
  const Space* where = spaces_.of(space, address);
  const perfdata::Mapping* mapping =
      where == nullptr ? nullptr : where->mapping(address, or_last(time));
  if (mapping == nullptr) return {};
  Place place;
  place.offset = address - mapping->address + mapping->file_offset;
  if (mapping->file != perfdata::kNone) place.object = recording_.files()[mapping->file].path;
  if (place.object.empty()) place.object = "[anon]";
  const symbol::SymbolTable* table =
      mapping->file == perfdata::kNone ? nullptr : spaces_.files().symbols(mapping->file);
  if (table != nullptr) add_symbol(place, *table);
  return place;
}

std::uint32_t RecordingNames::generation(std::uint32_t space, std::uint64_t time) const {
  const Space* where = spaces_.user(space);
  return where == nullptr ? 0 : where->generation(or_last(time));
}

}  // namespace hodo::session
