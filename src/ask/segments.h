// Walking along some of an index's segments and not along others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/index.h"
#include "hodo/ask/walk.h"

namespace hodo::ask {

// Numbers one thread's branches from some place on.
class Numbered final : public session::BranchSink {
 public:
  Numbered(std::uint64_t before, ThreadSink& sink) : count_(before), sink_(sink) {}
  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    const std::uint64_t first = count_ + 1;
    count_ +=
        batch.size() - static_cast<std::size_t>(std::ranges::count_if(
                           batch, [](const Branch& b) { return (b.flags & kNotTaken) != 0; }));
    more_ = more_ && sink_.branches(who, first, batch);
    return more_;
  }
  bool more() const { return more_; }

 private:
  std::uint64_t count_;
  ThreadSink& sink_;
  bool more_ = true;
};

// Behind the last of at most `most` segments from `first` on that are one stretch of a queue.
std::size_t end_of_run(std::span<const Segment> segments, std::size_t first, std::size_t most);

// The thread's next one; segments.size() if there is none.
std::size_t next_of_thread(std::span<const Segment> segments, std::size_t segment);

// What the decoding of several parts comes to.
class PartsOutcome {
 public:
  // The segments [first, end), of one queue. Errors: as Parts::decode_part.
  Status decode(const IndexedRecording& recording, std::size_t first, std::size_t end,
                const session::DecodeOptions& options, session::BranchSink& sink);
  session::Outcome take();

 private:
  std::optional<session::Outcome> all_;
  session::LossTally losses_;
};

// Goes over an index's segments, in order as far as possible, and knows what is open where one
// begins.
class IndexCursor {
 public:
  explicit IndexCursor(const Index& index) : index_(index), changes_(index) {}

  void move_to(std::size_t segment);
  // What OpenCalls::restore() takes there.
  analyze::SavedCalls calls() const;
  // `sites` are as they were where the last segments ended that were walked along, which is where
  // segment `walked` begins (Index::kNone: there were none); makes them those of here.
  void put_returns(std::size_t walked, std::span<std::uint64_t> sites) const;

 private:
  // Where a return went before a segment.
  struct Return {
    std::size_t segment = 0;
    std::uint32_t slot = 0;
    std::uint64_t address = 0;
  };

  const Index& index_;
  Index::Changes changes_;
  std::size_t begin_ = 0;        // all from here
  std::size_t next_ = 0;         // up to there have been read
  std::size_t whole_ = 0;        // the last segment whose change is
  std::vector<Return> returns_;  // since that one
  std::map<ThreadId, std::vector<analyze::SavedCall>> open_;
};

// A place on a thread's path behind others that were left out.
struct SegmentStart {
  const Segment& segment;
  const IndexCursor& cursor;
  std::size_t walked;  // IndexCursor::put_returns
};

class SegmentSink : public ThreadSink {
 public:
  // The thread's next branches are those from here on.
  virtual void begin_at(const SegmentStart& start) = 0;
};

// Along the segments that are named, in order, as walk() does with all of them. Errors: as
// Parts::decode_part.
Result<session::Outcome> walk_segments(const IndexedRecording& recording,
                                       std::span<const std::size_t> chosen,
                                       const WalkOptions& options, SegmentSink& sink);

}  // namespace hodo::ask
