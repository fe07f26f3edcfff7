// Branch records as they lie in an input, for those who look at the trace itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "hodo/hw/bts.h"

namespace hodo::session {

struct Queue;

struct StackEntry {
  std::uint64_t from = 0, to = 0;
  std::uint32_t cycles = 0;  // since the branch before; 0: unknown
  bool mispredicted = false, in_tx = false, abort = false, wrong_path = false;
};

// The branch stack of one sample.
struct BranchStack {
  std::int32_t pid = -1, tid = -1;
  std::int32_t cpu = -1;  // -1: not recorded
  std::optional<std::uint64_t> time;
  std::span<const StackEntry> entries;  // the newest first
};

// Takes the records of one kind that an input has. Views are valid during the call; false stops.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  // The records of this queue follow.
  virtual void queue(std::uint32_t, const Queue&) {}
  // A BTS record at an offset of the queue's stream. Null ones are padding and left out.
  virtual bool record(std::uint64_t, const hw::BtsRecord&) { return true; }
  virtual bool stack(const BranchStack&) { return true; }
};

}  // namespace hodo::session
