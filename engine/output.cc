#include "output.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "clock.h"
#include "decimal.h"
#include "hodo/relay/engine_start.h"
#include "memory.h"
#include "sys.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

namespace {

constexpr std::uint64_t kRing = 4 << 20;

std::uint64_t reserve_in_ring(void* owner, std::uint64_t written) {
  auto& output = *static_cast<Output*>(owner);
  if (written - output.drained > kRing / 2) drain_output(output, written);
  return kRing;
}

void set_unsealed_place(relay::Unsealed& unsealed, std::uint64_t place) {
  __atomic_store_n(&unsealed.place, place, __ATOMIC_RELEASE);
}

std::uint64_t cursor_of(const Output& output) {
  return static_cast<std::uint64_t>(output.unit->end() -
                                    output.channel->unsealed()->packets.data());
}

// The unit is to write on, from the beginning if it is past the half (PtUnit::grant): until it asks
// again there will be a 0 behind its last packet. Without much room it loses what comes.
void clear_unsealed(Output& output, std::uint64_t room) {
  constexpr std::uint64_t kMost = Output::kServiceBytes + 3 * unit::PtUnit::kSlack;
  std::uint64_t at = cursor_of(output);
  if (at >= Output::kPackets) at -= Output::kPackets;
  relay::Unsealed& unsealed = *output.channel->unsealed();
  std::memset(unsealed.packets.data() + at, 0, kMost);
  const bool none = room < 4 * unit::PtUnit::kSlack;
  set_unsealed_place(unsealed,
                     none ? relay::kNoUnsealed : relay::unsealed_place(output.handed_over, at));
}

std::uint64_t reserve_in_channel(void* owner, std::uint64_t) {
  auto& output = *static_cast<Output*>(owner);
  unit::PtUnit& unit = *output.unit;
  const auto stop = [&] {
    unit.stop();
    return hand_over(output, false, 0);
  };
  if (output.channel->over()) return stop();
  // After a loss, do not wait again each time; go on as soon as there is room.
  const bool lossy = unit.overflows() != output.overflows_seen;
  const std::uint64_t room = hand_over(output, true, lossy ? 0 : relay::kPatienceMs);
  if (output.channel->over()) return stop();  // while it waited: nothing is lost by want of room
  clear_unsealed(output, room);
  if (room >= output.channel->aux_size() / 4) output.overflows_seen = unit.overflows();
  return room;
}

// Null: there is no memory.
std::uint8_t* map_ring() {
  const long memory =
      raw_syscall(SYS_memfd_create, reinterpret_cast<long>("hodo-ring"), MFD_CLOEXEC);
  raw_syscall(SYS_ftruncate, memory, kRing);
  const auto at = static_cast<long>(map_addresses(2 * kRing));
  bool is_there = at != 0;
  for (const long half : {at, at + static_cast<long>(kRing)}) {
    is_there = is_there && raw_syscall(SYS_mmap, half, kRing, PROT_READ | PROT_WRITE,
                                       MAP_SHARED | MAP_FIXED, memory, 0) == half;
  }
  raw_syscall(SYS_close, memory);
  if (!is_there && at != 0) unmap_addresses(static_cast<std::uint64_t>(at), 2 * kRing);
  return is_there ? reinterpret_cast<std::uint8_t*>(at) : nullptr;
}

long create(const char* path, long tid) {
  char name[300];
  std::size_t at = 0;
  while (path[at] != 0 && at < sizeof(name) - 24) {
    name[at] = path[at];
    ++at;
  }
  if (tid != 0) {
    name[at++] = '.';
    at += put_decimal(name + at, static_cast<std::uint64_t>(tid));
  }
  name[at] = 0;
  return raw_syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(name),
                     O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

unit::PtOutput in_channel(Output& output) {
  const relay::ChannelWriter& channel = *output.channel;
  output.digest = unit::StreamDigest(channel.key());
  unit::PtOutput made;
  made.base = channel.unsealed()->packets.data();
  made.size = Output::kPackets;
  made.service_bytes = Output::kServiceBytes;
  made.reserve = &reserve_in_channel;
  return made;
}

unit::PtOutput in_ring(Output& output, const char* path, long tid) {
  if (path[0] != 0) {
    output.file = create(path, tid);
    if (failed(output.file)) {
      die("the output cannot be made", static_cast<std::uint64_t>(-output.file));
    }
  }
  unit::PtOutput made;
  made.base = output.ring;
  made.size = kRing;
  made.service_bytes = Output::kServiceBytes;
  made.reserve = &reserve_in_ring;
  return made;
}

// The packets of threads that are not recorded, which the code in the cache writes all the same.
// The unit is off and takes them back; many threads may write here at once.
unit::PtOutput to_nowhere() {
  alignas(64) static std::uint8_t bytes[4096];
  unit::PtOutput made;
  made.base = bytes;
  made.size = sizeof(bytes);
  made.reserve = [](void*, std::uint64_t) -> std::uint64_t { return sizeof(bytes); };
  return made;
}

}  // namespace

void start_unit(Output& output, unit::PtUnit& unit, const char* path, long tid) {
  output.unit = &unit;
  const bool recorder = hodo_start_info.socket[0] != 0;
  if (!recorder) output.ring = map_ring();
  unit::PtOutput to = output.channel           ? in_channel(output)
                      : output.ring != nullptr ? in_ring(output, path, tid)
                                               : to_nowhere();
  to.owner = &output;
  to.remains = &output.ignored;
  const std::uint64_t ctl =
      output.channel ? output.channel->settings().rtit_ctl : hodo_start_info.rtit_ctl;
  unit.start(ctl, isa::Mode::bits64, to, &now);
  if (!output.channel && output.ring == nullptr) unit.stop();
}

std::uint64_t hand_over(Output& output, bool running, unsigned patience_ms) {
  if (!output.channel) return 0;
  if (output.tracer) {
    output.tracer->publish();
    return 0;
  }
  relay::ChannelWriter& channel = *output.channel;
  const unit::PtUnit& unit = *output.unit;
  const std::uint64_t written = unit.written();
  if (written > output.handed_over) {
    const std::uint64_t fresh = written - output.handed_over;
    const std::uint8_t* from = unit.end() - fresh;
    output.digest.add(from, fresh);
    std::memcpy(channel.aux() + output.handed_over % channel.aux_size(), from, fresh);
    output.handed_over = written;
  }
  const std::uint64_t digest = output.digest.value();
  const unit::PtRemains remains = unit::remains_behind(digest, running || unit.losing());
  __atomic_store_n(&channel.remains().digest, remains.digest, __ATOMIC_RELEASE);
  __atomic_store_n(&channel.remains().outcomes, remains.outcomes, __ATOMIC_RELEASE);
  set_unsealed_place(*channel.unsealed(), unit.losing() || channel.over()
                                              ? relay::kNoUnsealed
                                              : relay::unsealed_place(written, cursor_of(output)));
  channel.count(unit.overflows(), unit.unexplained());
  if (patience_ms == 0 && !running) {
    channel.seal_aux(written, digest);
    return 0;
  }
  return channel.publish_aux(written, digest, patience_ms);
}

void mark_running(Output& output) {
  if (!output.channel) return;
  const unit::PtRemains remains = unit::remains_behind(output.digest.value(), true);
  __atomic_store_n(&output.channel->remains().outcomes, remains.outcomes, __ATOMIC_RELEASE);
}

void drain_output(Output& output, std::uint64_t written) {
  while (output.file >= 0 && output.drained < written) {
    const std::uint64_t at = output.drained % kRing;
    const std::uint64_t count = std::min(written - output.drained, kRing - at);
    const long done = raw_syscall(SYS_write, output.file, reinterpret_cast<long>(output.ring + at),
                                  static_cast<long>(count));
    if (done == -EINTR) continue;
    if (failed(done)) die("the trace cannot be written", static_cast<std::uint64_t>(-done));
    output.drained += static_cast<std::uint64_t>(done);
  }
}

void close_output(Output& output) {
  if (output.channel) {
    hand_over(output, false, 0);
    output.channel->close();
  }
  if (output.ring != nullptr) drain_output(output, output.unit->written());
  give_back(output);
}

void give_back(Output& output) {
  output.tracer.reset();
  output.channel.reset();
  if (output.ring == nullptr) return;
  if (output.file >= 0) raw_syscall(SYS_close, output.file);
  unmap_addresses(reinterpret_cast<std::uint64_t>(output.ring), 2 * kRing);
  output.ring = nullptr;
}

}  // namespace hodo::engine
