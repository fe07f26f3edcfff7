// The traced process's end of a channel. Also part of the engine's image, which has no C library.
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "hodo/relay/channel.h"
#include "hodo/relay/recorder_wait.h"

namespace hodo::relay {
namespace {

// For how long it has run on a processor, in clock ticks; 0: nobody says. None: it has ended.
std::optional<std::uint64_t> time_run(std::int32_t pid) {
  constexpr int kOfUser = 11, kOfSystem = 12;  // counted from the state (proc_pid_stat(5))
  std::array<char, 512> text{};
  auto stat = stat_of(pid, text);
  if (!stat) return std::nullopt;
  const auto name = stat->rfind(") ");  // it may contain anything
  if (name == stat->npos) return 0;
  stat->remove_prefix(name + 2);
  if (stat->starts_with('Z')) return std::nullopt;  // as dead as can be, but its pid is still taken
  std::uint64_t sum = 0, value = 0;
  int field = 0;
  for (const char c : *stat) {
    if (c >= '0' && c <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
      continue;
    }
    if (c != ' ') continue;
    if (field == kOfUser || field == kOfSystem) sum += value;
    value = 0;
    ++field;
  }
  return sum;
}

}  // namespace

ChannelWriter::ChannelWriter(ChannelMemory memory)
    : memory_(std::move(memory)),
      settings_(std::make_unique<const Settings>(header().settings)),
      key_(std::exchange(header().key, 0)),
      records_(key_) {
  seal_.aux_digest = settings_->recording == Recording::bts ? unit::RecordDigest(key_).value()
                                                            : unit::StreamDigest(key_).value();
  seal_.record_digest = records_.value();
}

void ChannelWriter::seal() {
  seal_.mac = mac_of(seal_, ++seal_number_, key_);
  header().seals[seal_number_ % 2] = seal_;
  header().sealed.store(seal_number_, std::memory_order_release);
}

void ChannelWriter::seal_aux(std::uint64_t written, std::uint64_t digest) {
  seal_.aux_head = written;
  seal_.aux_digest = digest;
  seal();
}

void ChannelWriter::count(std::uint64_t dropped, std::uint64_t unexplained) {
  seal_.dropped = dropped;
  seal_.unexplained = unexplained;
}

bool ChannelWriter::over() const {
  return (seal_.flags & kOverwritten) != 0 || header().stop.load(std::memory_order_relaxed) != 0;
}

void ChannelWriter::give_up() {
  seal_.flags |= kOverwritten;
  seal();
}

void ChannelWriter::leave(bool leaving) {
  seal_.flags = leaving ? seal_.flags | kLeaving : seal_.flags & ~kLeaving;
  seal();
}

void ChannelWriter::close() {
  seal_.flags |= kClosed;
  seal();
}

// Waits for one more drain by the recorder, and returns how much of its patience that takes: a
// tenth where the recorder runs. None: there is no recorder left to wait for, which ends the
// recording of this thread for good.
std::optional<unsigned> ChannelWriter::wait_for_recorder(unsigned ms) {
  const std::uint32_t seen = header().drained.load(std::memory_order_acquire);
  header().waiting.store(1, std::memory_order_release);
  wait_on(header().drained, seen, ms);
  header().waiting.store(0, std::memory_order_release);
  if (header().drained.load(std::memory_order_acquire) != seen) return ms / 10;
  if (const auto ran = time_run(settings_->recorder_pid)) {
    return std::exchange(recorder_ran_, *ran) != *ran ? ms / 10 : ms;
  }
  header().stop.store(1, std::memory_order_release);
  return std::nullopt;
}

std::uint64_t ChannelWriter::used(std::atomic<std::uint64_t>& tail, std::uint64_t& last,
                                  std::uint64_t head) {
  const std::uint64_t found = tail.load(std::memory_order_acquire);
  if (found - last > head - last) {
    give_up();
    return ~std::uint64_t{0};
  }
  last = found;
  return head - found;
}

std::uint64_t ChannelWriter::publish_aux(std::uint64_t written, std::uint64_t digest,
                                         unsigned patience_ms) {
  constexpr unsigned kStep = 100;
  if (over()) seal_.flags |= kStopped;
  seal_aux(written, digest);
  for (unsigned waited = 0;;) {
    if (over()) return 0;
    const std::uint64_t taken = used(header().aux_tail, aux_tail_, written);
    const std::uint64_t room = aux_size() - std::min(taken, aux_size());
    if (room >= aux_size() / 4) return room;
    // Not what little room there is: the next call would wait as long again, for a few packets.
    if (waited >= patience_ms) return 0;
    const auto passed = wait_for_recorder(kStep);
    if (!passed) return 0;
    waited += *passed;
  }
}

bool ChannelWriter::write_record(RecordHeader record, std::span<const std::uint8_t> fixed,
                                 std::span<const std::uint8_t> payload) {
  const std::size_t bytes = sizeof(record) + fixed.size() + payload.size();
  record.size = static_cast<std::uint32_t>((bytes + 7) / 8 * 8);
  record.payload = static_cast<std::uint32_t>(payload.size());
  if (record.size > kRecordBytes / 2) return false;
  const std::uint64_t head = seal_.record_head;
  while (true) {
    const std::uint64_t there = used(header().record_tail, record_tail_, head);
    if (there <= kRecordBytes - record.size) break;
    if (over() || !wait_for_recorder(100)) return false;
  }
  std::uint8_t* at = memory_.records() + head % kRecordBytes;
  const auto put = [&](const std::uint8_t* from, std::size_t size) {
    if (size == 0) return;
    std::memcpy(at, from, size);
    records_.add(from, size);
    at += size;
  };
  constexpr std::array<std::uint8_t, 8> kPadding{};
  put(reinterpret_cast<const std::uint8_t*>(&record), sizeof(record));
  put(fixed.data(), fixed.size());
  put(payload.data(), payload.size());
  put(kPadding.data(), record.size - bytes);
  seal_.record_head = head + record.size;
  seal_.record_digest = records_.value();
  seal();
  return true;
}

}  // namespace hodo::relay
