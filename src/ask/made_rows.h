// Rows of calls that are kept while an index is made: of all functions but those that are called
// most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "call_rows.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/ask/call_store.h"

namespace hodo::ask {

class MadeRows {
 public:
  // Both must outlive it. `trace`: bytes of the recording's.
  MadeRows(analyze::Following& following, CallStore& store, std::uint64_t trace);

  // Of a call that has ended.
  void add(const CallRow& row, std::uint32_t visit);
  // One that was followed by the decoder, which is told of functions of which no more is kept.
  void add_passed(const CallRow& row, std::uint32_t visit, std::uint32_t callee) {
    if (is_dropped(row.function)) return following_.tell_no_more(callee);
    add(row, visit);
  }
  // So many bytes have been.
  void decoded(std::uint64_t bytes) { limit_ = limit_at(bytes); }
  // How many calls there were of each function, in the whole recording. Of those that not all have
  // been told of no rows are kept.
  void finish(std::span<const std::uint64_t> calls);

 private:
  // As many rows as cost little beside the decoding and the trace: for so many bytes of it one, and
  // these. One takes 4 to 24 bytes, of the tenth of the trace that rows and the index may take.
  static constexpr std::uint64_t kBytesOfTrace = 384;
  static constexpr std::uint64_t kAlways = std::uint64_t{1} << 15;
  // At the beginning there is room for a share of them: what is called most is soon known, and what
  // runs only there is not.
  static constexpr std::uint64_t kFirstShare = 4;
  std::uint64_t limit_at(std::uint64_t bytes) const {
    return std::max(most_ / kFirstShare, kAlways + std::min(bytes, trace_) / kBytesOfTrace);
  }

  bool is_dropped(std::uint32_t function) const {
    return function < dropped_.size() && dropped_[function];
  }
  void drop_most();

  analyze::Following& following_;
  std::uint64_t room_;
  std::uint64_t trace_;                 // bytes
  std::uint64_t most_;                  // rows
  std::uint64_t limit_;                 // rows that there is room for by now
  std::optional<CallRowsWriter> rows_;  // until there is no room for them
  std::uint64_t count_ = 0;
  std::vector<bool> dropped_;             // by function
  std::vector<std::uint32_t> functions_;  // that have rows
};

}  // namespace hodo::ask
