// Where in a recording decoding can begin: so that a question about one moment need not decode what
// came before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/call_store.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"
#include "hodo/base/numbers.h"
#include "hodo/flow/transfers.h"
#include "hodo/session/parts.h"

namespace hodo::ask {

// A function that was entered: as SavedCall, of an address space.
struct Callee {
  std::uint32_t space = 0;
  std::uint64_t entry = 0;
  std::uint64_t ticks = 0;  // when it was for the first time, trace clock
  bool by_call = false;
  bool hidden = false;  // called, and no more is known: it was not traced
  bool first = false;   // known from its middle on
  analyze::SavedCall as_call() const;
};

// How often a callee's calls began and ended in a segment. Those that went on after a jump
// (analyze::OpenCall::goes_on) only end.
struct CalleeCount {
  std::uint32_t callee = 0;  // in Index::callees()
  std::uint64_t opened = 0;
  std::uint64_t closed = 0;
};

// Code by so many bytes: what ran of it in a segment is known by these.
inline constexpr unsigned kGranuleBits = flow::kCodeUnitBits;
struct Granule {
  std::uint32_t space = 0;
  std::uint64_t number = 0;  // address >> kGranuleBits
};

// A stretch of a thread's path, from a checkpoint to the next: what is known at its beginning.
struct Segment {
  ThreadId thread;
  std::uint32_t queue = 0;
  std::optional<flow::Checkpoint> from;  // absent: where the queue begins
  std::uint64_t branches = 0;            // of the thread before it
  std::uint64_t time = 0;                // nanoseconds, of the last of them; 0: unknown
  Branch last;                           // that one; of kind `end` where there is none
  analyze::SavedCalls calls;             // but for the open ones
  std::uint64_t call_before = 0;         // branches that last led into a function,
  std::uint64_t return_before = 0;       // and back from one; 0: none did
  bool lossy = false;                    // something may be lost in it
};

// What is open where a segment begins, by what has changed since the segment before; now and then
// as a whole, so that whoever asks for one need not go back to the first.
struct SegmentChange {
  bool whole = false;                      // all that there is: nothing of before counts
  std::size_t kept = 0;                    // of the calls open at the thread's: the outer ones
  std::vector<analyze::SavedCall> opened;  // and those within them
  // Slots of Following::return_sites() that changed since the one before, of whatever thread; of a
  // whole one, those that are not 0.
  std::vector<std::pair<std::uint32_t, std::uint64_t>> returns;
  bool operator==(const SegmentChange&) const = default;
};

// As Index::Changes reads it.
void write_change(const SegmentChange& change, NumberWriter& out);

// What happens in a segment, PLT stubs left out.
struct Ran {
  std::vector<CalleeCount> callees;     // by number
  std::vector<std::uint32_t> granules;  // that code ran in, by number in Index::granules()
  bool any_granule = false;             // too much ran for that: any
};

class Index {
 public:
  // About one segment for so many bytes of trace; more for a trace that would have too many: who
  // asks for a moment reads where all of them begin, and decodes half a segment.
  static constexpr std::size_t kSpacing = std::size_t{64} << 10;
  static constexpr std::size_t kMostSegments = std::size_t{1} << 13;

  // Decodes the whole recording. Errors: as Session::decode. No segment begins where the index
  // would take more than a tenth of the trace before it and a megabyte. `calls`: where the rows of
  // all but the most frequent functions go, if nothing is lost; null: nowhere.
  static Result<Index> build(session::Session& session, session::Parts& parts, std::size_t spacing,
                             const session::ProgressFunction& progress, CallStore* calls = nullptr);
  // Of Bytes, whose first number it is: another one where they are made, or read, in another way.
  static constexpr std::uint64_t kVersion = 16;
  // What is kept: where segments begin, and what happens in them.
  struct Bytes {
    std::vector<std::uint8_t> starts;
    std::vector<std::uint8_t> ran;
  };
  Bytes write() const;
  // From Bytes, or from what somebody else made up: nullopt if `starts` makes no sense for a
  // recording with so many queues. `ran` is asked for when somebody asks for what happens in
  // segments; if it has nothing, or nothing that makes sense, anything may.
  using RanBytes = std::function<std::optional<std::vector<std::uint8_t>>()>;
  static std::optional<Index> read(std::vector<std::uint8_t> starts, std::size_t queues,
                                   RanBytes ran);
  // Each thread's in the order of its path; threads in the order of walk().
  std::span<const Segment> segments() const { return segments_; }
  // What happens in one of them. This and the three below are read at the first question for any of
  // them, by whatever thread: who looks at one moment needs none.
  const Ran& ran(std::size_t segment) const { return all_ran().segments[segment]; }
  // Those of all segments; with too many, the segments do not say which were called.
  std::span<const Callee> callees() const { return all_ran().callees; }
  bool too_many_callees() const { return all_ran().too_many_callees; }
  std::span<const Granule> granules() const { return all_ran().granules; }
  // The last one of the thread that begins with at most so many branches; kNone if it has none.
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::size_t at(const ThreadId& thread, std::uint64_t branches) const;
  // The changes of segments from a whole one, or the first, on: they are read one behind the other,
  // as they lie there, so that an index of which nobody asks for them is read in no time.
  class Changes {
   public:
    explicit Changes(const Index& index, std::size_t whole = 0);
    // Of the next one; valid until the next call. Nothing, where there is nothing that makes sense.
    const SegmentChange& next();

   private:
    NumberReader in_;
    SegmentChange change_;
  };
  // The last segment up to this one, the first one or of a whole change, from which on the changes
  // say all that is known where this one begins.
  std::size_t whole_before(std::size_t segment) const;
  // What OpenCalls::restore() takes where a segment begins. Puts in place what return_sites() has
  // there, which are all 0.
  analyze::SavedCalls calls_at(std::size_t segment, std::span<std::uint64_t> sites) const;

 private:
  friend class IndexBuilder;
  struct AllRan {
    std::vector<Callee> callees;
    bool too_many_callees = false;
    std::vector<Granule> granules;
    std::vector<Ran> segments;
  };
  struct Unread {
    std::once_flag once;
    RanBytes bytes;
    std::size_t size = 0;
  };
  const AllRan& all_ran() const;
  void find_whole();
  bool read_ran(std::span<const std::uint8_t> bytes) const;
  std::vector<std::uint8_t> write_ran() const;

  std::vector<Segment> segments_;
  std::vector<std::uint8_t> bytes_;        // in which lie
  std::span<const std::uint8_t> changes_;  // those of each of them, as write_change() has them
  // Those that are whole.
  struct Whole {
    std::size_t segment = 0;
    std::size_t offset = 0;  // in changes_
  };
  std::vector<Whole> whole_;
  std::map<ThreadId, std::size_t> first_;  // of each thread
  mutable AllRan ran_;                     // if `unread_` is, once that has been read
  std::unique_ptr<Unread> unread_;         // null: `ran_` is complete
};

// An index with the recording that it is of.
struct IndexedRecording {
  session::Parts* parts = nullptr;
  Index index;
  std::shared_ptr<CallStore> calls = nullptr;  // of this recording; null: nothing is kept
};

// The thread's path from a segment on, as walk() would give it. Ends early once `sink` has had
// enough. Errors: as Parts::decode_part.
Result<session::Outcome> walk_from(const IndexedRecording& recording, std::size_t segment,
                                   ThreadSink& sink);

}  // namespace hodo::ask
