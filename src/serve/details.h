// Parts of a recording decoded anew, where its overview is too coarse.
#pragma once

#include <functional>
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
};

class Details {
 public:
  // So many segments at once; what is longer is left to the overview.
  static constexpr std::size_t kMostSegments = 16;

  explicit Details(session::Session& session);

  // Those that a range touches; nullopt: more than kMostSegments, or the thread has none.
  static std::optional<SegmentRange> segments_of(const ask::Index& index,
                                                 const ask::ThreadId& thread, const Range& range);
  // How many of them would have to be decoded.
  std::size_t missing(const SegmentRange& segments) const;
  // A lane for each of the segments, in order: calls that go over several of them are in each,
  // whole where their ends are known, else open. They live until the next call of this. `goes_on`
  // hears how many of how many are done, and false ends it. Errors: as ask::walk_from; not_found
  // where it was ended.
  Result<std::vector<const Lane*>> at(
      const ask::IndexedRecording& recording, const SegmentRange& segments,
      const Overview& overview,
      const std::function<bool(std::uint64_t done, std::uint64_t all)>& goes_on);
  // Of the lanes' slices, all that there were yet.
  const std::vector<SliceName>& names() const { return names_; }

 private:
  static constexpr std::size_t kMostSlices = std::size_t{1} << 17;  // of a segment, about
  static constexpr std::size_t kMostKept = std::size_t{1} << 21;  // slices, but of those asked for
  Result<Lane> decode(const ask::IndexedRecording& recording, std::size_t segment);
  void forget(std::size_t needed);

  struct Kept {
    std::size_t segment = 0;
    std::size_t slices = 0;
    Lane lane;
  };
  session::Session& session_;
  analyze::Following following_;
  std::vector<SliceName> names_;
  std::list<Kept> kept_;  // the last one used comes first
  std::size_t slices_ = 0;
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
