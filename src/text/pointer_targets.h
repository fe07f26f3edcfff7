// Which functions no pointer of their file leads to, or only the vtables of classes.
//
// Sources: Itanium C++ ABI, "Virtual Table Layout" and "RTTI Layout".
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "function_map.h"
#include "hodo/image/unwind_tables.h"
#include "hodo/text/elf_bytes.h"
#include "hodo/text/module.h"
#include "sweep.h"
#include "text_map.h"

namespace hodo::text {

struct PointerTargets {
  // Functions, ascending: those that nothing in the file leads to, exported ones and others.
  std::vector<std::uint64_t> untaken;
  std::vector<std::uint64_t> exported;
  std::vector<VirtualSlot> slots;  // by function, of those that only vtables hold
};

// `compiled`: the functions of which .eh_frame tells. Only those are judged, of 64-bit files: who
// writes assembly may come to an address in any way. `text` and `functions` have been filled.
PointerTargets pointer_targets(const ElfBytes& elf, std::span<const Relocation> relocations,
                               const image::UnwindTables& compiled, const Sweep& sweep,
                               const FunctionMap& functions, const TextMap& text);

}  // namespace hodo::text
