// A program of three functions, for tests that say where branches go.
#pragma once

#include <cstdint>

#include "elf_builder.h"

namespace hodo::check {

inline constexpr std::uint64_t kBase = 0x400000;  // where tests map it

// A table by which code may come to g and h: how far they are from it.
inline void add_table(text::ElfBuilder& elf) {
  for (const std::uint64_t function : {0x1010, 0x1018}) {
    text::append(elf.data, static_cast<std::int32_t>(function - text::kData - elf.data.size()));
  }
}

//   f: 1000 call g       g: 1010 nop       h: 1018 jmp rax
//      1005 call rax        1011 ret          101a ret
//      1007 jmp rax
//      1009 ret
//      100a je 1009
inline text::ElfBuilder program() {
  text::ElfBuilder elf;
  elf.text = {0xe8, 0x0b, 0x00, 0x00, 0x00, 0xff, 0xd0, 0xff, 0xe0, 0xc3, 0x74,
              0xfd, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3, 0x90, 0x90, 0x90, 0x90,
              0x90, 0x90, 0xff, 0xe0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90};
  elf.functions = {{.begin = 0x1000, .end = 0x1010},
                   {.begin = 0x1010, .end = 0x1018},
                   {.begin = 0x1018, .end = 0x1020}};
  add_table(elf);
  return elf;
}

}  // namespace hodo::check
