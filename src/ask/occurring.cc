#include "occurring.h"

#include <algorithm>

namespace hodo::ask {

std::optional<std::vector<std::size_t>> selected_segments(session::Session& session,
                                                          const Index& index,
                                                          const session::Selection& selection) {
  std::vector<std::size_t> out;
  const auto segments = index.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (selection.tid && segments[i].thread.tid != *selection.tid) continue;
    const std::int32_t pid = session.queues()[segments[i].queue].pid;
    if (selection.pid && pid < 0) return std::nullopt;
    if (selection.pid && pid != *selection.pid) continue;
    out.push_back(i);
  }
  return out;
}

MeantCallees::MeantCallees(const Index& index, analyze::Following& following,
                           const analyze::FunctionName& name) {
  const auto callees = index.callees();
  meant_.reserve(callees.size());
  functions_.reserve(callees.size());
  for (const Callee& callee : callees) {
    functions_.push_back(following.function_of(callee.space, callee.as_call()));
    meant_.push_back(name.means(following.functions()[functions_.back()]));
  }
}

bool MeantCallees::means_function(std::uint32_t function) const {
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    if (functions_[i] == function && meant_[i]) return true;
  }
  return false;
}

template <class Each>
void MeantCallees::each(const Ran& ran, Each each) const {
  for (const CalleeCount& count : ran.callees) {
    if (meant_[count.callee]) each(count);
  }
}

std::uint64_t MeantCallees::opened(const Ran& ran) const {
  std::uint64_t sum = 0;
  each(ran, [&](const CalleeCount& count) { sum += count.opened; });
  return sum;
}

std::uint64_t MeantCallees::closed(const Ran& ran) const {
  std::uint64_t sum = 0;
  each(ran, [&](const CalleeCount& count) { sum += count.closed; });
  return sum;
}

bool SpotSegments::steady(std::uint32_t space, std::uint64_t from, std::uint64_t to) {
  const session::Names& names = session_.names();
  return names.naming(space, from) == names.naming(space, to);
}

bool SpotSegments::may_run(std::size_t segment) {
  const Segment& s = index_.segments()[segment];
  const std::uint64_t from = s.last.time;
  const Ran& ran = index_.ran(segment);
  if (ran.any_granule || s.lossy || from == 0) return true;
  const bool follows =
      segment + 1 < index_.segments().size() && index_.segments()[segment + 1].queue == s.queue;
  const std::uint64_t to = follows ? index_.segments()[segment + 1].last.time : ~std::uint64_t{0};
  known_.resize(index_.granules().size());
  std::optional<std::uint32_t> space;
  std::uint32_t naming = 0;
  for (const std::uint32_t number : ran.granules) {
    const Granule& granule = index_.granules()[number];
    if (space != granule.space) {
      if (!steady(granule.space, from, to)) return true;
      space = granule.space;
      naming = session_.names().naming(granule.space, from);
    }
    Known& known = known_[number];
    if (!known.asked || known.naming != naming) {
      const std::uint64_t first = granule.number << kGranuleBits;
      const std::uint64_t last = first + ((std::uint64_t{1} << kGranuleBits) - 1);
      known = {naming, true, may_lie_(granule.space, first, last, from)};
    }
    if (known.runs) return true;
  }
  return false;
}

}  // namespace hodo::ask
