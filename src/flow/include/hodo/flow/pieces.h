// The bytes of a stream, all of them at once or some at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hodo::flow {

// Bytes of one AUX stream without a gap. Neighbours that join without loss are one piece: the
// caller puts them together, since packets may cross the seam.
struct Piece {
  std::span<const std::uint8_t> bytes;
  std::uint64_t offset = 0;  // of bytes[0] in the stream, for messages
  std::uint64_t lost_before =
      0;  // bytes that the recorder lost before this piece (0: unknown number)
  // What is missing before this piece was recorded, and is not what it was: a loss of cause
  // altered.
  bool altered_before = false;
  // More of it follows than these bytes, and a PSB from here on may be cut off by their end:
  // whoever decodes pauses before it.
  static constexpr std::size_t kWhole = ~std::size_t{0};
  std::size_t cut_off_from = kWhole;
};

// A stream that need not lie in memory as a whole.
class PieceSource {
 public:
  // Some of its pieces, in order.
  struct Round {
    std::span<const Piece> pieces;
    bool last = true;  // the stream ends with them; otherwise the last piece may go on
  };

  virtual ~PieceSource() = default;
  // The stream from `offset` on (0: from its beginning), at least `size` bytes of it or all that
  // are left; 0: as many as the source likes. Nothing before `offset` is asked for any more, and
  // the spans of the round before are not used any more.
  virtual Round round(std::uint64_t offset, std::uint64_t size) = 0;
};

// One that does.
class WholeStream final : public PieceSource {
 public:
  explicit WholeStream(std::span<const Piece> pieces) : pieces_(pieces) {}
  Round round(std::uint64_t, std::uint64_t) override { return {.pieces = pieces_}; }

 private:
  std::span<const Piece> pieces_;
};

// Leads through a stream: from piece to piece, and in a long one from PSB to PSB. For each part of
// a piece that next() finds, either pause() or end() is called.
class PieceWalk {
 public:
  enum class Next : std::uint8_t {
    begins,   // a piece
    goes_on,  // the piece that was paused in, where that was
    breaks,   // it does not go on: what followed is not there any more
    nothing,  // that was the stream
  };

  // Of a long stream it asks for so many bytes at a time, or more.
  explicit PieceWalk(PieceSource& source, std::uint64_t at_once = 0)
      : source_(source), at_once_(at_once) {}
  Next next();

  // From where it begins or goes on.
  const Piece& piece() const { return piece_; }
  bool is_first() const { return begun_ == 1; }  // of the stream
  // To pause at the first PSB at or behind this offset in the piece, if that is not its end: some
  // more PSBs lie behind it, so that the one before which to pause is there with its PSB+, and no
  // packet is cut off up to there. Where damage hides these PSBs, piece().cut_off_from is the
  // place.
  std::size_t limit() const { return limit_; }

  // The piece goes on at this offset in it.
  void pause(std::size_t at);
  void end();

 private:
  bool take_piece();
  bool ask();

  PieceSource& source_;
  const std::uint64_t at_once_;
  PieceSource::Round round_{.last = false};
  std::size_t at_ = 0;        // the next piece of the round
  std::size_t begun_ = 0;     // pieces
  bool over_ = false;         // the stream, or nobody wants more of it
  bool paused_ = false;       // in a piece
  std::uint64_t offset_ = 0;  // in the stream: of what the next round has to have
  std::uint64_t size_ = 0;    // of that
  Piece piece_;
  std::size_t limit_ = 0;
  bool goes_on_ = false;  // piece_, in the next round
};

}  // namespace hodo::flow
