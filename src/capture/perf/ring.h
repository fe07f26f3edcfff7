// Readers of the two rings that a perf event shares with the kernel
// (include/uapi/linux/perf_event.h, struct perf_event_mmap_page; kernel/events/ring_buffer.c): the
// data ring with records, and the AUX area with trace bytes. They work on plain memory and know no
// system calls.
//
// The protocol: the writer stores bytes, then the head; the reader loads the head (acquire), reads
// the bytes, then stores the tail (release), after which the writer may reuse the room. Heads and
// tails count bytes since the start and never wrap in practice; positions are head % size.
//
// Not thread-safe among readers; exactly one reader per ring.
#pragma once

#include <linux/perf_event.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::capture {

// What has gone through a data ring, and what is known to be missing.
struct RingCounts {
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
  std::uint64_t lost_records = 0;   // PERF_RECORD_LOST: the ring was full
  std::uint64_t aux_truncated = 0;  // PERF_RECORD_AUX with PERF_AUX_FLAG_TRUNCATED: trace was lost
  std::uint64_t aux_partial = 0;    // PERF_AUX_FLAG_PARTIAL: gaps in the trace (KVM was running)
  std::uint64_t threads = 0;        // FORK records of new threads ...
  std::uint64_t processes = 0;      // ... and of new processes
  std::uint64_t damaged_bytes = 0;  // where the ring broke its own format
  RingCounts& operator+=(const RingCounts& other);
};

class DataRing {
 public:
  // Receives whole records, one or more; the bytes are valid during the call only.
  using Sink = std::function<Status(std::span<const std::uint8_t>)>;

  DataRing() = default;
  // `page` and `data` (a power of two in size, at least 8) must outlive the ring.
  DataRing(perf_event_mmap_page* page, std::span<const std::uint8_t> data)
      : page_(page), data_(data) {}

  // Hands all records that are there to `sink`, then frees their room. A record that wraps around
  // the ring's end is joined first. Returns the sink's first error; the room is freed even then.
  Status drain(const Sink& sink);

  const RingCounts& counts() const { return counts_; }

 private:
  std::span<const std::uint8_t> straight(std::uint64_t from, std::uint64_t until) const;
  std::optional<std::uint64_t> record_size(std::uint64_t at, std::uint64_t head) const;
  void count(std::span<const std::uint8_t> record);
  Status drain_until(std::uint64_t head, const Sink& sink);

  perf_event_mmap_page* page_ = nullptr;
  std::span<const std::uint8_t> data_;
  std::uint64_t tail_ = 0;
  std::vector<std::uint8_t> joined_;  // one record that wraps; at most 64 KiB
  RingCounts counts_;
};

// A stretch of trace bytes where they lie in the AUX area: two parts when it wraps.
struct AuxData {
  std::uint64_t offset = 0;  // of the first byte in the stream of all bytes of this buffer
  std::array<std::span<const std::uint8_t>, 2> parts;
  std::uint64_t size() const { return parts[0].size() + parts[1].size(); }
};

// The AUX area in full-trace mode: mapped writable, the kernel stops tracing when it is full.
class AuxRing {
 public:
  AuxRing() = default;
  AuxRing(perf_event_mmap_page* page, std::span<const std::uint8_t> area)
      : page_(page), area_(area) {}

  // What has been traced and not released yet. With `whole_words` only a multiple of 8 bytes, so
  // that a file format that pads to 8 gets no padding in the middle of a packet; the rest stays for
  // the next call. Valid until release().
  AuxData peek(bool whole_words) const;
  // Gives the room of `data` (from the last peek) back to the kernel.
  void release(const AuxData& data);

 private:
  perf_event_mmap_page* page_ = nullptr;
  std::span<const std::uint8_t> area_;
  std::uint64_t tail_ = 0;
};

// The AUX area in overwrite mode: mapped read-only, the newest bytes replace the oldest. Here
// aux_head is no running count but a position in the area (pt.c, pt_update_head), so that one
// cannot tell from it how often the writer has been around; the bytes must say:
// - before its first lap the kernel's zeroes are still there behind the head;
// - later, if the bytes just before the previous head are still those of last time, the writer has
//   not been there again.
class AuxSnapshot {
 public:
  // `reference_size`: how many bytes before the head are remembered; should span a PSB with its
  // time stamp (two PSB periods), or equal bytes could be mistaken for old ones. At most half the
  // area is used.
  AuxSnapshot() = default;
  AuxSnapshot(perf_event_mmap_page* page, std::span<const std::uint8_t> area,
              std::size_t reference_size);

  // The newest part of the trace that no earlier take() returned: all that is new, or the whole
  // area if the writer has lapped it. Offsets jump over a gap of unknown size when bytes may have
  // been overwritten unseen, and are otherwise contiguous. The event must be disabled meanwhile,
  // and the data is valid until it is enabled again.
  AuxData take();

  // How many takes found that the oldest bytes may have been overwritten unseen.
  std::uint64_t laps() const { return laps_; }

 private:
  bool lapped(std::size_t head) const;
  void remember(std::size_t head);

  perf_event_mmap_page* page_ = nullptr;
  std::span<const std::uint8_t> area_;
  std::size_t reference_size_ = 0;
  std::vector<std::uint8_t> reference_;  // the bytes before previous_head_, oldest first
  std::size_t previous_head_ = 0;        // position in the area
  std::uint64_t position_ = 0;           // the same in the stream
  std::uint64_t laps_ = 0;
};

}  // namespace hodo::capture
