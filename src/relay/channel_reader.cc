// The recorder's end of a channel, which the program under test could have written anything to.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "hodo/hw/bts.h"
#include "hodo/relay/channel.h"
#include "unsealed.h"

namespace hodo::relay {
namespace {

// More than a unit writes between two seals.
constexpr std::size_t kMostPacketsBehind = 4096;
constexpr std::size_t kMostRecordsBehind = std::size_t{64} * 1024 * sizeof(hw::BtsRecord);
constexpr std::size_t kLongestPacket = 16;

std::uint64_t load(std::uint64_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

// `place` is that of the first in the stream.
void add_records(unit::RecordDigest& digest, std::uint64_t place,
                 std::span<const std::uint8_t> bytes) {
  for (std::size_t at = 0; at + sizeof(hw::BtsRecord) <= bytes.size();
       at += sizeof(hw::BtsRecord)) {
    hw::BtsRecord record;
    std::memcpy(&record, bytes.data() + at, sizeof(record));
    digest.add(place + at, record.from, record.to, record.flags);
  }
}

}  // namespace

ChannelReader::ChannelReader(ChannelMemory memory, Recording recording)
    : memory_(std::move(memory)),
      recording_(recording),
      key_(header().key),
      settings_(std::make_unique<const Settings>(header().settings)),
      records_(key_),
      stream_(key_),
      bts_stream_(key_) {
  seal_.aux_digest = digest();
}

void ChannelReader::found(std::string what) {
  if (damage_.empty()) damage_ = std::move(what);
}

void ChannelReader::stop() {
  stop_ = true;
  header().stop.store(1, std::memory_order_release);
}

// What only the recorder writes.
void ChannelReader::check_own_fields() {
  const bool same = header().aux_tail.load(std::memory_order_relaxed) == aux_tail_ &&
                    header().record_tail.load(std::memory_order_relaxed) == record_released_ &&
                    header().drained.load(std::memory_order_relaxed) == drains_ &&
                    (header().stop.load(std::memory_order_relaxed) != 0) == stop_;
  if (!same) found("what the recorder keeps there was changed");
}

// The last whole one; nullopt while the process is too fast, or after damage.
std::optional<Seal> ChannelReader::read_seal() {
  for (int tries = 0; tries < 64; ++tries) {
    const std::uint64_t number = header().sealed.load(std::memory_order_acquire);
    const Seal seal = header().seals[number % 2];
    std::atomic_thread_fence(std::memory_order_acquire);
    if (header().sealed.load(std::memory_order_relaxed) != number) continue;
    if (number == 0 && seal_number_ == 0) return std::nullopt;
    if (number < seal_number_ || seal.mac != mac_of(seal, number, key_)) {
      found("what its trace unit has sealed there was changed");
      return std::nullopt;
    }
    seal_number_ = number;
    return seal;
  }
  return std::nullopt;
}

void ChannelReader::look() {
  if (damaged() || finished_) return;
  check_own_fields();
  const auto seal = read_seal();
  if (!seal || damaged()) return;
  const std::uint64_t records = seal->record_head - record_checked_;
  if (seal->aux_head - aux_tail_ > memory_.aux_size() ||
      seal->record_head - record_released_ > kRecordBytes) {
    return found("its trace unit has written over what was not taken yet");
  }
  const std::size_t before = sideband_.size();
  const std::uint8_t* at = memory_.records() + record_checked_ % kRecordBytes;
  sideband_.insert(sideband_.end(), at, at + records);
  records_.add(sideband_.data() + before, records);
  if (records_.value() != seal->record_digest && seal->record_head != 0) {
    sideband_.resize(before);
    return found("records about mappings and code were changed");
  }
  record_checked_ = seal->record_head;
  seal_ = *seal;
}

std::span<const std::uint8_t> ChannelReader::take() {
  if (finished_) {
    taken_ = std::exchange(remains_, {});
    aux_tail_ += taken_.size();
    return taken_;
  }
  const std::uint64_t size = waiting();
  if (size == 0) return {};
  std::uint8_t* at = memory_.aux() + aux_tail_ % memory_.aux_size();
  taken_.assign(at, at + size);
  add_to_digest(aux_tail_, taken_);
  if (digest() != seal_.aux_digest) {
    found("the trace was changed");
    return {};
  }
  // A writer gets memory back sooner from a cache that has written it than from two that have read
  // it: on Zen 4 handing over costs the program up to a third less (bench/README.md).
  std::memset(at, 0, size);
  aux_tail_ += size;
  header().aux_tail.store(aux_tail_, std::memory_order_release);
  wake_process();
  return taken_;
}

void ChannelReader::add_to_digest(std::uint64_t place, std::span<const std::uint8_t> bytes) {
  if (recording_ == Recording::bts) {
    add_records(bts_stream_, place, bytes);
  } else {
    stream_.add(bytes.data(), bytes.size());
  }
}

std::uint64_t ChannelReader::digest() const {
  return recording_ == Recording::bts ? bts_stream_.value() : stream_.value();
}

void ChannelReader::wake_process() {
  header().drained.store(++drains_, std::memory_order_release);
  if (header().waiting.load(std::memory_order_acquire) != 0) {
    syscall(SYS_futex, &header().drained, FUTEX_WAKE, 1, nullptr, nullptr, 0);
  }
}

// Adds the packets or records that the last seal does not cover: as many as have the digest that
// the unit left.
void ChannelReader::add_remains() {
  const std::uint64_t wanted = load(header().remains.digest);
  const std::uint8_t* at = memory_.aux() + aux_tail_ % memory_.aux_size();
  const bool records = recording_ == Recording::bts;
  const std::size_t step = records ? sizeof(hw::BtsRecord) : 1;
  const std::size_t most =
      std::min<std::uint64_t>(records ? kMostRecordsBehind : kMostPacketsBehind,
                              memory_.aux_size()) /
      step * step;
  std::vector<std::uint64_t> digests;  // behind each step
  for (std::size_t size = 0; size <= most; size += step) {
    digests.push_back(digest());
    if (digests.back() == wanted) {
      remains_.insert(remains_.end(), at, at + (records ? size : without_cut_psb({at, size})));
      if (!records) add_outcomes(digests);
      return;
    }
    add_to_digest(aux_tail_ + size, {at + size, step});
  }
  found("the end of the trace was changed");
}

// `digests`: of the stream up to each of its last bytes.
void ChannelReader::add_outcomes(std::span<const std::uint64_t> digests) {
  const std::uint64_t outcomes = load(header().remains.outcomes);
  for (std::size_t i = 0; i < digests.size(); ++i) {
    const auto packets = unit::pending_packets(outcomes, digests[digests.size() - 1 - i]);
    // A unit that tells of all it does tells of it with each packet.
    if (!packets || (i >= kLongestPacket && !packets->lost)) continue;
    // Those that were left with an earlier digest are in a packet by now.
    const auto* bytes = packets->bytes.data();
    if (packets->lost) add_unsealed(aux_tail_ + digests.size() - 1);
    if (i == 0 || packets->lost) remains_.insert(remains_.end(), bytes, bytes + packets->size);
    return;
  }
  found("the outcomes at the end of the trace were changed");
}

// What the unit had written behind the first `written` bytes, which were handed over.
void ChannelReader::add_unsealed(std::uint64_t written) {
  const Unsealed* there = memory_.unsealed();
  if (there == nullptr) return;
  const std::vector<std::uint8_t> packets = packets_behind(*there, written);
  remains_.insert(remains_.end(), packets.begin(), packets.end());
}

void ChannelReader::finish() {
  if (finished_) return;
  look();
  const std::uint64_t begin = aux_tail_;
  const auto sealed = take();
  remains_.assign(sealed.begin(), sealed.end());
  if (!damaged() && recording_ != Recording::lbr) add_remains();
  aux_tail_ = begin;
  finished_ = true;
  if ((seal_.flags & kOverwritten) != 0) {
    found("its trace unit found that others write there, or take the memory away");
  }
  if ((seal_.flags & kStopped) != 0 && !stop_) found("its trace unit was told to stop");
  const ChannelHeader& now = header();
  if (now.magic != kMagic || now.version != kVersion || now.aux_size != memory_.aux_size() ||
      std::memcmp(&now.settings, settings_.get(), sizeof(Settings)) != 0) {
    found("the settings there were changed");
  }
}

}  // namespace hodo::relay
