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

std::vector<analyze::SavedCall> Index::open_at(std::size_t segment) const {
  std::vector<analyze::SavedCall> out;
  Changes changes(*this);
  for (std::size_t i = 0; i <= segment; ++i) {
    const SegmentChange& change = changes.next();
    if (segments_[i].thread != segments_[segment].thread) continue;
    out.resize(std::min(out.size(), change.kept));
    out.insert(out.end(), change.opened.begin(), change.opened.end());
  }
  return out;
}

void Index::returns_at(std::size_t segment, std::span<std::uint64_t> sites) const {
  Changes changes(*this);
  for (std::size_t i = 0; i <= segment; ++i) {
    for (const auto& [slot, address] : changes.next().returns) {
      if (slot < sites.size()) sites[slot] = address;
    }
  }
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
