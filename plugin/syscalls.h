// The system calls that a recording has to know about, by the guest's numbering.
#pragma once

#include <cstdint>

namespace hodo::plugin {

enum class Syscall : std::uint8_t {
  other,
  changes_mappings,
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
      case 11:
      case 12:
      case 25:
      case 30:
      case 67:  // munmap brk mremap shmat shmdt
        return Syscall::changes_mappings;
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
    case 45:
    case 90:
    case 91:
    case 117:
    case 163:  // brk old_mmap munmap ipc mremap
      return Syscall::changes_mappings;
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
