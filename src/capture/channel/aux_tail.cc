#include "aux_tail.h"

namespace hodo::capture {

std::vector<std::span<const std::uint8_t>> AuxTail::pieces() const {
  return {pieces_.begin(), pieces_.end()};
}

const AuxTail::Mark* AuxTail::next_mark(std::uint64_t end) {
  while (!marks_.empty() && marks_.front().place.position < begin_) marks_.pop_front();
  if (marks_.empty() || marks_.front().place.position >= end) return nullptr;
  return &marks_.front();
}

std::uint64_t AuxTail::add(std::span<const std::uint8_t> bytes, std::uint64_t most) {
  pieces_.emplace_back(bytes.begin(), bytes.end());
  size_ += bytes.size();
  const std::uint64_t before = begin_;
  while (size_ - pieces_.front().size() >= most) pass(pieces_.front().size());
  // Threads that jump about send a mark for each piece of new code.
  static_cast<void>(next_mark(begin_));
  return begin_ - before;
}

void AuxTail::pass(std::uint64_t bytes) {
  begin_ += bytes;
  while (size_ != 0 && bytes >= pieces_.front().size()) {
    bytes -= pieces_.front().size();
    size_ -= pieces_.front().size();
    pieces_.pop_front();
  }
}

}  // namespace hodo::capture
