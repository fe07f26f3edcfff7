// The trace of a perf.data file's queue, held against the file's sums as it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "hodo/perfdata/model.h"
#include "hodo/perfdata/sums.h"
#include "trace_reader.h"

namespace hodo::session {

class CheckedTrace final : public TraceReader {
 public:
  // What of the queue is in `range`. Both must outlive this.
  CheckedTrace(const perfdata::Reader& file, const perfdata::AuxQueue& queue, StreamRange range);

  std::span<const Part> parts() const override { return parts_; }
  Status read(std::uint64_t offset, std::span<std::uint8_t> out) override;
  Result<std::vector<Part>> unaltered() override;

 private:
  Status check(std::span<const std::uint8_t> bytes);
  perfdata::Stretch wanted_of(const perfdata::AuxPiece& piece) const;
  void go_to_next_piece();

  const perfdata::Reader& file_;
  const perfdata::AuxQueue& queue_;
  StreamRange range_;
  std::vector<Part> parts_;

  std::size_t piece_ = 0;   // that is being read
  std::uint64_t left_ = 0;  // bytes of it that are still to come
  std::optional<perfdata::SumCheck> check_;
  std::map<std::size_t, std::vector<perfdata::Stretch>> altered_;  // by piece
};

// The parts of a queue without what is not as it was recorded. Reads all of it. Errors: io,
// truncated.
Result<std::vector<Part>> unaltered_parts(const perfdata::Reader& file,
                                          const perfdata::AuxQueue& queue);

}  // namespace hodo::session
