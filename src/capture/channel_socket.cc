#include "channel_socket.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace hodo::capture {
namespace {

bool same_user(int socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
         (who.uid == geteuid() || who.uid == 0 || geteuid() == 0);
}

void send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof(fd));
  sendmsg(socket, &message, MSG_NOSIGNAL);
}

}  // namespace

Result<std::optional<NewChannel>> accept_channel(int listening_socket,
                                                 const relay::Settings& settings,
                                                 std::uint64_t aux_size) {
  Fd socket(accept4(listening_socket, nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || !same_user(socket.get())) return std::nullopt;
  const timeval patience{.tv_sec = 2, .tv_usec = 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  relay::Hello hello;
  if (recv(socket.get(), &hello, sizeof(hello), 0) != sizeof(hello)) return std::nullopt;
  if (hello.magic != relay::kMagic || hello.version != relay::kVersion) return std::nullopt;
  const auto fd = relay::create_channel_file(aux_size, settings);
  if (!fd) return std::unexpected(fd.error());
  Fd file(*fd);
  auto memory = relay::ChannelMemory::map(file.get(), aux_size, false);
  if (!memory) return std::unexpected(memory.error());
  return NewChannel{hello, std::move(*memory), std::move(socket), std::move(file)};
}

void NewChannel::answer() const { send_descriptor(socket.get(), file.get()); }

}  // namespace hodo::capture
