// ELF files as input: headers and build-id by our own reader, symbols and DWARF through libelf and
// libdw. Checks beside the sanitizers': both directions of the address translation agree, and a
// symbol has the addresses that it is found by.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "hodo/image/elf.h"
#include "hodo/symbol/symbol_table.h"

namespace {

using namespace hodo;

void require(bool condition) {
  if (!condition) std::abort();
}

void translate(const image::Elf& elf, std::uint64_t offset) {
  const auto vaddr = elf.vaddr_of(offset);
  if (vaddr) require(elf.offset_of(*vaddr).has_value());
}

void ask(const symbol::SymbolTable& table) {
  const auto symbols = table.symbols();
  // A few are enough: each source() may look through the whole unit.
  const std::size_t step = 1 + symbols.size() / 8;
  for (std::size_t i = 0; i < symbols.size(); i += step) {
    const auto& s = symbols[i];
    if (const auto* found = table.at(s.start)) require(s.start - found->start < found->size);
    require(!table.named(s.name).empty());
    (void)table.source(s.start);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  (void)image::build_id_in_notes(bytes, size % 2 == 0 ? 4 : 8);
  const auto elf = image::read_elf(bytes);
  if (!elf) return 0;
  for (const auto& s : elf->segments) translate(*elf, s.offset);
  (void)elf->lowest_page();
  const auto table = symbol::SymbolTable::from_bytes({bytes.begin(), bytes.end()});
  require(table.has_value());
  ask(**table);
  return 0;
}
