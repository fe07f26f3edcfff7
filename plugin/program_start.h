// What a program finds when it begins: the kernel's, here QEMU's, words for it on its stack.
//
// QEMU's plugin interface tells some of it, too (qemu_plugin_path_to_binary,
// qemu_plugin_start_code), but QEMU 10.0 was built without those functions (its issue 3014), and no
// version tells of its vDSO.
#pragma once

#include <cstdint>

#include "areas.h"
#include "guest.h"

namespace hodo::plugin {

struct ProgramStart {
  std::uint64_t entry = 0;  // the program's first instruction, behind its loader's; 0: not known
  Areas::Range vdso;        // empty: there is none
};

// `sp`: the stack pointer before the first instruction of all.
ProgramStart program_start(const Guest& guest, std::uint64_t sp);

}  // namespace hodo::plugin
