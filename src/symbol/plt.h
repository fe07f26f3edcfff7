// Names for the stubs through which code calls functions of other modules.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "elf_file.h"
#include "hodo/image/elf.h"

namespace hodo::symbol {

struct PltStub {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::string name;  // "puts@plt"
};

// The stubs in .plt, .plt.sec, .plt.got and their like, for x86-64 and i386. A stub is known by the
// GOT slot that it jumps through and the relocation that fills this slot, so the order of the
// relocations does not matter, except where a lazy stub (.plt beside .plt.sec) only pushes its
// relocation's number. `name_at` names the chooser function at an address, for IFUNC stubs; empty:
// unknown.
std::vector<PltStub> find_plt_stubs(const ElfFile& file, const image::Elf& elf,
                                    const std::function<std::string(std::uint64_t)>& name_at);

}  // namespace hodo::symbol
