#include "call_mask.h"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include "program_memory.h"

namespace hodo::engine {
namespace {

// A pointer to a mask and its size, as pselect6 and io_pgetevents take them.
std::uint64_t pointed_to(std::uint64_t pair) {
  std::uint64_t mask_at = 0;
  return pair != 0 && read_program(&mask_at, pair, sizeof mask_at) ? mask_at : 0;
}

// Of io_uring_enter: argument 5 is the mask's address, or that of a structure which begins with it.
std::uint64_t mask_of_ring(const Registers& r, std::uint64_t flags) {
  return (flags & IORING_ENTER_EXT_ARG) != 0 ? pointed_to(r.r8) : r.r8;
}

// 0: none.
std::uint64_t mask_address(const Registers& r, std::uint64_t r10) {
  constexpr long kEpollPwait2 = 441;
  switch (r.rax) {
    case SYS_rt_sigsuspend:
      return r.rdi;
    case SYS_ppoll:
      return r10;
    case SYS_epoll_pwait:
    case kEpollPwait2:
      return r.r8;
    case SYS_pselect6:
    case SYS_io_pgetevents:
      return pointed_to(r.r9);
    case SYS_io_uring_enter:
      return mask_of_ring(r, r10);
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::uint64_t> mask_of_call(const ThreadArea& area) {
  const std::uint64_t at = mask_address(area.registers, area.taken[0]);
  std::uint64_t mask = 0;
  if (at == 0 || !read_program(&mask, at, sizeof mask)) return std::nullopt;
  return mask;
}

}  // namespace hodo::engine
