// The newest bytes of a thread's trace that are not in the file yet: all that a snapshot keeps.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "hodo/relay/protocol.h"

namespace hodo::capture {

class AuxTail {
 public:
  // A place in the thread's trace and its time, as the thread reported it.
  struct Mark {
    relay::MarkRecord place;
    std::uint64_t time = 0;
  };

  // Where the first byte lies in all that the thread traced.
  std::uint64_t begin() const { return begin_; }
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::vector<std::span<const std::uint8_t>> pieces() const;

  void mark(const Mark& mark) { marks_.push_back(mark); }
  // The next mark before `end` (counted as begin() is) that was not taken yet; null if there is
  // none. Those before begin() are forgotten.
  const Mark* next_mark(std::uint64_t end);
  void take_mark() { marks_.pop_front(); }

  // Adds whole packets, records or samples. Of what was there before, whole pieces go as long as
  // `most` bytes are left without them. Gives the number of bytes that went.
  std::uint64_t add(std::span<const std::uint8_t> bytes, std::uint64_t most);
  // Everything is in the file, or bytes of it went there directly.
  void clear() { pass(size_); }
  void pass(std::uint64_t bytes);

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t size_ = 0;
  std::deque<std::vector<std::uint8_t>> pieces_;
  std::deque<Mark> marks_;
};

}  // namespace hodo::capture
