// The instructions that compilers use most, decoded by a table of their encodings: many times
// faster than a decoder that knows them all. What is not in the table is left to that one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/isa/insn.h"

namespace hodo::isa {

// As decode(), with the same answer, or nullopt: ask Zydis. Never an answer for bytes that Zydis
// takes for no instruction.
std::optional<Insn> decode_common(std::span<const std::uint8_t> bytes, std::uint64_t ip, Mode mode);

// decode() by Zydis alone: for everything else, and what decode_common() is tested against.
std::optional<Insn> decode_by_zydis(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                    Mode mode);

}  // namespace hodo::isa
