// A stream whose bytes come a few at a time, each time in other memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "hodo/flow/pieces.h"

namespace hodo::flow::ways {

class InRounds final : public PieceSource {
 public:
  // In some fifty rounds, or fewer. Of pieces that do not lie one behind the other nobody could say
  // where they go on: those come together.
  explicit InRounds(std::span<const Piece> pieces)
      : whole_(pieces), bytes_(lie_in_order(pieces) ? of_round(pieces) : ~std::uint64_t{0}) {}

  Round round(std::uint64_t offset, std::uint64_t size) override {
    const std::vector<std::vector<std::uint8_t>> before = std::exchange(memory_, {});
    pieces_.clear();
    std::uint64_t left = std::max(size, bytes_);
    bool last = true;
    for (const Piece& piece : whole_) {
      if (offset != 0 && piece.offset + piece.bytes.size() <= offset) continue;
      if (left == 0) last = false;
      if (!last) break;
      const std::uint64_t skip = offset - std::min(offset, piece.offset);
      const std::uint64_t rest = piece.bytes.size() - skip;
      last = rest <= left;
      add(piece, skip, std::min(rest, left));
      left -= std::min(rest, left);
    }
    return {.pieces = pieces_, .last = last};
  }

 private:
  static std::uint64_t of_round(std::span<const Piece> pieces) {
    std::uint64_t bytes = 0;
    for (const Piece& piece : pieces) bytes += piece.bytes.size();
    return std::max<std::uint64_t>(bytes / 50, 100);
  }
  static bool lie_in_order(std::span<const Piece> pieces) {
    const auto ends_behind = [](const Piece& a, const Piece& b) {
      return a.offset + a.bytes.size() > b.offset;
    };
    return std::ranges::adjacent_find(pieces, ends_behind) == pieces.end();
  }

  void add(const Piece& of, std::uint64_t skip, std::uint64_t size) {
    const auto bytes =
        of.bytes.subspan(static_cast<std::size_t>(skip), static_cast<std::size_t>(size));
    memory_.emplace_back(bytes.begin(), bytes.end());
    Piece piece{.bytes = memory_.back(), .offset = of.offset + skip};
    if (skip == 0) {
      piece.lost_before = of.lost_before;
      piece.altered_before = of.altered_before;
    }
    pieces_.push_back(piece);
  }

  std::span<const Piece> whole_;
  std::uint64_t bytes_;
  std::vector<std::vector<std::uint8_t>> memory_;
  std::vector<Piece> pieces_;
};

}  // namespace hodo::flow::ways
