#include "hodo/relay/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace hodo::relay {
namespace {

std::unexpected<Error> io_error(const char* what) {
  return fail(ErrorCode::io, std::string(what) + ": " + std::strerror(errno));
}

std::uint64_t mapped_bytes(std::uint64_t aux_size) {
  return kHeaderBytes + 2 * kRecordBytes + 2 * aux_size;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, unsigned ms) {
  const timespec timeout{.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1'000'000L};
  syscall(SYS_futex, &word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

// A zombie is as dead as can be, but its pid is still taken.
bool is_alive(std::int32_t pid) {
  if (::kill(pid, 0) != 0 && errno != EPERM) return false;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;  // no /proc here
  std::array<char, 512> text{};
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  const std::string_view stat(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto state = stat.rfind(") ");  // behind the name, which may contain anything
  return state == stat.npos || state + 2 >= stat.size() || stat[state + 2] != 'Z';
}

// Waits for one more drain by the recorder; false if there is no recorder left to wait for, which
// ends the recording of this thread for good.
bool wait_for_recorder(ChannelHeader& header, unsigned ms) {
  const std::uint32_t seen = header.drained.load(std::memory_order_acquire);
  header.waiting.store(1, std::memory_order_release);
  futex_wait(header.drained, seen, ms);
  header.waiting.store(0, std::memory_order_release);
  if (header.drained.load(std::memory_order_acquire) != seen) return true;
  if (is_alive(header.settings.recorder_pid)) return true;
  header.stop.store(1, std::memory_order_release);
  return false;
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
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (got != 1 || header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof(fd));
  return fd;
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
  if (private_to_process) madvise(area, total, MADV_DONTFORK);
  return memory;
}

ChannelMemory& ChannelMemory::operator=(ChannelMemory&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(aux_size_, other.aux_size_);
  return *this;
}

ChannelMemory::~ChannelMemory() {
  if (base_ != nullptr) munmap(base_, mapped_bytes(aux_size_));
}

Result<int> create_channel_file(std::uint64_t aux_size, const Settings& settings) {
  const int fd = memfd_create("hodo-channel", MFD_CLOEXEC);
  if (fd < 0) return io_error("cannot create a trace buffer");
  if (ftruncate(fd, static_cast<off_t>(kHeaderBytes + kRecordBytes + aux_size)) != 0) {
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
  header->settings = settings;
  munmap(page, kHeaderBytes);
  return fd;
}

std::span<const std::uint8_t> ChannelReader::aux() const {
  if (damaged_) return {};
  const std::uint64_t head =
      finished_ ? aux_end_ : header().aux_head.load(std::memory_order_acquire);
  if (head - aux_tail_ > memory_.aux_size()) {
    damaged_ = true;
    return {};
  }
  return {memory_.aux() + aux_tail_ % memory_.aux_size(), head - aux_tail_};
}

void ChannelReader::release_aux(std::size_t bytes) {
  aux_tail_ += bytes;
  header().aux_tail.store(aux_tail_, std::memory_order_release);
  wake_process();
}

void ChannelReader::wake_process() {
  header().drained.fetch_add(1, std::memory_order_acq_rel);
  if (header().waiting.load(std::memory_order_acquire) != 0) {
    syscall(SYS_futex, &header().drained, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

std::uint64_t ChannelReader::end_of_packets() const {
  // A copy: the program may have scribbled over the original, which must then do no harm here.
  unit::PtUnit unit = header().unit;
  unit.finish(memory_.aux(), memory_.aux_size());
  return unit.written();
}

// The records that a killed process had not published stand between the head and the DS index.
std::uint64_t ChannelReader::end_of_bts_records() const {
  const std::uint64_t head = header().aux_head.load(std::memory_order_acquire);
  const auto area = hw::read_ds_area(header().ds_area, hw::DsLayout::bits64);
  if (!area || header().ring_address == 0) return head;
  const std::uint64_t more = (area->bts.index - header().ring_address - head) % memory_.aux_size();
  return more % sizeof(hw::BtsRecord) == 0 ? head + more : head;
}

void ChannelReader::finish() {
  if (finished_) return;
  const std::uint64_t head = header().aux_head.load(std::memory_order_acquire);
  aux_end_ = recording_ == Recording::pt    ? end_of_packets()
             : recording_ == Recording::bts ? end_of_bts_records()
                                            : head;
  finished_ = true;
  if (aux_end_ - aux_tail_ > memory_.aux_size()) aux_end_ = head;
}

int connect_recorder(std::string_view name) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
  close(socket);
  return -1;
}

Result<ChannelMemory> open_channel(int connection, const Hello& hello) {
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
  return memory;
}

Result<int> listen_socket(const std::string& name) {
  const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return io_error("cannot make a socket");
  socklen_t length = 0;
  const sockaddr_un address = abstract_address(name, length);
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(socket, 128) != 0) {
    const auto error = io_error("cannot listen for traced processes");
    close(socket);
    return error;
  }
  return socket;
}

std::uint64_t publish_aux(ChannelMemory& memory, std::uint64_t written, unsigned patience_ms) {
  ChannelHeader& header = memory.header();
  header.aux_head.store(written, std::memory_order_release);
  constexpr unsigned kStep = 100;
  for (unsigned waited = 0;; waited += kStep) {
    if (header.stop.load(std::memory_order_relaxed) != 0) return 0;
    const std::uint64_t used = written - header.aux_tail.load(std::memory_order_acquire);
    const std::uint64_t room = memory.aux_size() - std::min(used, memory.aux_size());
    if (room >= memory.aux_size() / 4) return room;
    // Not what little room there is: the next call would wait as long again, for a few packets.
    if (waited >= patience_ms || !wait_for_recorder(header, kStep)) return 0;
  }
}

bool write_record(ChannelMemory& memory, RecordHeader record, std::span<const std::uint8_t> fixed,
                  std::span<const std::uint8_t> payload) {
  ChannelHeader& header = memory.header();
  const std::size_t bytes = sizeof(record) + fixed.size() + payload.size();
  record.size = static_cast<std::uint32_t>((bytes + 7) / 8 * 8);
  record.payload = static_cast<std::uint32_t>(payload.size());
  if (record.size > kRecordBytes / 2) return false;
  const std::uint64_t head = header.record_head.load(std::memory_order_relaxed);
  while (kRecordBytes - (head - header.record_tail.load(std::memory_order_acquire)) < record.size) {
    if (header.stop.load(std::memory_order_relaxed) != 0) return false;
    if (!wait_for_recorder(header, 100)) return false;
  }
  std::uint8_t* at = memory.records() + head % kRecordBytes;
  std::memcpy(at, &record, sizeof(record));
  if (!fixed.empty()) std::memcpy(at + sizeof(record), fixed.data(), fixed.size());
  if (!payload.empty()) {
    std::memcpy(at + sizeof(record) + fixed.size(), payload.data(), payload.size());
  }
  header.record_head.store(head + record.size, std::memory_order_release);
  return true;
}

}  // namespace hodo::relay
