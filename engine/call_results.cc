#include "call_results.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <cstdint>

#include "code_pages.h"
#include "lock.h"
#include "program_memory.h"
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

}  // namespace

void give_back_results(const ThreadArea& area) {
  if (!guards_pages()) return;
  const Locked locked;
  const Registers& r = area.registers;
  const std::uint64_t r10 = area.taken[0];
  switch (r.rax) {
    case SYS_read:
      return give_back_pages(r.rsi, r.rdx);
    case SYS_readv:
      return give_back_vectors(r.rsi, r.rdx);
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
      return;
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
    case SYS_io_getevents:
      return give_back_pages(r10, static_cast<std::uint32_t>(r.rdx) * kEvent);
    default:
      return;
  }
}

}  // namespace hodo::engine
