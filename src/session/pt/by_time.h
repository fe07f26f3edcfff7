// Queues decoded side by side, their branches merged by time as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "queue_job.h"

namespace hodo::session {

// One run of decode_by_time() (time_order.h) over an input with Intel PT packets. A queue is put
// together and begun when the others have come to its first time, and let go when it is done: those
// in work hold a decoder and some hundred KiB of branches each.
class ByTime {
 public:
  // More would be more than memory should have to hold.
  static constexpr std::size_t kMostQueues = 256;

  // All must outlive this.
  ByTime(const Session& session, PtInput& input, const DecodeOptions& options);
  ~ByTime();

  // That were selected.
  std::size_t queues() const { return streams_.size(); }
  Result<Outcome> decode(BranchSink& sink);

 private:
  struct Code;
  struct Stream;
  struct Turn;

  std::shared_ptr<Code> code_for(const Stream& stream);
  std::uint64_t first_time(const Stream& stream);
  void open(Stream& stream);
  bool refill(Stream& stream);
  bool progress(Stream& stream, std::uint64_t offset);
  Outcome outcome() const;

  const Session& session_;
  PtInput& input_;
  const DecodeOptions& options_;
  std::vector<std::unique_ptr<Stream>> streams_;        // in the order of their queues
  std::map<std::uint32_t, std::weak_ptr<Code>> codes_;  // by space, of threads
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  bool stopped_ = false;  // by options_.progress
  Status status_;         // of reading the queues
};

}  // namespace hodo::session
