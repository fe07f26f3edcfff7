// A decoder led through a stream, whose long pieces come in several rounds.
#pragma once

#include "hodo/flow/pieces.h"
#include "output.h"
#include "path_decoder.h"

namespace hodo::flow {

class Course {
 public:
  // All must outlive it. `at_once` as PieceWalk has it.
  Course(PieceSource& stream, PathDecoder& decoder, Output& out, std::uint64_t at_once = 0)
      : walk_(stream, at_once), decoder_(decoder), out_(out) {}

  // The decoder has begun the next piece, or gone on where it paused in one. False: the stream is
  // at its end.
  bool next();
  // What the decoder is in, and where it is to pause (PieceWalk).
  const Piece& piece() const { return walk_.piece(); }
  bool begins() const { return begins_; }  // the piece, otherwise it goes on
  std::size_t limit() const { return walk_.limit(); }
  // It has paused there (or, false, the piece is at its end): called after each next().
  void done(bool paused);

 private:
  void go_on();

  PieceWalk walk_;
  bool begins_ = false;
  PathDecoder& decoder_;
  Output& out_;
};

}  // namespace hodo::flow
