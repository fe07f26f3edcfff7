#include "channel_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
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

Result<std::optional<NewChannel>> Connections::next(int listening_socket) {
  accept_all(listening_socket);
  for (std::size_t i = 0; i < silent_.size();) {
    relay::Hello hello;
    const ssize_t n = recv(silent_[i].get(), &hello, sizeof(hello), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      ++i;
      continue;
    }
    Fd socket = std::move(silent_[i]);
    silent_.erase(silent_.begin() + static_cast<std::ptrdiff_t>(i));
    if (n != sizeof(hello)) continue;
    if (hello.magic != relay::kMagic || hello.version != relay::kVersion) continue;
    return open_channel(hello, std::move(socket));
  }
  return std::nullopt;
}

Status Connections::each(int listening_socket, const std::function<void(NewChannel)>& take) {
  while (true) {
    auto asked = next(listening_socket);
    if (!asked) return std::unexpected(asked.error());
    if (!*asked) return {};
    take(std::move(**asked));
  }
}

void Connections::accept_all(int listening_socket) {
  while (true) {
    Fd socket(accept4(listening_socket, nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    if (same_user(socket.get())) silent_.push_back(std::move(socket));
  }
}

Result<NewChannel> Connections::open_channel(const relay::Hello& hello, Fd socket) const {
  const auto fd = relay::create_channel_file(aux_size_, settings_);
  if (!fd) return std::unexpected(fd.error());
  Fd file(*fd);
  auto memory = relay::ChannelMemory::map(file.get(), aux_size_, false);
  if (!memory) return std::unexpected(memory.error());
  return NewChannel{hello, std::move(*memory), std::move(socket), std::move(file)};
}

void NewChannel::answer() const { send_descriptor(socket.get(), file.get()); }

}  // namespace hodo::capture
