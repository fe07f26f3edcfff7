// What the unwind tables of an ELF file say about its code: where functions begin and end, and
// where exceptions land. They survive stripping, since unwinding needs them.
//
// Sources: LSB 5.0, "Exception Frames" (.eh_frame, .eh_frame_hdr); the layout of .gcc_except_table
// as GCC's unwind-c.c and unwind-pe.h read it.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"

namespace hodo::text {

struct UnwindTables {
  std::vector<Function> functions;   // in the file's order
  std::vector<LandingPad> landings;  // in the order of functions
  // What the unwinder calls for a function, where .eh_frame names it itself and not a word that
  // holds its address.
  std::vector<std::uint64_t> personalities;
  Function frames;       // where .eh_frame lies; empty: there is none
  bool complete = true;  // false: something was damaged and is missing here
};

// Never fails: what cannot be read is not there.
UnwindTables read_unwind_tables(const ElfBytes& elf);

}  // namespace hodo::text
