// The system calls that a recording has to know about, by the guest's numbering.
#pragma once

#include <array>
#include <cstdint>

namespace hodo::plugin {

enum class Syscall : std::uint8_t {
  other,
  changes_mappings,
  munmap,                 // address, length
  brk,                    // returns the end of the heap
  mmap,                   // address, length, PROT_*, ...; returns the address
  mprotect,               // address, length, PROT_*
  sets_handler,           // arguments: signal, struct sigaction*
  sets_handler_directly,  // signal(2): signal, handler
  prctl,
  execve,
  sends_signal,
  clone,  // CLONE_*
  exit_thread,
  exit_process,
};

// asm/unistd_64.h and asm/unistd_32.h.
constexpr Syscall classify_syscall(bool wide, std::int64_t number) {
  if (wide) {
    switch (number) {
      case 25:
      case 30:
      case 67:  // mremap shmat shmdt
        return Syscall::changes_mappings;
      case 11:
        return Syscall::munmap;
      case 12:
        return Syscall::brk;
      case 9:
        return Syscall::mmap;
      case 10:
        return Syscall::mprotect;
      case 13:
        return Syscall::sets_handler;
      case 157:
        return Syscall::prctl;
      case 59:
        return Syscall::execve;
      case 62:
      case 129:
      case 200:
      case 234:
      case 297:  // kill rt_sigqueueinfo tkill tgkill rt_tgsigqueueinfo
        return Syscall::sends_signal;
      case 56:
        return Syscall::clone;
      case 60:
        return Syscall::exit_thread;
      case 231:
        return Syscall::exit_process;
      default:
        return Syscall::other;
    }
  }
  switch (number) {
    case 90:
    case 117:
    case 163:  // old_mmap ipc mremap
      return Syscall::changes_mappings;
    case 45:
      return Syscall::brk;
    case 91:
      return Syscall::munmap;
    case 192:
      return Syscall::mmap;  // mmap2
    case 125:
      return Syscall::mprotect;
    case 48:
      return Syscall::sets_handler_directly;
    case 67:
    case 174:
      return Syscall::sets_handler;
    case 172:
      return Syscall::prctl;
    case 11:
      return Syscall::execve;
    case 37:
    case 178:
    case 238:
    case 270:
    case 335:  // kill rt_sigqueueinfo tkill tgkill rt_tgsigqueueinfo
      return Syscall::sends_signal;
    case 120:
      return Syscall::clone;
    case 1:
      return Syscall::exit_thread;
    case 252:
      return Syscall::exit_process;
    default:
      return Syscall::other;
  }
}

// Memory of the guest that a system call replaces, makes inaccessible or empties.
struct TakenMemory {
  std::uint64_t start = 0;
  std::uint64_t size = 0;  // 0: none
};

// In asm/unistd_64.h and asm/unistd_32.h: mmap (mmap2), munmap, mprotect, mremap, madvise.
constexpr std::array<TakenMemory, 2> memory_taken(bool wide, std::int64_t number,
                                                  const std::array<std::uint64_t, 5>& arguments) {
  constexpr std::uint64_t kMapFixed = 0x10, kNoReplace = 0x100000, kRemapFixed = 2;
  constexpr std::uint64_t kDontNeed = 4, kRemove = 9;
  const auto is = [=](std::int64_t on64, std::int64_t on32) {
    return number == (wide ? on64 : on32);
  };
  const auto [start, size, third, flags, fifth] = arguments;
  if (is(11, 91) || is(10, 125)) return {TakenMemory{start, size}, {}};
  if (is(9, 192) && (flags & kMapFixed) != 0 && (flags & kNoReplace) == 0) {
    return {TakenMemory{start, size}, {}};
  }
  if (is(25, 163)) {
    return {TakenMemory{start, size}, TakenMemory{fifth, (flags & kRemapFixed) != 0 ? third : 0}};
  }
  if (is(28, 219) && (third == kDontNeed || third == kRemove)) {
    return {TakenMemory{start, size}, {}};
  }
  return {};
}

}  // namespace hodo::plugin
