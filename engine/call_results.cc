#include "call_results.h"

#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "code_pages.h"
#include "lock.h"
#include "program_memory.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

constexpr std::uint64_t kMostVectors = 1024;  // UIO_MAXIOV
constexpr long kEpollPwait2 = 441;            // newer than some headers
constexpr std::uint64_t kEvent = 32;          // struct io_event

void give_back_vectors(std::uint64_t at, std::uint64_t count) {
  for (std::uint64_t i = 0; i < std::min(count, kMostVectors); ++i) {
    std::uint64_t vector[2];  // struct iovec
    if (!read_program(vector, at + i * sizeof(vector), sizeof(vector))) return;
    give_back_pages(vector[0], vector[1]);
  }
}

void give_back_message(std::uint64_t at) {
  msghdr message;
  if (!read_program(&message, at, sizeof(message))) return;
  const auto address = [](const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); };
  give_back_pages(at, sizeof(message));
  give_back_pages(address(message.msg_name), message.msg_namelen);
  give_back_pages(address(message.msg_control), message.msg_controllen);
  give_back_vectors(address(message.msg_iov), message.msg_iovlen);
}

// What is asked to be read (io_submit(2)): `at` has the addresses of `count` structures.
void give_back_reads(std::uint64_t at, std::uint64_t count) {
  for (std::uint64_t i = 0; i < std::min(count, kMostVectors); ++i) {
    std::uint64_t where = 0;
    iocb asked;
    if (!read_program(&where, at + i * sizeof(where), sizeof(where))) return;
    if (!read_program(&asked, where, sizeof(asked))) return;
    give_back_pages(where, sizeof(asked));
    if (asked.aio_lio_opcode == IOCB_CMD_PREAD) give_back_pages(asked.aio_buf, asked.aio_nbytes);
    if (asked.aio_lio_opcode == IOCB_CMD_PREADV) give_back_vectors(asked.aio_buf, asked.aio_nbytes);
  }
}

void give_back_word(std::uint64_t at) { give_back_pages(at, sizeof(std::uint32_t)); }

// Of select(2): three sets of `count` descriptors each.
void give_back_sets(const ThreadArea& area, std::uint64_t count) {
  constexpr std::uint64_t kMost = 1 << 30;  // NR_OPEN cannot be more
  const std::uint64_t bytes = (std::min(count, kMost) + 63) / 64 * 8;
  for (const std::uint64_t at : {area.registers.rsi, area.registers.rdx, area.taken[0]}) {
    give_back_pages(at, bytes);
  }
}

void give_back_cloned(std::uint64_t at) {
  clone_args args;
  if (!read_program(&args, at, CLONE_ARGS_SIZE_VER0)) return;
  give_back_word(args.pidfd);
  give_back_word(args.parent_tid);
  give_back_word(args.child_tid);
}

// Of a thread that ends the kernel clears one word, and marks the robust mutexes that it holds
// (kernel/futex/core.c, exit_robust_list()). It tells nobody where it could not.
void give_back_at_end() {
  std::uint64_t word = 0;
  raw_syscall(SYS_prctl, PR_GET_TID_ADDRESS, reinterpret_cast<long>(&word));
  if (word != 0) give_back_word(word);
  std::uint64_t list = 0, bytes = 0;
  raw_syscall(SYS_get_robust_list, 0, reinterpret_cast<long>(&list),
              reinterpret_cast<long>(&bytes));
  robust_list_head head;
  if (list == 0 || !read_program(&head, list, sizeof(head))) return;
  const auto mutex_of = [&head](std::uint64_t entry) {
    return (entry & ~std::uint64_t{1}) + static_cast<std::uint64_t>(head.futex_offset);
  };
  const auto address = [](const robust_list* one) { return reinterpret_cast<std::uint64_t>(one); };
  if (head.list_op_pending != nullptr) give_back_word(mutex_of(address(head.list_op_pending)));
  std::uint64_t entry = address(head.list.next);
  for (int i = 0; i < ROBUST_LIST_LIMIT && (entry & ~std::uint64_t{1}) != list; ++i) {
    give_back_word(mutex_of(entry));
    if (!read_program(&entry, entry & ~std::uint64_t{1}, sizeof(entry))) return;
  }
}

// What is left of a time, or of a timer's. False: the call has none.
bool give_back_times(const ThreadArea& area) {
  const Registers& r = area.registers;
  const std::uint64_t r10 = area.taken[0];
  switch (r.rax) {
    case SYS_select:
      give_back_sets(area, static_cast<std::uint32_t>(r.rdi));
      give_back_pages(r.r8, sizeof(timeval));
      return true;
    case SYS_pselect6:
      give_back_sets(area, static_cast<std::uint32_t>(r.rdi));
      give_back_pages(r.r8, sizeof(timespec));
      return true;
    case SYS_ppoll:
      give_back_pages(r.rdi, static_cast<std::uint32_t>(r.rsi) * sizeof(pollfd));
      give_back_pages(r.rdx, sizeof(timespec));
      return true;
    case SYS_setitimer:
      give_back_pages(r.rdx, sizeof(itimerval));
      return true;
    case SYS_timer_settime:
    case SYS_timerfd_settime:
      give_back_pages(r10, sizeof(itimerspec));
      return true;
    case SYS_nanosleep:
      give_back_pages(r.rsi, sizeof(timespec));
      return true;
    case SYS_clock_nanosleep:
      give_back_pages(r10, sizeof(timespec));
      return true;
    default:
      return false;
  }
}

// `known`: whether it is known what the call writes.
void give_back(const ThreadArea& area, bool& known) {
  const Registers& r = area.registers;
  const std::uint64_t r10 = area.taken[0];
  known = true;
  switch (r.rax) {
    case SYS_read:
    case SYS_pread64:
    case SYS_getdents:
    case SYS_getdents64:
      return give_back_pages(r.rsi, r.rdx);
    case SYS_getrandom:
      return give_back_pages(r.rdi, r.rsi);
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_process_vm_readv:
      return give_back_vectors(r.rsi, r.rdx);
    case SYS_process_vm_writev:
      if (static_cast<std::int32_t>(r.rdi) != area.pid) return;
      return give_back_vectors(r10, r.r8);
    case SYS_recvfrom:
      give_back_pages(r.rsi, r.rdx);
      give_back_pages(r.r8, sizeof(sockaddr_storage));
      return give_back_pages(r.r9, sizeof(socklen_t));
    case SYS_recvmsg:
      return give_back_message(r.rsi);
    case SYS_recvmmsg:
      for (std::uint64_t i = 0; i < std::min(r.rdx, kMostVectors); ++i) {
        give_back_pages(r.rsi + i * sizeof(mmsghdr), sizeof(mmsghdr));
        give_back_message(r.rsi + i * sizeof(mmsghdr));
      }
      return give_back_pages(r.r8, sizeof(timespec));
    case SYS_sendmmsg:
      return give_back_pages(r.rsi, std::min(r.rdx, kMostVectors) * sizeof(mmsghdr));
    case SYS_accept:
    case SYS_accept4:
      give_back_pages(r.rsi, sizeof(sockaddr_storage));
      return give_back_pages(r.rdx, sizeof(socklen_t));
    case SYS_wait4:
      give_back_pages(r.rsi, sizeof(int));
      return give_back_pages(r10, sizeof(rusage));
    case SYS_waitid:
      give_back_pages(r.rdx, sizeof(siginfo_t));
      return give_back_pages(r.r8, sizeof(rusage));
    case SYS_rt_sigtimedwait:
      return give_back_pages(r.rsi, sizeof(siginfo_t));
    case SYS_msgrcv:
      return give_back_pages(r.rsi, sizeof(long) + r.rdx);
    case SYS_mq_timedreceive:
      give_back_pages(r.rsi, r.rdx);
      return give_back_pages(r10, sizeof(unsigned));
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case kEpollPwait2:
      return give_back_pages(r.rsi, static_cast<std::uint32_t>(r.rdx) * sizeof(epoll_event));
    case SYS_vmsplice:  // from a pipe
      return give_back_vectors(r.rsi, r.rdx);
    case SYS_sendfile:
      return give_back_pages(r.rdx, sizeof(off_t));
    case SYS_splice:
    case SYS_copy_file_range:
      give_back_pages(r.rsi, sizeof(off_t));
      return give_back_pages(r10, sizeof(off_t));
    case SYS_prlimit64:
      return give_back_pages(r10, sizeof(rlimit));
    case SYS_io_submit:
      return give_back_reads(r.rdx, r.rsi);
    case SYS_io_getevents:
    case SYS_io_pgetevents:
      return give_back_pages(r10, static_cast<std::uint32_t>(r.rdx) * kEvent);
    case SYS_clone:
      give_back_word(r.rdx);
      return give_back_word(r10);
    case SYS_clone3:
      return give_back_cloned(r.rdi);
    case SYS_exit:
      return give_back_at_end();
    default:
      known = give_back_times(area);
  }
}

}  // namespace

void give_back_results(const ThreadArea& area) {
  if (guarded_pages() == 0) return;
  const Locked locked;
  bool known = false;
  give_back(area, known);
}

bool give_back_refused(const ThreadArea& area) {
  if (guarded_pages() == 0) return false;
  const Locked locked;
  const std::size_t before = guarded_pages();
  bool known = false;
  give_back(area, known);
  return known ? guarded_pages() != before : unprotect_all();
}

}  // namespace hodo::engine
