#include "channel.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "decimal.h"
#include "hodo/relay/descriptor_message.h"
#include "hodo/relay/engine_start.h"
#include "hodo/relay/recorder_wait.h"
#include "line.h"
#include "lock.h"
#include "memory.h"
#include "own_files.h"
#include "sys.h"
#include "threads.h"
#include "timed_wait.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

namespace {

long argument(const void* of) { return reinterpret_cast<long>(of); }

long send_on(long socket, const void* bytes, std::size_t count) {
  return raw_syscall(SYS_sendto, socket, argument(bytes), static_cast<long>(count), MSG_NOSIGNAL);
}

// `looks`: how often it looks before it sleeps.
long receive_descriptor(long socket, int looks) {
  relay::DescriptorMessage message;
  long got = -EAGAIN;
  for (; got == -EAGAIN || got == -EINTR; --looks) {
    const long how = MSG_CMSG_CLOEXEC | (looks > 0 ? MSG_DONTWAIT : 0);
    got = raw_syscall(SYS_recvmsg, socket, argument(&message.header), how);
    if (got == -EAGAIN) raw_syscall(SYS_sched_yield);
  }
  const int fd = got == 1 ? message.descriptor() : -1;
  return fd >= 0 ? fd : -EPROTO;
}

std::uint8_t* map_channel(long fd, std::uint64_t aux_size) {
  using relay::kHeaderBytes;
  using relay::kRecordBytes;
  const std::uint64_t total = relay::mapped_bytes(aux_size);
  const auto base = static_cast<long>(map_addresses(total));
  if (base == 0) return nullptr;
  const auto place = [&](std::uint64_t at, std::uint64_t size, std::uint64_t offset) {
    const long where = base + static_cast<long>(at);
    return raw_syscall(SYS_mmap, where, static_cast<long>(size), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_FIXED, fd, static_cast<long>(offset)) == where;
  };
  const std::uint64_t aux_at = kHeaderBytes + 2 * kRecordBytes;
  const bool ok = place(0, kHeaderBytes + kRecordBytes, 0) &&
                  place(kHeaderBytes + kRecordBytes, kRecordBytes, kHeaderBytes) &&
                  place(aux_at, aux_size, kHeaderBytes + kRecordBytes) &&
                  place(aux_at + aux_size, aux_size, kHeaderBytes + kRecordBytes);
  if (!ok) {
    unmap_addresses(static_cast<std::uint64_t>(base), total);
    return nullptr;
  }
  raw_syscall(SYS_madvise, base, static_cast<long>(total), MADV_DONTFORK);
  return reinterpret_cast<std::uint8_t*>(base);
}

// Apart from the channel, where the program is not to find it.
relay::Unsealed* map_unsealed(long fd, std::uint64_t aux_size) {
  using relay::kUnsealedBytes;
  const std::uint64_t offset = relay::kHeaderBytes + relay::kRecordBytes + aux_size;
  const std::uint64_t got = map_shared(fd, offset, kUnsealedBytes);
  if (got == 0) return nullptr;
  raw_syscall(SYS_madvise, static_cast<long>(got), kUnsealedBytes, MADV_DONTFORK);
  return reinterpret_cast<relay::Unsealed*>(got);
}

// A fork of another thread, which is made under the lock, sees both or none.
long open_socket(long* place) {
  constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC;
  if (place == nullptr) return raw_syscall(SYS_socket, AF_UNIX, kType, 0);
  const Locked locked;
  return *place = raw_syscall(SYS_socket, AF_UNIX, kType, 0);
}

void close_socket(long socket, long* place) {
  if (place != nullptr) return close_connection(socket);
  raw_syscall(SYS_close, socket);
}

}  // namespace

long connect_recorder(long* place) {
  constexpr int kAttempts = 10;  // strangers may have the place that the recorder has for newcomers
  const relay::StartInfo& start = hodo_start_info;
  if (start.socket[0] == 0) return -ENOENT;
  // First: in another network namespace somebody else may have the recorder's name.
  if (const long by_line = connect_by_line(); by_line >= 0) return by_line;
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::size_t length = 0;
  while (length < start.socket.size() && start.socket[length] != 0) ++length;
  std::memcpy(to.sun_path + 1, start.socket.data(), length);
  const long bytes = static_cast<long>(offsetof(sockaddr_un, sun_path) + 1 + length);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const long socket = open_socket(place);
    if (failed(socket)) return socket;
    long connected = 0;
    do {
      connected = raw_syscall(SYS_connect, socket, argument(&to), bytes);
    } while (connected == -EINTR);
    const auto size = static_cast<long>(start.key.size());
    if (!failed(connected) && send_on(socket, start.key.data(), start.key.size()) == size) {
      return socket;
    }
    close_socket(socket, place);
    if (failed(connected)) return connected;
  }
  return -ECONNREFUSED;
}

relay::Hello own_hello(relay::Start start) {
  relay::Hello hello;
  hello.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  hello.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  hello.start = start;
  return hello;
}

static long receive_byte(long connection) {
  char byte = 0;
  long got = -EINTR;
  while (got == -EINTR) got = raw_syscall(SYS_read, connection, argument(&byte), 1);
  return got;
}

// To be answered with a byte. False: it is not.
static bool ask_recorder(const relay::Hello& hello) {
  return with_descriptor([&] {
           const long connection = connect_recorder();
           if (connection < 0) return connection;
           const bool asked = send_on(connection, &hello, sizeof(hello)) == sizeof(hello);
           const long got = asked ? receive_byte(connection) : 0;
           raw_syscall(SYS_close, connection);
           return got;
         }) == 1;
}

bool can_be_reached_apart() {
  return with_descriptor([] {
           const long connection = connect_recorder();
           if (connection >= 0) raw_syscall(SYS_close, connection);
           return connection;
         }) >= 0;
}

bool let_go_of_files(std::uint64_t device) {
  relay::Hello hello = own_hello(relay::Start::unmounts);
  hello.device = device;
  return ask_recorder(hello);
}

bool is_page_of_file_to_recorder(std::uint64_t address) {
  relay::Hello hello = own_hello(relay::Start::page);
  hello.address = address;
  return ask_recorder(hello);
}

void have_files_held() { ask_recorder(own_hello(relay::Start::unnames)); }

void have_file_copied(const char* path, std::uint32_t minor, std::uint64_t inode) {
  constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};  // who serves it may hang
  relay::Hello hello = own_hello(relay::Start::copies);
  hello.minor = minor;
  hello.inode = inode;
  with_descriptor([&] {
    const long connection = connect_recorder();
    if (connection < 0) return connection;
    raw_syscall(SYS_setsockopt, connection, SOL_SOCKET, SO_RCVTIMEO, argument(&kPatience),
                sizeof(kPatience));
    constexpr long kHow = O_RDONLY | O_CLOEXEC;
    const long file = raw_syscall(SYS_openat, AT_FDCWD, argument(path), kHow);
    relay::DescriptorMessage message(static_cast<int>(file));
    message.part = {&hello, sizeof(hello)};
    if (failed(file)) message.header.msg_controllen = 0;
    raw_syscall(SYS_sendmsg, connection, argument(&message.header), MSG_NOSIGNAL);
    if (!failed(file)) raw_syscall(SYS_close, file);
    receive_byte(connection);
    return raw_syscall(SYS_close, connection);
  });
}

void have_stopped_threads_held() { ask_recorder(own_hello(relay::Start::dies)); }

bool have_let_go(std::int32_t traced) {
  relay::Hello hello = own_hello(relay::Start::traces);
  hello.traced = traced;
  return ask_recorder(hello);
}

long open_mappings() {
  // That of the process is empty once its first thread has ended.
  long own = -ENOENT;
  for (const char* path : {"/proc/thread-self/maps", "/proc/self/maps"}) {
    own = raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
    if (!failed(own)) return own;
  }
  const long connection = connect_recorder();
  if (connection < 0) return own;
  const relay::Hello hello = own_hello(relay::Start::mappings);
  const bool asked = send_on(connection, &hello, sizeof(hello)) == sizeof(hello);
  const long got = asked ? receive_descriptor(connection, 0) : own;
  raw_syscall(SYS_close, connection);
  return got;
}

static void say_unrecorded(relay::Hello hello) {
  const long connection = connect_recorder();
  if (connection < 0) return;
  hello.start = relay::Start::unrecorded;
  send_on(connection, &hello, sizeof(hello));
  raw_syscall(SYS_close, connection);
}

// What comes over a connection needs a descriptor, too.
static bool is_last_descriptor(long connection) {
  if (connection < 0) return connection == -EMFILE;
  const long another = raw_syscall(SYS_dup, connection);
  if (another >= 0) raw_syscall(SYS_close, another);
  return another == -EMFILE;
}

static std::optional<relay::ChannelWriter> take_channel(long connection,
                                                        const relay::Hello& hello) {
  if (connection < 0) return std::nullopt;
  long fd = -1;
  if (send_on(connection, &hello, sizeof(hello)) == sizeof(hello)) {
    // Parents wait until a child sleeps in the call which they know it to make (/proc/PID/stat), so
    // it must not be seen to sleep before. Not for ever, as it may have a priority above the
    // recorder's; and threads, which may be many at a time, would take the recorder's processor.
    constexpr int kLooks = 100'000;  // some 100 ms where nothing else runs
    fd = receive_descriptor(connection, hello.start == relay::Start::child ? kLooks : 0);
  }
  close_connection(connection);
  if (fd < 0) return std::nullopt;
  std::uint64_t aux_size = 0;
  raw_syscall(SYS_pread64, fd, argument(&aux_size), sizeof(aux_size),
              offsetof(relay::ChannelHeader, aux_size));
  std::uint8_t* base = map_channel(fd, aux_size);
  relay::Unsealed* unsealed = base == nullptr ? nullptr : map_unsealed(fd, aux_size);
  raw_syscall(SYS_close, fd);
  if (unsealed == nullptr) {
    if (base != nullptr) {
      unmap_addresses(reinterpret_cast<std::uint64_t>(base), relay::mapped_bytes(aux_size));
    }
    say_unrecorded(hello);
    return std::nullopt;
  }
  return relay::ChannelWriter(relay::ChannelMemory::adopt(base, aux_size, unsealed));
}

std::optional<relay::ChannelWriter> open_channel(long connection, const relay::Hello& hello) {
  if (!is_last_descriptor(connection)) return take_channel(connection, hello);
  struct Apart {
    long connection;
    const relay::Hello& hello;
    std::optional<relay::ChannelWriter> made;
  } apart{connection, hello, std::nullopt};
  in_own_files(
      [](void* with) {
        auto& here = *static_cast<Apart*>(with);
        if (here.connection < 0) here.connection = connect_recorder();
        here.made = take_channel(here.connection, here.hello);
      },
      &apart, connection);
  if (connection >= 0) close_connection(connection);
  return std::move(apart.made);
}

void forget_channel(relay::ChannelWriter& channel) {
  const std::uint8_t* base = channel.aux() - relay::kHeaderBytes - 2 * relay::kRecordBytes;
  forget_addresses(reinterpret_cast<std::uint64_t>(base), relay::mapped_bytes(channel.aux_size()));
  forget_addresses(reinterpret_cast<std::uint64_t>(channel.unsealed()), relay::kUnsealedBytes);
  channel.forget();
}

}  // namespace hodo::engine

namespace hodo::relay {

using engine::failed;
using engine::raw_syscall;

ChannelMemory::~ChannelMemory() {
  if (base_ == nullptr) return;
  engine::unmap_addresses(reinterpret_cast<std::uint64_t>(base_), mapped_bytes(aux_size_));
  engine::unmap_addresses(reinterpret_cast<std::uint64_t>(unsealed_), kUnsealedBytes);
}

void wait_on(std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned ms) {
  const timespec timeout{.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1'000'000L};
  engine::wait_on_word(reinterpret_cast<const std::uint32_t*>(&word), value, FUTEX_WAIT, timeout);
}

std::optional<std::string_view> stat_of(std::int32_t pid, std::span<char> text) {
  const long there = raw_syscall(SYS_kill, pid, 0);
  if (failed(there) && there != -EPERM) return std::nullopt;
  char path[32] = "/proc/";
  std::size_t at = std::strlen(path);
  at += engine::put_decimal(path + at, static_cast<std::uint32_t>(pid));
  std::memcpy(path + at, "/stat", sizeof("/stat"));
  const long fd =
      raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path), O_RDONLY | O_CLOEXEC);
  if (failed(fd)) return std::string_view();
  const long got = raw_syscall(SYS_read, fd, reinterpret_cast<long>(text.data()),
                               static_cast<long>(text.size()));
  raw_syscall(SYS_close, fd);
  return std::string_view(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
}

}  // namespace hodo::relay
