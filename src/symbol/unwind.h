// The unwind tables of a file that is opened by its sections.
#pragma once

#include "elf_file.h"
#include "hodo/image/elf.h"
#include "hodo/image/unwind_tables.h"

namespace hodo::symbol {

image::UnwindTables unwind_tables(const ElfFile& file, const image::Elf& elf);

}  // namespace hodo::symbol
