// Pieces of code that a table in the file numbers: where each begins, as a distance from the first,
// and how long it is. So V8 knows its builtins, which a file need not tell of in any other way
// (Chromium's has neither symbols of most nor unwind tables).
//
// Source: V8's src/snapshot/embedded/embedded-data.h, EmbeddedData::LayoutDescription: two words of
// 32 bits and, by version, one or two more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "function_map.h"
#include "hodo/text/elf_bytes.h"
#include "text_map.h"

namespace hodo::text {

// By address. `taken`: addresses that are written down, ascending; the first piece is at one of
// them, or where an instruction names it. Between pieces there is nothing but padding: by that it
// is known what is such a table.
std::vector<Function> code_pieces(const ElfBytes& elf, std::span<const std::uint64_t> taken,
                                  const TextMap& text);

}  // namespace hodo::text
