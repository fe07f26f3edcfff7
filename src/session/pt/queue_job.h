// What decoding a queue takes, whether it is decoded by itself or beside others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "hodo/flow/pieces.h"
#include "hodo/session/session.h"
#include "stream/occupancy.h"
#include "stream/queue_sink.h"
#include "stream/trace_reader.h"

namespace hodo::session {

// An input with Intel PT packets.
class PtInput {
 public:
  virtual ~PtInput() = default;
  // Success where the input has a trace that can be decoded.
  virtual Status decodable() const { return {}; }
  // The newest part of a longer trace, as was asked for: that it begins between two PSBs is no
  // loss.
  virtual bool snapshot() const { return false; }
  // The trace of a queue, as far as it is in `range`. The input outlives it.
  virtual std::unique_ptr<TraceReader> trace_of(std::size_t queue, StreamRange range) = 0;
  virtual Occupancy occupancy(std::size_t queue) = 0;
  // The code that the queue's occupants see; `occupancy` outlives it.
  virtual std::unique_ptr<image::CodeSource> code(std::size_t queue,
                                                  const Occupancy& occupancy) = 0;
  virtual flow::Config config(std::size_t queue, const Occupancy& occupancy) = 0;
  virtual std::optional<Explanation> explain(const Context& who, const flow::Loss& loss) = 0;
};

// Where the bytes of a queue's stream lie in it.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t first_end = 0;  // of those before the first gap
  std::uint64_t end = 0;
};
Extent extent_of(std::span<const Part> parts);

// One queue in work.
struct QueueJob {
  std::size_t index;
  Context who;
  const Occupancy& occupancy;
  flow::PieceSource& stream;
  Extent extent;
  flow::Stats& stats;
  LossTally& losses;
  // Tells the user that the queue is done up to an offset of its stream. False: stop.
  std::function<bool(std::uint64_t)> progress;
};

// Whether a task that the user selected may be among the queue's.
bool is_wanted(const Occupancy& occupancy, const Selection& selection);
// Who ran, as far as that is the same for all of the queue.
Context context_of(std::size_t index, const Queue& queue, const Occupancy& occupancy);
// Both must outlive the listener.
QueueListener listener_of(PtInput& input, const QueueJob& job, const Selection& selection);
// How far the queue is done, when its stream is up to `offset`.
std::uint64_t done_of(const Queue& queue, const Extent& extent, std::uint64_t offset);

}  // namespace hodo::session
