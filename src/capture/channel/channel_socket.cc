#include "channel_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "hodo/relay/clock.h"
#include "hodo/relay/descriptor_message.h"
#include "hodo/relay/pagemap.h"

namespace hodo::capture {
namespace {

// Of so many, so that nobody can keep the recorder busy with nothing else.
constexpr int kAcceptedAtOnce = 256;

void send_descriptor(int socket, int fd) {
  const relay::DescriptorMessage message(fd);
  sendmsg(socket, &message.header, MSG_NOSIGNAL);
}

struct Received {
  ssize_t bytes = 0;  // as recvmsg() says
  std::int32_t sender = 0;
  Fd given;
};

// A message may bring more descriptors than were asked for: the first one is taken.
Fd first_descriptor(const cmsghdr& rights) {
  Fd first;
  const auto* const data = CMSG_DATA(&rights);
  for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= rights.cmsg_len; at += sizeof(int)) {
    int fd = -1;
    std::memcpy(&fd, data + at, sizeof(fd));
    Fd one(fd);
    if (!first) first = std::move(one);
  }
  return first;
}

// A message of so many bytes, who sent it, and what came with it.
Received receive(int socket, void* bytes, std::size_t size) {
  Received out;
  iovec part{bytes, size};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  out.bytes = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (out.bytes < 0) return out;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET) continue;
    if (header->cmsg_type == SCM_RIGHTS) out.given = first_descriptor(*header);
    if (header->cmsg_type != SCM_CREDENTIALS) continue;
    ucred who{};
    std::memcpy(&who, CMSG_DATA(header), sizeof(who));
    out.sender = who.pid;
  }
  return out;
}

ucred peer_of(int socket) {
  ucred who{};
  socklen_t size = sizeof(who);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return {.pid = 0, .uid = ~0U};
  return who;
}

}  // namespace

Result<std::optional<NewChannel>> Connections::next(int listening_socket) {
  accept_some(listening_socket);
  look_for_keys();
  accept_by_lines();
  for (std::size_t i = 0; i < silent_.size();) {
    relay::Hello hello;
    Received got = receive(silent_[i].get(), &hello, sizeof(hello));
    if (got.bytes < 0 && (errno == EAGAIN || errno == EINTR)) {
      ++i;
      continue;
    }
    Fd socket = std::move(silent_[i]);
    silent_.erase(silent_.begin() + static_cast<std::ptrdiff_t>(i));
    if (got.bytes != sizeof(hello)) continue;
    if (hello.magic != relay::kMagic || hello.version != relay::kVersion) continue;
    if (hello.start == relay::Start::line) {
      lines_.push_back(std::move(socket));
      continue;
    }
    auto asked = open_channel(hello, got.sender, std::move(socket));
    if (asked) asked->given = std::move(got.given);
    return asked;
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

void Connections::accept_some(int listening_socket) {
  for (int n = 0; n < kAcceptedAtOnce; ++n) {
    Fd socket(accept4(listening_socket, nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) return;
    admit(std::move(socket));
  }
}

void Connections::admit(Fd socket) {
  const ucred who = peer_of(socket.get());
  const bool stranger = who.uid != geteuid() && who.uid != 0;
  if (stranger && geteuid() != 0) return;
  const std::size_t most = stranger ? kMostUnproven : kMostOwnUnproven;
  if (waiting(stranger) >= most) look_for_keys();
  // The one who has waited longest goes: a traced process shows the key at once, and tries again.
  if (waiting(stranger) >= most) {
    unproven_.erase(std::ranges::find(unproven_, stranger, &Unproven::stranger));
  }
  unproven_.push_back({std::move(socket), stranger, relay::now()});
}

std::size_t Connections::waiting(bool strangers) const {
  return static_cast<std::size_t>(std::ranges::count(unproven_, strangers, &Unproven::stranger));
}

// Moves those who have shown the key to the silent ones.
void Connections::look_for_keys() {
  const std::uint64_t now = relay::now();
  for (std::size_t i = 0; i < unproven_.size();) {
    Unproven& one = unproven_[i];
    std::array<char, relay::Key{}.size() + 1> shown{};
    const ssize_t n = recv(one.socket.get(), shown.data(), shown.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && now - one.since < kPatience) {
      ++i;
      continue;
    }
    if (n == static_cast<ssize_t>(key_.size()) &&
        std::equal(key_.begin(), key_.end(), shown.begin())) {
      silent_.push_back(std::move(one.socket));
    }
    unproven_.erase(unproven_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// One that is at its end, or has anything else to say, is none any more.
void Connections::accept_by_lines() {
  std::erase_if(lines_, [this](const Fd& line) {
    for (int n = 0; n < kAcceptedAtOnce; ++n) {
      char byte = 0;
      Received got = receive(line.get(), &byte, 1);
      if (got.bytes < 0) return errno != EAGAIN && errno != EINTR;
      if (!got.given) return true;
      silent_.push_back(std::move(got.given));
    }
    return false;
  });
}

std::vector<int> Connections::wake_fds() const {
  std::vector<int> fds;
  fds.reserve(silent_.size() + lines_.size());
  for (const Fd& socket : silent_) fds.push_back(socket.get());
  for (const Fd& line : lines_) fds.push_back(line.get());
  return fds;
}

Result<NewChannel> Connections::open_channel(const relay::Hello& hello, std::int32_t sender,
                                             Fd socket) const {
  const auto fd = relay::create_channel_file(aux_size_, settings_);
  if (!fd) return std::unexpected(fd.error());
  Fd file(*fd);
  auto memory = relay::ChannelMemory::map(file.get(), aux_size_, false);
  if (!memory) return std::unexpected(memory.error());
  const std::int32_t connected = peer_of(socket.get()).pid;
  return NewChannel{.hello = hello,
                    .memory = std::move(*memory),
                    .socket = std::move(socket),
                    .file = std::move(file),
                    .given = {},
                    .sender = sender,
                    .connected = connected};
}

void NewChannel::answer() const { send_descriptor(socket.get(), file.get()); }

void NewChannel::say_done() const {
  const char done = 0;
  static_cast<void>(send(socket.get(), &done, 1, MSG_NOSIGNAL));
}

void NewChannel::answer_with_mappings() const {
  if (sender == 0) return;
  const std::string path = "/proc/" + std::to_string(sender) + "/maps";
  const Fd maps(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (maps) send_descriptor(socket.get(), maps.get());
}

// The file itself is not handed over: who opens it as root may read more of it.
void NewChannel::answer_of_page() const {
  if (sender == 0) return;
  const std::string path = "/proc/" + std::to_string(sender) + "/pagemap";
  const Fd pages(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::uint64_t entry = 0;
  const auto at = static_cast<off_t>(relay::pagemap_offset(hello.address));
  const ssize_t got = pread(pages.get(), &entry, sizeof(entry), at);
  if (got == sizeof(entry) && relay::is_page_of_file(entry)) say_done();
}

}  // namespace hodo::capture
