#include "hodo/ask/index.h"

#include <algorithm>
#include <utility>

#include "segments.h"

namespace hodo::ask {

analyze::SavedCall Callee::as_call() const {
  const auto how = hidden  ? analyze::CallEntry::called
                   : first ? analyze::CallEntry::first
                           : analyze::CallEntry::jumped;
  return {.entry = entry, .since = {.ticks = ticks}, .how = how, .by_call = by_call};
}

std::size_t Index::at(const ThreadId& thread, std::uint64_t branches) const {
  std::size_t found = kNone;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].thread == thread && segments_[i].branches <= branches) found = i;
  }
  return found;
}

// Of its thread, or the last one before that began.
std::size_t Index::whole_before(std::size_t segment) const {
  const ThreadId& thread = segments_[segment].thread;
  const std::size_t first = first_.at(thread);
  for (auto one = std::ranges::upper_bound(whole_, segment, {}, &Whole::segment);
       one != whole_.begin();) {
    --one;
    if (one->segment <= first || segments_[one->segment].thread == thread) return one->segment;
  }
  return 0;
}

analyze::SavedCalls Index::calls_at(std::size_t segment, std::span<std::uint64_t> sites) const {
  analyze::SavedCalls out = segments_[segment].calls;
  const std::size_t first = whole_before(segment);
  Changes changes(*this, first);
  for (std::size_t i = first; i <= segment; ++i) {
    const SegmentChange& change = changes.next();
    if (change.whole) std::ranges::fill(sites, 0);
    for (const auto& [slot, address] : change.returns) {
      if (slot < sites.size()) sites[slot] = address;
    }
    if (segments_[i].thread != segments_[segment].thread) continue;
    out.open.resize(std::min(out.open.size(), change.kept));
    out.open.insert(out.open.end(), change.opened.begin(), change.opened.end());
  }
  return out;
}

Result<session::Outcome> walk_from(const IndexedRecording& recording, std::size_t segment,
                                   ThreadSink& sink) {
  const auto segments = recording.index.segments();
  Numbered numbered(segments[segment].branches, sink);
  PartsOutcome all;
  // Ever more at once, as nobody knows how much is wanted.
  for (std::size_t step = 1, next = 0; numbered.more() && segment < segments.size(); step *= 2) {
    const ThreadId thread = segments[segment].thread;
    next = end_of_run(segments, segment, step);
    if (Status done = all.decode(recording, segment, next, {}, numbered); !done) {
      return std::unexpected(done.error());
    }
    // A thread may have another queue.
    if (next < segments.size() && segments[next].thread != thread) {
      next = next_of_thread(segments, next - 1);
    }
    segment = next;
  }
  return all.take();
}

}  // namespace hodo::ask
