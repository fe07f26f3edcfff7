// Which version of QEMU's plugin interface we are loaded into.
#pragma once

#include <cstdint>
#include <vector>

#include "qemu_api.h"

namespace hodo::plugin {

// What to declare as qemu_plugin_version: QEMU 9.0 and later refuse plugins of version 1, earlier
// ones those of version 2. Of what changed in between, registers.h and append_bytes() know.
int declared_api_version();

// To be called first, with what QEMU says at the start.
void set_emulator_version(const qemu_info_t& info);

// An instruction's bytes, behind those of `out`. Until version 2 QEMU gives a pointer to them, from
// version 3 (QEMU 9.1) on it copies.
void append_bytes(const qemu_plugin_insn* insn, std::vector<std::uint8_t>& out);

}  // namespace hodo::plugin
