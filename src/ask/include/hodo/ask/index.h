// Where in a recording decoding can begin: so that a question about one moment need not decode what
// came before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"
#include "hodo/session/parts.h"

namespace hodo::ask {

// An open call, and the instructions that its thread had executed since the branch before when it
// made it.
struct IndexedCall {
  analyze::SavedCall call;
  std::uint64_t site = 0;
};

// A stretch of a thread's path, from a checkpoint to the next: what is known at its beginning.
struct Segment {
  ThreadId thread;
  std::uint32_t queue = 0;
  std::optional<flow::Checkpoint> from;  // absent: where the queue begins
  std::uint64_t branches = 0;            // of the thread before it
  std::uint64_t time = 0;                // nanoseconds, of the last of them; 0: unknown
  analyze::SavedCalls calls;             // but for the open ones
  std::size_t kept = 0;                  // of those open at the segment before: the outer ones
  std::vector<IndexedCall> opened;       // and those within them
  std::uint64_t call_before = 0;         // branches that last led into a function,
  std::uint64_t return_before = 0;       // and back from one; 0: none did
  std::uint64_t last_loss = 0;
  // Slots of Following::return_sites() that changed since the segment before, of whatever thread.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> returns;
};

class Index {
 public:
  // About one segment for so many bytes of trace; more for a trace that would have too many.
  static constexpr std::size_t kSpacing = std::size_t{256} << 10;
  static constexpr std::size_t kMostSegments = std::size_t{1} << 15;

  // Decodes the whole recording. Errors: as Session::decode. No segment begins where the index
  // would take more than a tenth of the trace before it and a megabyte.
  static Result<Index> build(session::Session& session, session::Parts& parts, std::size_t spacing,
                             const session::ProgressFunction& progress);
  // From write(), or from what somebody else made up: nullopt if it makes no sense for a recording
  // with so many queues.
  static std::optional<Index> read(std::span<const std::uint8_t> bytes, std::size_t queues);
  std::vector<std::uint8_t> write() const;

  // Each thread's in the order of its path; threads in the order of walk().
  std::span<const Segment> segments() const { return segments_; }
  // The last one of the thread that begins with at most so many branches; kNone if it has none.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t at(const ThreadId& thread, std::uint64_t branches) const;
  // The calls that are open where a segment begins.
  std::vector<IndexedCall> open_at(std::size_t segment) const;
  // Puts in place what return_sites() has there.
  void returns_at(std::size_t segment, std::span<std::uint64_t> sites) const;

 private:
  friend class IndexBuilder;
  std::vector<Segment> segments_;
};

// An index with the recording that it is of.
struct IndexedRecording {
  session::Parts* parts = nullptr;
  Index index;
};

// The thread's path from a segment on, as walk() would give it. Ends early once `sink` has had
// enough. Errors: as Parts::decode_part.
Result<session::Outcome> walk_from(const IndexedRecording& recording, std::size_t segment,
                                   ThreadSink& sink);

}  // namespace hodo::ask
