// The kernel's side of the data ring and the AUX area, over plain memory, in the kernel's order:
// bytes first, then the head; never past the tail. One thread may write while another reads.
#pragma once

#include <linux/perf_event.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace hodo::capture {

using ByteVector = std::vector<std::uint8_t>;

template <class T>
void append(ByteVector& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

// A record: header and body, padded to 8 bytes.
inline ByteVector make_record(std::uint32_t type, const ByteVector& body, std::uint16_t misc = 0) {
  ByteVector out;
  const std::size_t size = (sizeof(perf_event_header) + body.size() + 7) & ~std::size_t{7};
  append(out, perf_event_header{type, misc, static_cast<std::uint16_t>(size)});
  out.insert(out.end(), body.begin(), body.end());
  out.resize(size);
  return out;
}

// Writes into a ring of bytes that somebody else owns.
class RingWriter {
 public:
  RingWriter(__u64* head, __u64* tail, std::span<std::uint8_t> ring)
      : head_field_(head), tail_field_(tail), ring_(ring) {}

  // False, and nothing written, if there is no room.
  bool write(std::span<const std::uint8_t> bytes) {
    const std::uint64_t tail = std::atomic_ref(*tail_field_).load(std::memory_order_acquire);
    if (bytes.size() > ring_.size() - (head_ - tail)) return false;
    put(bytes);
    std::atomic_ref(*head_field_).store(head_, std::memory_order_release);
    return true;
  }
  // As the hardware in overwrite mode: no regard for the tail, the head is a position in the ring.
  void overwrite(std::span<const std::uint8_t> bytes) {
    put(bytes);
    std::atomic_ref(*head_field_).store(head_ % ring_.size(), std::memory_order_release);
  }
  std::uint64_t head() const { return head_; }

 private:
  void put(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) ring_[head_++ % ring_.size()] = byte;
  }

  __u64* head_field_;
  __u64* tail_field_;
  std::span<std::uint8_t> ring_;
  std::uint64_t head_ = 0;
};

}  // namespace hodo::capture
