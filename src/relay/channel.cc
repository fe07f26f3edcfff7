#include "hodo/relay/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "hodo/relay/clock.h"
#include "hodo/relay/descriptor_message.h"

namespace hodo::relay {
namespace {

std::unexpected<Error> io_error(const char* what) {
  return fail(ErrorCode::io, std::string(what) + ": " + std::strerror(errno));
}

std::uint64_t random_key() {
  std::uint64_t key = 0;
  if (getrandom(&key, sizeof(key), 0) != sizeof(key)) key = now();
  return key;
}

sockaddr_un abstract_address(std::string_view name, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t n = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), n);
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  return address;
}

int receive_descriptor(int socket) {
  DescriptorMessage message;
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message.header, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  return got == 1 ? message.descriptor() : -1;
}

}  // namespace

Result<ChannelMemory> ChannelMemory::map(int fd, std::uint64_t aux_size, bool private_to_process) {
  const std::size_t total = mapped_bytes(aux_size);
  void* area = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (area == MAP_FAILED) return io_error("cannot reserve memory for a trace buffer");
  ChannelMemory memory(static_cast<std::uint8_t*>(area), aux_size);
  const auto place = [&](std::uint64_t at, std::uint64_t size, std::uint64_t offset) {
    return mmap(memory.base_ + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                static_cast<off_t>(offset)) != MAP_FAILED;
  };
  const std::uint64_t aux_at = kHeaderBytes + 2 * kRecordBytes;
  const bool ok = place(0, kHeaderBytes + kRecordBytes, 0) &&
                  place(kHeaderBytes + kRecordBytes, kRecordBytes, kHeaderBytes) &&
                  place(aux_at, aux_size, kHeaderBytes + kRecordBytes) &&
                  place(aux_at + aux_size, aux_size, kHeaderBytes + kRecordBytes);
  if (!ok) return io_error("cannot map a trace buffer");
  if (private_to_process) {
    madvise(area, total, MADV_DONTFORK);
    return memory;
  }
  void* unsealed = mmap(nullptr, kUnsealedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        static_cast<off_t>(kHeaderBytes + kRecordBytes + aux_size));
  if (unsealed == MAP_FAILED) return io_error("cannot map a trace buffer");
  memory.unsealed_ = static_cast<Unsealed*>(unsealed);
  return memory;
}

ChannelMemory::~ChannelMemory() {
  if (base_ != nullptr) munmap(base_, mapped_bytes(aux_size_));
  if (unsealed_ != nullptr) munmap(unsealed_, kUnsealedBytes);
}

Result<int> create_channel_file(std::uint64_t aux_size, const Settings& settings) {
  const int fd = memfd_create("hodo-channel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return io_error("cannot create a trace buffer");
  // The program may find the file (/proc/self/map_files). Were it to make it shorter, the recorder
  // would get SIGBUS.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if (ftruncate(fd, static_cast<off_t>(kHeaderBytes + kRecordBytes + aux_size + kUnsealedBytes)) !=
          0 ||
      fcntl(fd, F_ADD_SEALS, kSeals) != 0) {
    const auto error = io_error("cannot size a trace buffer");
    close(fd);
    return error;
  }
  void* page = mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    const auto error = io_error("cannot map a trace buffer");
    close(fd);
    return error;
  }
  auto* header = new (page) ChannelHeader;
  header->aux_size = aux_size;
  header->key = random_key();
  header->settings = settings;
  header->remains = settings.recording == Recording::bts
                        ? unit::PtRemains{.digest = unit::RecordDigest(header->key).value()}
                        : unit::no_remains(header->key);
  munmap(page, kHeaderBytes);
  return fd;
}

int connect_recorder(std::string_view name, const Key& key) {
  constexpr int kAttempts = 10;  // strangers may have the place that the recorder has for newcomers
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (socket < 0) return -1;
    socklen_t length = 0;
    const sockaddr_un address = abstract_address(name, length);
    const bool connected =
        connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0;
    const auto size = static_cast<ssize_t>(key.size());
    if (connected && send(socket, key.data(), key.size(), MSG_NOSIGNAL) == size) return socket;
    close(socket);
    if (!connected) return -1;
  }
  return -1;
}

Key take_key() {
  Key key{};
  char* const value = std::getenv(kKeyVariable);
  if (value == nullptr) return key;
  const std::size_t size = std::strlen(value);
  std::memcpy(key.data(), value, std::min(size, key.size()));
  std::memset(value, 0, size);  // in /proc/self/environ, too
  unsetenv(kKeyVariable);
  return key;
}

Result<ChannelWriter> open_channel(int connection, const Hello& hello) {
  int fd = -1;
  if (send(connection, &hello, sizeof(hello), MSG_NOSIGNAL) == sizeof(hello)) {
    fd = receive_descriptor(connection);
  }
  if (connection >= 0) close(connection);
  if (fd < 0) return fail(ErrorCode::io, "the recorder does not answer");
  std::uint64_t aux_size = 0;
  pread(fd, &aux_size, sizeof(aux_size), offsetof(ChannelHeader, aux_size));
  auto memory = ChannelMemory::map(fd, aux_size, true);
  close(fd);
  if (!memory) return std::unexpected(memory.error());
  return ChannelWriter(std::move(*memory));
}

Result<int> listen_socket(const std::string& name) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return io_error("cannot make a socket");
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  // Who sends each hello: accepted sockets have this, too.
  const int on = 1;
  if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0 ||
      bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(socket, 128) != 0) {
    const auto error = io_error("cannot listen for traced processes");
    close(socket);
    return error;
  }
  return socket;
}

}  // namespace hodo::relay
