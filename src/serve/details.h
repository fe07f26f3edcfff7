// Parts of a recording decoded anew, where its overview is too coarse.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "overview.h"

namespace hodo::serve {

// Segments of a thread, the last one included.
struct SegmentRange {
  std::size_t first = 0;
  std::size_t last = 0;
  bool operator==(const SegmentRange&) const = default;
};

struct Detail {
  Lane lane;  // calls that begin or end outside of it are whole where that is known, else open
  std::vector<SliceName> names;
  Grain grain;
};

class Details {
 public:
  // So many segments at once; what is longer is left to the overview.
  static constexpr std::size_t kMostSegments = 16;

  explicit Details(session::Session& session);

  // Those that a range touches; nullopt: more than kMostSegments, or the thread has none.
  static std::optional<SegmentRange> segments_of(const ask::Index& index,
                                                 const ask::ThreadId& thread, const Range& range);
  // Lives until the next call of this. Errors: as ask::walk_from.
  Result<const Detail*> at(const ask::IndexedRecording& recording, const SegmentRange& segments,
                           const Overview& overview);

 private:
  static constexpr std::size_t kMostKept = 16;
  Result<Detail> decode(const ask::IndexedRecording& recording, const SegmentRange& segments);

  session::Session& session_;
  analyze::Following following_;
  std::list<std::pair<SegmentRange, Detail>> kept_;  // the last one used comes first
};

// The stacks of a part of the path, thread by thread: as Overview::lanes, without slices.
struct PartStacks {
  std::vector<Lane> lanes;
  std::vector<SliceName> names;
  std::vector<session::LossLine> losses;
};
// Decodes no more than it must where there is an index. Errors: as ask::walk.
Result<PartStacks> stacks_of(session::Session& session, const ask::WalkOptions& walk,
                             const ask::IndexedRecording* index,
                             const std::optional<ask::ThreadId>& thread, const Range& range);

}  // namespace hodo::serve
