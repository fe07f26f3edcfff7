#include "hodo/flow/pieces.h"

#include <algorithm>
#include <array>
#include <limits>

namespace hodo::flow {
namespace {

// A PSB (SDM vol. 3, "Packet Stream Boundary").
constexpr std::array<std::uint8_t, 16> kPsb{2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                            2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
// Behind the one to pause at: that a row of 02 82 is taken for a PSB a little too early does no
// harm.
constexpr int kPsbsBehind = 2;

// 0: nowhere but at the beginning.
std::size_t place_to_pause(std::span<const std::uint8_t> bytes) {
  int behind = 0;
  for (std::size_t end = bytes.size(); end > kPsb.size();) {
    const std::size_t at = end - kPsb.size();
    if (!std::ranges::equal(bytes.subspan(at, kPsb.size()), kPsb)) {
      --end;
      continue;
    }
    if (behind++ == kPsbsBehind) return at;
    end = at;
  }
  return 0;
}

}  // namespace

PieceWalk::Next PieceWalk::next() {
  while (!over_) {
    if (take_piece()) {
      if (paused_) return Next::goes_on;
      ++begun_;
      return Next::begins;
    }
    if (!ask()) return Next::breaks;
  }
  return Next::nothing;
}

// False: more of the stream is needed, or there is none.
bool PieceWalk::take_piece() {
  if (at_ == round_.pieces.size()) {
    over_ = round_.last;
    return false;
  }
  const Piece& next = round_.pieces[at_];
  goes_on_ = !round_.last && at_ + 1 == round_.pieces.size();
  limit_ = goes_on_ ? place_to_pause(next.bytes) : next.bytes.size();
  if (goes_on_ && limit_ == 0) {
    offset_ = next.offset;
    size_ = std::max<std::uint64_t>({size_, next.bytes.size(), 1});
    at_ = round_.pieces.size();
    return false;
  }
  piece_ = next;
  ++at_;
  size_ = 0;
  return true;
}

// False: the piece that was paused in does not go on.
bool PieceWalk::ask() {
  if (over_) return true;
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max() / 2;
  // What was not enough before: more.
  size_ = std::min(size_, kMost) * 2;
  round_ = source_.round(offset_, std::max(size_, at_once_));
  at_ = 0;
  if (round_.pieces.empty() && !round_.last) size_ = std::max<std::uint64_t>(size_, 1);
  if (!paused_ || (!round_.pieces.empty() && round_.pieces[0].offset == offset_)) return true;
  paused_ = false;
  return false;
}

void PieceWalk::pause(std::size_t at) {
  paused_ = true;
  offset_ = piece_.offset + at;
}

void PieceWalk::end() {
  paused_ = false;
  if (goes_on_) over_ = true;
}

}  // namespace hodo::flow
