// Places in a stream from which decoding can go on without what came before them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "hodo/flow/decoder.h"

namespace hodo::flow {

// A PSB, and all that a decoder knows there which the PSB+ does not say.
struct Checkpoint {
  static constexpr std::size_t kWords = 19;

  std::uint64_t offset = 0;                   // of the PSB in the stream
  std::array<std::uint64_t, kWords> state{};  // the decoder's
};

class CheckpointSink : public BranchSink {
 public:
  // What was told before is all that lies before it.
  virtual void on_checkpoint(const Checkpoint& checkpoint) = 0;
};

// Decodes as Decoder does and notes where it could go on; or goes on there. What it learns about
// the code is kept from call to call.
class PartDecoder {
 public:
  // As Decoder's.
  PartDecoder(const image::CodeSource& code, const Config& config);
  ~PartDecoder();

  // A stream, with a checkpoint at the first PSB behind every `spacing` bytes, and one where a
  // round ends. Where these are does not depend on Config::threads.
  Stats decode(PieceSource& stream, std::size_t spacing, CheckpointSink& sink);

  // What Decoder would tell of the stream from `checkpoint` (null: its beginning) to the first PSB
  // at or behind offset `until`, or to its end. The first piece begins with that PSB, and the bytes
  // reach kBehind bytes past `until`, as far as there are any. False, and nothing is told: it is no
  // checkpoint of this stream. Numbers of `stats` are those of the part.
  static constexpr std::size_t kBehind = 4096;
  bool decode_part(const Checkpoint* checkpoint, std::span<const Piece> pieces, std::uint64_t until,
                   BranchSink& sink, Stats& stats);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hodo::flow
