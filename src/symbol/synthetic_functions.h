// Functions that a stripped file has no names for, found in what stripping leaves: the unwind
// table, the entry point, and the code itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elf_file.h"
#include "hodo/image/elf.h"

namespace hodo::symbol {

// [start, end) of code.
struct CodeRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

struct SyntheticFunction {
  std::uint64_t start = 0;
  std::uint64_t size = 0;         // 0: up to the next function, or to
  std::uint64_t section_end = 0;  // where it ends at the latest
  // An address of the function that this is a part of: the compiler has moved it away. 0: none.
  std::uint64_t part_of = 0;
};

enum class LookInto : bool {
  tables,           // .eh_frame and the entry point: all that a compiler's code needs
  tables_and_code,  // direct calls and what stands behind padding, too, with a pass over all code
};

// By start, each once, none inside of `named` (by start, not overlapping). Takes time and memory
// linear in the file. Damaged tables are read as far as they can be.
std::vector<SyntheticFunction> find_functions(const ElfFile& file, const image::Elf& elf,
                                              std::span<const CodeRange> named, LookInto where);

}  // namespace hodo::symbol
