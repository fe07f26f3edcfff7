// Streams decoded side by side, a little of each at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "hodo/flow/decoder.h"

namespace hodo::flow {

// What is learned of some code, by all streams that ran it.
class SharedCode {
 public:
  // `code` must outlive this and never change its answers.
  explicit SharedCode(const image::CodeSource& code);
  ~SharedCode();
  SharedCode(SharedCode&& other) noexcept;
  SharedCode& operator=(SharedCode&& other) noexcept;

 private:
  friend class Slices;
  struct Knowledge;
  std::unique_ptr<Knowledge> knowledge_;
};

// One stream, of which the sink is told what Decoder::decode would say, slice by slice. Streams
// over the same code take turns in any order, all with the same Config::want_not_taken. One thread.
class Slices {
 public:
  // `code`, `stream` and `sink` must outlive this. Config::threads and want_instructions are of
  // no account.
  Slices(SharedCode& code, const Config& config, PieceSource& stream, BranchSink& sink);
  ~Slices();
  Slices(Slices&& other) noexcept;
  Slices& operator=(Slices&& other) noexcept;

  // Decodes on, to the first PSB that lies so many bytes further, or to the end of a piece. False:
  // that was the stream's end.
  bool advance(std::size_t bytes);
  // Of all that was decoded.
  const Stats& stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hodo::flow
