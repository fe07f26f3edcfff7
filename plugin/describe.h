// From a block that QEMU translates to what the trace unit is told about it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodo/isa/insn.h"
#include "hodo/unit/block.h"
#include "qemu_api.h"

namespace hodo::plugin {

// The instructions that belong to the block. QEMU ends a block before an instruction that crosses a
// page, but still lists it, with as many of its bytes as it had read by then.
std::vector<const qemu_plugin_insn*> insns_of(const qemu_plugin_tb* tb, isa::Mode mode);

// Their bytes, one behind the other.
std::vector<std::uint8_t> code_of(std::span<const qemu_plugin_insn* const> insns);

// The block of `insns` instructions that `code` is, at `start`; its last one has `last_size` bytes.
unit::Block describe(std::uint64_t start, std::span<const std::uint8_t> code, std::size_t insns,
                     std::size_t last_size, isa::Mode mode);

}  // namespace hodo::plugin
