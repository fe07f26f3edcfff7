// Instructions as text, for people: packet dumps, findings, flow graphs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// The instruction that starts at bytes[0] and lies at address ip, in Intel syntax with absolute
// branch targets ("jnz 0x0000000000401000"); "(bad)" where decode() finds no instruction. Reads at
// most 15 bytes.
std::string disassemble(std::span<const std::uint8_t> bytes, std::uint64_t ip, Mode mode);

}  // namespace hodo::isa
