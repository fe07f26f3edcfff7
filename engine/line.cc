#include "line.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>

#include "channel.h"
#include "hodo/relay/descriptor_message.h"
#include "lock.h"
#include "sys.h"

namespace hodo::engine {
namespace {

relay::Line kept;

// 0: of none.
std::uint64_t inode_of(long fd) {
  struct stat found{};
  if (fd < 0 || failed(raw_syscall(SYS_fstat, fd, reinterpret_cast<long>(&found)))) return 0;
  return S_ISSOCK(found.st_mode) ? found.st_ino : 0;
}

// Programs count on getting the lowest numbers. Exec does not close the new one.
long out_of_the_way(long fd) {
  for (const long number : {fd < 900 ? 900 : fd + 1, 200L, 50L}) {
    const long moved = raw_syscall(SYS_fcntl, fd, F_DUPFD, number);
    if (failed(moved)) continue;
    raw_syscall(SYS_close, fd);
    return moved;
  }
  raw_syscall(SYS_fcntl, fd, F_SETFD, 0);
  return fd;
}

bool send_descriptor(long socket, int fd) {
  const relay::DescriptorMessage message(fd);
  long sent = 0;
  do {
    sent = raw_syscall(SYS_sendmsg, socket, reinterpret_cast<long>(&message.header), MSG_NOSIGNAL);
  } while (sent == -EINTR);
  return sent == 1;
}

}  // namespace

relay::Line line() {
  return kept.inode != 0 && inode_of(kept.number) == kept.inode ? kept : relay::Line();
}

bool is_line(std::uint64_t descriptor) {
  return kept.inode != 0 && static_cast<std::int32_t>(descriptor) == kept.number &&
         line().inode != 0;
}

void move_line() {
  const Locked locked;
  if (line().inode != 0) kept.number = static_cast<std::int32_t>(out_of_the_way(kept.number));
}

void drop_line() {
  const Locked locked;
  if (line().inode != 0) raw_syscall(SYS_close, kept.number);
  kept = {};
}

bool keep_line() {
  const Locked locked;
  if (line().inode != 0) return false;
  const long connection = connect_recorder();
  if (connection < 0) return false;
  const relay::Hello hello = own_hello(relay::Start::line);
  const long sent = raw_syscall(SYS_sendto, connection, reinterpret_cast<long>(&hello),
                                sizeof(hello), MSG_NOSIGNAL);
  if (sent != sizeof(hello)) {
    raw_syscall(SYS_close, connection);
    return false;
  }
  const long fd = out_of_the_way(connection);
  kept = {.number = static_cast<std::int32_t>(fd), .inode = inode_of(fd)};
  return true;
}

void take_over_line(const relay::Line& from) { kept = from; }

long connect_by_line() {
  const relay::Line way = line();
  if (way.inode == 0) return -ECONNREFUSED;
  int ends[2];
  const long made = raw_syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
                                reinterpret_cast<long>(ends));
  if (failed(made)) return made;
  // The recorder is to see who speaks, as of those who connect (listen_socket()).
  const int on = 1;
  raw_syscall(SYS_setsockopt, ends[1], SOL_SOCKET, SO_PASSCRED, reinterpret_cast<long>(&on),
              sizeof(on));
  const bool sent = send_descriptor(way.number, ends[1]);
  raw_syscall(SYS_close, ends[1]);
  if (sent) return ends[0];
  raw_syscall(SYS_close, ends[0]);
  return -ECONNREFUSED;
}

}  // namespace hodo::engine
