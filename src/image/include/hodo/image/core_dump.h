// What a core file tells of a process's threads: their registers when it ended.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::image {

// As user_regs_struct has them (sys/user.h).
inline constexpr std::array<std::string_view, 27> kCoreRegisters = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs"};

struct CoreThread {
  std::int32_t tid = 0;
  std::array<std::uint64_t, kCoreRegisters.size()> registers{};
};

constexpr std::uint64_t rip_of(const CoreThread& thread) { return thread.registers[16]; }

struct CoreDump {
  std::int32_t pid = 0;
  std::int32_t signal = 0;          // that ended it
  std::vector<CoreThread> threads;  // the one that took the signal first
};

// Reads the notes of a core file of an x86-64 process, of which it needs nothing else
// (fs/binfmt_elf.c, elf_core_dump). Errors: as read_elf_file; unsupported: of another kind of
// process, or no core file; malformed: its notes name no thread, or go beyond their segment.
Result<CoreDump> read_core_dump(const std::string& path);

}  // namespace hodo::image
