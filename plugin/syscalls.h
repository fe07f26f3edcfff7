// The system calls that a recording has to know about, by the guest's numbering.
#pragma once

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
    case 1:
      return Syscall::exit_thread;
    case 252:
      return Syscall::exit_process;
    default:
      return Syscall::other;
  }
}

}  // namespace hodo::plugin
