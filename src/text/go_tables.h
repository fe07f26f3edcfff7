// What the tables of a Go program say about its code: where functions begin and end, and where a
// function goes on when a panic in it was recovered. Go programs have them also when they are
// stripped, and mostly no other unwind tables.
//
// Source: the Go runtime's own description of the format (runtime/symtab.go: pcHeader, functab,
// moduledata; runtime/runtime2.go: _func), from Go 1.18 to 1.27.
#pragma once

#include <span>

#include "hodo/image/unwind_tables.h"
#include "hodo/text/elf_bytes.h"

namespace hodo::text {

// Nothing is added where a file has no such table, or one that is damaged.
void add_go_functions(const ElfBytes& elf, std::span<const Relocation> relocations,
                      image::UnwindTables& tables);

}  // namespace hodo::text
