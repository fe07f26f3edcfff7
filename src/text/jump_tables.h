// Recovers the targets of jump tables from the code that uses them.
#pragma once

#include <cstdint>
#include <vector>

#include "function_map.h"
#include "hodo/text/elf_bytes.h"
#include "sweep.h"
#include "text_map.h"

namespace hodo::text {

// Compilers write `switch` in position-independent code as a table of 32-bit distances from the
// table's own start, whose address the function loads (GCC's and clang's -fPIC and -fPIE), and
// people write computed gotos as distances from a label, whose address it loads, too. On i386 the
// distances are from the GOT, whose address a register holds. Every such address in a function with
// an indirect jump is read as a table as far as its entries lead to instructions; those of the same
// function get kTableTarget. So do all instructions behind such a label where there is no table:
// the jump is then computed. Tables of whole addresses need no recovery: the addresses are
// constants in data. Functions between whose entries lie some of another function are joined with
// it: it is a part that the compiler split off.
struct JumpTables {
  // False: there were more entries than a file of this size can have, and some were not read.
  bool complete = true;
  // Targets that were not known before, and at which the sweep read no instruction.
  std::vector<std::uint64_t> unread;
};

JumpTables mark_jump_tables(const ElfBytes& elf, const Sweep& sweep, FunctionMap& functions,
                            TextMap& text);

}  // namespace hodo::text
