#include "recording.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "channel.h"
#include "clock.h"
#include "edition.h"
#include "lock.h"
#include "sys.h"
#include "threads.h"

namespace hodo::engine {
namespace {

using relay::RecordType;

std::span<const std::uint8_t> bytes_of(const void* from, std::size_t count) {
  return {static_cast<const std::uint8_t*>(from), count};
}

std::array<char, 16> name_of_thread() {
  std::array<char, 16> name{};
  raw_syscall(SYS_prctl, PR_GET_NAME, reinterpret_cast<long>(name.data()));
  return name;
}

}  // namespace

bool is_recorded(const ThreadArea& area) { return area.output.channel.has_value(); }

void begin_recording(ThreadArea& area, long connection, relay::Start how, std::int32_t parent_pid,
                     std::int32_t parent_tid) {
  area.pid = static_cast<std::int32_t>(raw_syscall(SYS_getpid));
  area.tid = static_cast<std::int32_t>(raw_syscall(SYS_gettid));
  relay::Hello hello;
  hello.pid = area.pid;
  hello.tid = area.tid;
  hello.parent_pid = parent_pid;
  hello.parent_tid = parent_tid;
  hello.start = how;
  hello.time = now();
  hello.comm = name_of_thread();
  area.output.channel = open_channel(connection, hello);
}

void send_record(ThreadArea& area, std::uint64_t time, RecordType type, const void* fixed,
                 std::size_t fixed_bytes, const void* payload, std::size_t payload_bytes) {
  if (!area.output.channel) return;
  relay::RecordHeader header;
  header.type = type;
  header.tid = area.tid;
  header.time = time;
  area.output.channel->write_record(header, bytes_of(fixed, fixed_bytes),
                                    bytes_of(payload, payload_bytes));
}

void send_native(ThreadArea& area, std::string_view who, std::string_view why) {
  char text[1024];
  const std::size_t left = sizeof(text) - 1 - why.size();
  const std::size_t taken = std::min(who.size(), left);
  std::memcpy(text, who.data(), taken);
  text[taken] = 0;
  std::memcpy(text + taken + 1, why.data(), why.size());
  send_record(area, now(), RecordType::native, nullptr, 0, text, taken + 1 + why.size());
}

const char* why_unreachable(long error) {
  if (error == -ECONNREFUSED || error == -ENOENT) {
    return "its recorder is gone, or in another network namespace";
  }
  if (error == -EMFILE || error == -ENFILE) return "no file descriptor was left for the recorder";
  if (error == -EPERM || error == -EACCES || error == -ENOSYS) {
    return "it may not call the recorder; a filter of system calls (seccomp) or Landlock forbids that";
  }
  return "the kernel had no memory to call the recorder";
}

void send_name(ThreadArea& area) {
  const std::array<char, 16> name = name_of_thread();
  send_record(area, now(), RecordType::comm, nullptr, 0, name.data(), std::strlen(name.data()));
}

void end_recording(ThreadArea& area, const relay::EndRecord* end) {
  if (end != nullptr) {
    send(area, RecordType::end, *end);
    const Locked locked;
    send(area, RecordType::cache, cache_use());
  }
  send_record(area, now(), RecordType::exit, nullptr, 0, nullptr, 0);
  close_output(area.output);
}

}  // namespace hodo::engine
