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

// Where a row of such bytes begins, the first PSB of it may be.
std::size_t begin_of_row(std::span<const std::uint8_t> bytes, std::size_t psb) {
  while (psb >= 2 && bytes[psb - 2] == kPsb[0] && bytes[psb - 1] == kPsb[1]) psb -= 2;
  return psb;
}

struct Places {
  std::size_t to_pause = 0;  // 0: nowhere but at the beginning
  std::size_t last = 0;      // of the last PSB, not before that
};
Places places_in(std::span<const std::uint8_t> bytes) {
  Places out;
  int behind = 0;
  for (std::size_t end = bytes.size(); end > kPsb.size();) {
    const std::size_t at = end - kPsb.size();
    if (!std::ranges::equal(bytes.subspan(at, kPsb.size()), kPsb)) {
      --end;
      continue;
    }
    const std::size_t begin = begin_of_row(bytes, at);
    if (behind == 0) out.last = begin;
    if (behind++ == kPsbsBehind) {
      out.to_pause = begin;
      return out;
    }
    end = begin;
  }
  return out;
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
  const Places places = goes_on_ ? places_in(next.bytes) : Places{};
  limit_ = goes_on_ ? places.to_pause : next.bytes.size();
  if (goes_on_ && limit_ == 0) {
    offset_ = next.offset;
    size_ = std::max<std::uint64_t>({size_, next.bytes.size(), 1});
    at_ = round_.pieces.size();
    return false;
  }
  piece_ = next;
  if (goes_on_) piece_.cut_off_from = places.last;
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
