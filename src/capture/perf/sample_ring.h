// The newest samples of a processor, for recordings that keep only those.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/perfdata/writer.h"

namespace hodo::capture {

// How many bytes of `records`, whole ones, are samples.
std::uint64_t sample_bytes(std::span<const std::uint8_t> records);

class SampleRing {
 public:
  // Keeps up to `capacity` bytes of samples; older ones go.
  explicit SampleRing(std::size_t capacity = 0) : capacity_(capacity) {}

  // Keeps the samples among whole records and writes the others, which the samples need to be
  // understood. Errors: those of Writer.
  Status take(std::span<const std::uint8_t> records, perfdata::Writer& writer);
  // Writes what is kept, oldest first, and forgets it.
  Status write(perfdata::Writer& writer);

 private:
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::deque<std::vector<std::uint8_t>> samples_;
};

}  // namespace hodo::capture
