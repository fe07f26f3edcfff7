// A function taken apart into basic blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodo/analyze/coverage.h"
#include "hodo/isa/insn.h"

namespace hodo::analyze {

struct FunctionCode {
  std::vector<CoveredBlock> blocks;         // by address, without counts
  std::vector<std::uint64_t> conditionals;  // addresses of conditional branches, ascending
};

// Disassembles the function whose `code` lies at `address`, from its first byte to its last. Blocks
// begin at its start, behind branches and calls, at the targets of its own direct branches, and
// at those of `entries` (ascending) at which an instruction begins: jump tables are not read.
// Blocks of nothing but padding are left out. Where bytes are no instruction, the function ends.
FunctionCode take_apart(std::span<const std::uint8_t> code, std::uint64_t address, isa::Mode mode,
                        std::span<const std::uint64_t> entries);

// Whether an instruction's bytes only fill a gap: NOP in all its lengths, and INT3.
bool is_padding(std::span<const std::uint8_t> insn);

}  // namespace hodo::analyze
