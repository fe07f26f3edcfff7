// A queue's trace, of which only a little has to be in memory at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/pieces.h"
#include "queue_bytes.h"
#include "queue_job.h"

namespace hodo::session {

// Reads as a decoder comes along.
class QueueStream final : public flow::PieceSource {
 public:
  static constexpr std::uint64_t kRound = QueueBytes::kInMemory;

  // `round`: bytes to read at once. The input must outlive this.
  QueueStream(PtInput& input, std::size_t queue, std::uint64_t round = kRound);

  const Extent& extent() const { return extent_; }
  Round round(std::uint64_t offset, std::uint64_t size) override;
  // As QueueBytes.
  void done(std::uint64_t offset);
  // Where it could not be read to its end: why. Errors as QueueBytes'.
  const Status& status() const { return status_; }

 private:
  PtInput& input_;
  const std::size_t queue_;
  const std::uint64_t round_;
  Extent extent_;
  std::optional<QueueBytes> bytes_;
  std::vector<std::uint8_t> room_;  // of the round before
  Status status_;
};

}  // namespace hodo::session
