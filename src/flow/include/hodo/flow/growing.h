// The flow decoder for a stream that is still being written.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hodo/flow/decoder.h"

namespace hodo::flow {

// Says what Decoder::decode would say of the same pieces, as soon as the bytes are there, but for
// the branches that the last bytes do not settle yet. How far a loss reaches, and the words for it,
// are those of when it is found. One thread.
//
// At a PSB a decoder can pause and go on. What lies behind the last one is decoded at once too, and
// again with the bytes that follow; what was told of it is not told twice. So at most one PSB
// period is decoded again each time, and that many bytes are kept.
//
// All sinks between one replace() and the next either judge, and alike, or do not.
class GrowingDecoder {
 public:
  // `code` must outlive the decoder, or be replaced.
  GrowingDecoder(const image::CodeSource& code, const Config& config);
  ~GrowingDecoder();
  GrowingDecoder(GrowingDecoder&& other) noexcept;
  GrowingDecoder& operator=(GrowingDecoder&& other) noexcept;

  // More is known of the code from here on: for all addresses and times that were decoded, `code`
  // answers as the one before did. What was learned about the code is forgotten.
  void replace(const image::CodeSource& code, const Config& config);

  // The next bytes. `offset` is theirs in the stream; where it is not the end of those before, or
  // `after_loss`, bytes are missing between them, as in Piece.
  void add(const Piece& piece, bool after_loss, BranchSink& sink);
  // As far as the bytes lead for sure.
  void decode(BranchSink& sink);
  // No bytes follow.
  void end(BranchSink& sink);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hodo::flow
