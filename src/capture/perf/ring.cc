#include "ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "hodo/base/byte_reader.h"

namespace hodo::capture {
namespace {

using Bytes = std::span<const std::uint8_t>;

// The kernel's fields are plain integers; atomic_ref gives them the order that the protocol needs.
std::uint64_t load_head(__u64& field) {
  return std::atomic_ref<__u64>(field).load(std::memory_order_acquire);
}
void store_tail(__u64& field, std::uint64_t value) {
  std::atomic_ref<__u64>(field).store(value, std::memory_order_release);
}

// `size` bytes of a ring from `position` on, in one or two parts. size <= ring.size().
std::array<Bytes, 2> ring_parts(Bytes ring, std::size_t position, std::size_t size) {
  const std::size_t first = std::min(size, ring.size() - position);
  return {ring.subspan(position, first), ring.first(size - first)};
}

}  // namespace

RingCounts& RingCounts::operator+=(const RingCounts& other) {
  bytes += other.bytes;
  records += other.records;
  lost_records += other.lost_records;
  aux_truncated += other.aux_truncated;
  aux_partial += other.aux_partial;
  threads += other.threads;
  processes += other.processes;
  damaged_bytes += other.damaged_bytes;
  return *this;
}

Status DataRing::drain(const Sink& sink) {
  const std::uint64_t head = load_head(page_->data_head);
  if (head - tail_ > data_.size()) {  // not what a kernel does
    counts_.damaged_bytes += head - tail_;
    tail_ = head;
  }
  Status status = drain_until(head, sink);
  tail_ = head;
  store_tail(page_->data_tail, tail_);
  return status;
}

// Walks record by record, and gives the sink the longest stretches that lie in one piece.
Status DataRing::drain_until(std::uint64_t head, const Sink& sink) {
  std::uint64_t start = tail_;  // of the stretch
  std::uint64_t at = tail_;
  const auto flush = [&] { return at == start ? Status() : sink(straight(start, at)); };
  while (at != head) {
    const auto size = record_size(at, head);
    if (!size) {
      counts_.damaged_bytes += head - at;
      break;
    }
    const std::size_t position = at & (data_.size() - 1);
    const auto parts = ring_parts(data_, position, *size);
    if (parts[1].empty()) {
      count(parts[0]);
      at += *size;
      if (position + *size != data_.size()) continue;
      if (auto done = flush(); !done) return done;
    } else {
      if (auto done = flush(); !done) return done;
      joined_.assign(parts[0].begin(), parts[0].end());
      joined_.insert(joined_.end(), parts[1].begin(), parts[1].end());
      count(joined_);
      at += *size;
      if (auto done = sink(joined_); !done) return done;
    }
    start = at;
  }
  return flush();
}

// [from, until) of the stream, which must not wrap around the ring's end.
Bytes DataRing::straight(std::uint64_t from, std::uint64_t until) const {
  return data_.subspan(from & (data_.size() - 1), until - from);
}

// The size of the record at `at`, or nullopt if it is none. Records are multiples of 8 bytes and so
// is the ring, so the 8-byte header never wraps.
std::optional<std::uint64_t> DataRing::record_size(std::uint64_t at, std::uint64_t head) const {
  const std::uint64_t left = head - at;
  const std::size_t position = at & (data_.size() - 1);
  perf_event_header header = {};
  if (left < sizeof header || data_.size() - position < sizeof header) return std::nullopt;
  std::memcpy(&header, data_.data() + position, sizeof header);
  if (header.size < sizeof header || header.size > left) return std::nullopt;
  return header.size;
}

void DataRing::count(Bytes record) {
  counts_.bytes += record.size();
  ++counts_.records;
  ByteReader in(record);
  const auto header = in.read<perf_event_header>();
  if (!header) return;
  switch (header->type) {
    case PERF_RECORD_LOST: {  // u64 id, u64 lost
      const auto body = in.read<std::array<std::uint64_t, 2>>();
      if (body) counts_.lost_records += (*body)[1];
      break;
    }
    case PERF_RECORD_AUX: {  // u64 offset, u64 size, u64 flags
      const auto body = in.read<std::array<std::uint64_t, 3>>();
      if (!body) break;
      counts_.aux_truncated += ((*body)[2] & PERF_AUX_FLAG_TRUNCATED) != 0;
      counts_.aux_partial += ((*body)[2] & PERF_AUX_FLAG_PARTIAL) != 0;
      break;
    }
    case PERF_RECORD_FORK: {  // u32 pid, ppid, tid, ptid
      const auto body = in.read<std::array<std::uint32_t, 4>>();
      if (body) ++((*body)[0] == (*body)[1] ? counts_.threads : counts_.processes);
      break;
    }
    default:
      break;
  }
}

AuxData AuxRing::peek(bool whole_words) const {
  std::uint64_t size = load_head(page_->aux_head) - tail_;
  // More than fits is no kernel's doing; take what can be there.
  size = std::min<std::uint64_t>(size, area_.size());
  if (whole_words) size &= ~std::uint64_t{7};
  return {.offset = tail_, .parts = ring_parts(area_, tail_ & (area_.size() - 1), size)};
}

void AuxRing::release(const AuxData& data) {
  tail_ = data.offset + data.size();
  store_tail(page_->aux_tail, tail_);
}

AuxSnapshot::AuxSnapshot(perf_event_mmap_page* page, Bytes area, std::size_t reference_size)
    : page_(page), area_(area), reference_size_(std::min(reference_size, area.size() / 2)) {}

AuxData AuxSnapshot::take() {
  const std::size_t head = load_head(page_->aux_head) & (area_.size() - 1);
  AuxData data;
  if (lapped(head)) {
    ++laps_;
    // The next stream position that lies at `head` and leaves a gap behind what was taken before.
    const std::uint64_t lap_start = position_ - previous_head_;
    position_ = lap_start + 2 * area_.size() + head;
    data.offset = position_ - area_.size();
    data.parts = ring_parts(area_, head, area_.size());
  } else {
    const std::size_t size = (head - previous_head_) & (area_.size() - 1);
    data.offset = position_;
    data.parts = ring_parts(area_, previous_head_, size);
    position_ += size;
  }
  previous_head_ = head;
  remember(head);
  return data;
}

bool AuxSnapshot::lapped(std::size_t head) const {
  if (position_ < area_.size() && head >= previous_head_) {
    const Bytes behind = area_.subspan(head);
    return std::any_of(behind.begin(), behind.end(), [](std::uint8_t b) { return b != 0; });
  }
  // Unless the writer has lapped, so many bytes before the previous head are still the old ones.
  const std::size_t untouched = (previous_head_ - head) & (area_.size() - 1);
  std::size_t size = reference_.size();
  if (untouched != 0) size = std::min(size, untouched);
  const Bytes then = Bytes(reference_).last(size);
  const auto now = ring_parts(area_, (previous_head_ - size) & (area_.size() - 1), size);
  return !std::equal(now[0].begin(), now[0].end(), then.begin()) ||
         !std::equal(now[1].begin(), now[1].end(), then.subspan(now[0].size()).begin());
}

void AuxSnapshot::remember(std::size_t head) {
  // Before its first lap the writer has left nothing in front of position 0 yet.
  const auto written = std::min<std::uint64_t>(position_, area_.size());
  const std::size_t size = std::min<std::uint64_t>(reference_size_, written);
  const auto parts = ring_parts(area_, (head - size) & (area_.size() - 1), size);
  reference_.assign(parts[0].begin(), parts[0].end());
  reference_.insert(reference_.end(), parts[1].begin(), parts[1].end());
}

}  // namespace hodo::capture
