// An index as bytes: numbers of seven bits to a byte, since most are small.
#include <algorithm>
#include <array>
#include <map>

#include "hodo/ask/index.h"
#include "hodo/base/numbers.h"

namespace hodo::ask {
namespace {

constexpr std::uint64_t kMostCalls = std::uint64_t{1} << 20;
// In place of how many calls are kept, + 1: all that there is follows.
constexpr std::uint64_t kWhole = 0;
// Bytes that these take at least.
constexpr std::size_t kLeastOfSegment = 24;
constexpr std::size_t kLeastOfCall = 9;
constexpr std::size_t kLeastOfReturn = 2;
constexpr std::size_t kLeastOfJump = 2;

void write(const analyze::CallClock& clock, NumberWriter& out) {
  out.number(clock.branches);
  out.number(clock.instructions);
  out.number(clock.time);
  out.number(clock.ticks);
}

analyze::CallClock read_clock(NumberReader& in) {
  analyze::CallClock out;
  out.branches = in.number();
  out.instructions = in.number();
  out.time = in.number();
  out.ticks = in.number();
  return out;
}

void write(const analyze::SavedCall& call, NumberWriter& out) {
  out.number(call.site);
  out.number(call.entry);
  write(call.since, out);
  out.number(static_cast<std::uint64_t>(call.how) * 4 + (call.by_call ? 1 : 0) +
             (call.goes_on ? 2 : 0));
  out.number(call.made_branch);
  out.number(call.made_insn);
}

analyze::SavedCall read_call(NumberReader& in) {
  analyze::SavedCall out;
  out.site = in.number();
  out.entry = in.number();
  out.since = read_clock(in);
  const std::uint64_t how =
      in.number(static_cast<std::uint64_t>(analyze::CallEntry::outside) * 4 + 3);
  out.how = static_cast<analyze::CallEntry>(how / 4);
  out.by_call = (how & 1) != 0;
  out.goes_on = (how & 2) != 0;
  out.made_branch = in.number();
  out.made_insn = in.number();
  return out;
}

void write(const Branch& branch, NumberWriter& out) {
  out.number(branch.from);
  out.number(branch.to);
  out.number(branch.time);
  out.number(branch.insns);
  out.number(static_cast<std::uint64_t>(branch.kind));
  out.number(branch.flags);
}

Branch read_branch(NumberReader& in) {
  Branch out;
  out.from = in.number();
  out.to = in.number();
  out.time = in.number();
  out.insns = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
  out.kind = static_cast<BranchKind>(in.number(kBranchKinds - 1));
  out.flags = static_cast<std::uint8_t>(in.number(0xff));
  return out;
}

void write(const Callee& callee, NumberWriter& out) {
  out.number(callee.space);
  out.number(callee.entry);
  out.number(callee.ticks);
  out.number((callee.by_call ? 1 : 0) | (callee.hidden ? 2 : 0) | (callee.first ? 4 : 0));
}

Callee read_callee(NumberReader& in) {
  Callee out;
  out.space = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
  out.entry = in.number();
  out.ticks = in.number();
  const std::uint64_t how = in.number(7);
  out.by_call = (how & 1) != 0;
  out.hidden = (how & 2) != 0;
  out.first = (how & 4) != 0;
  return out;
}

// Numbers in order, each by how far it is from the one before; all are less than `end`.
class Ascending {
 public:
  explicit Ascending(std::uint64_t end = 0) : end_(end) {}
  void write(std::uint32_t number, NumberWriter& out) {
    out.number(number - next_);
    next_ = std::uint64_t{number} + 1;
  }
  std::uint32_t read(NumberReader& in) {
    if (next_ >= end_) {
      in.refuse();
      return 0;
    }
    const std::uint64_t number = next_ + in.number(end_ - next_ - 1);
    next_ = number + 1;
    return static_cast<std::uint32_t>(number);
  }

 private:
  std::uint64_t end_;
  std::uint64_t next_ = 0;
};

void write(std::span<const analyze::SetJump> jumps, NumberWriter& out) {
  out.number(jumps.size());
  for (const analyze::SetJump& jump : jumps) {
    out.number(jump.level);
    out.number(jump.site);
  }
}

std::vector<analyze::SetJump> read_jumps(NumberReader& in) {
  std::vector<analyze::SetJump> out;
  for (std::size_t i = in.count(kLeastOfJump); i > 0; --i) {
    const auto level = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
    out.push_back({level, in.number()});
  }
  return out;
}

void write(const Segment& s, NumberWriter& out) {
  out.number(static_cast<std::uint64_t>(std::int64_t{s.thread.tid} + 1));
  out.number(s.thread.queue);
  out.number(s.queue);
  out.number(s.from ? 1 : 0);
  if (s.from) {
    out.number(s.from->offset);
    for (const std::uint64_t word : s.from->state) out.number(word);
  }
  for (const std::uint64_t value :
       {s.branches, s.time, std::uint64_t{s.calls.space}, std::uint64_t{s.calls.started},
        s.calls.last_time, s.calls.ended_at, s.calls.last_loss, s.call_before, s.return_before}) {
    out.number(value);
  }
  write(s.last, out);
  write(s.calls.clock, out);
  const std::vector<analyze::SetJump>& jumps = s.calls.set_jumps;
  out.number((s.lossy ? 1 : 0) | (jumps.empty() ? 0 : 2));
  if (!jumps.empty()) write(jumps, out);
}

void write(const Ran& ran, NumberWriter& out) {
  out.number(ran.callees.size());
  Ascending callees;
  for (const CalleeCount& count : ran.callees) {
    callees.write(count.callee, out);
    out.number(count.opened);
    out.number(count.closed);
  }
  out.number(ran.granules.size());
  Ascending granules;
  for (const std::uint32_t granule : ran.granules) granules.write(granule, out);
  out.number(ran.any_granule ? 1 : 0);
}

Ran read_ran(NumberReader& in, std::size_t callees, std::size_t granules) {
  Ran ran;
  Ascending callee(callees);
  const std::size_t counts = in.count(3);
  ran.callees.reserve(counts);
  for (std::size_t i = counts; i > 0 && in.good(); --i) {
    CalleeCount& count = ran.callees.emplace_back();
    count.callee = callee.read(in);
    count.opened = in.number();
    count.closed = in.number();
  }
  Ascending granule(granules);
  const std::size_t numbers = in.count();
  ran.granules.reserve(numbers);
  for (std::size_t i = numbers; i > 0 && in.good(); --i) {
    ran.granules.push_back(granule.read(in));
  }
  ran.any_granule = in.number(1) != 0;
  return ran;
}

Segment read_segment(NumberReader& in, std::size_t queues) {
  constexpr std::uint64_t kMost32 = ~std::uint32_t{0};
  Segment s;
  s.thread.tid =
      static_cast<std::int32_t>(static_cast<std::int64_t>(in.number(std::uint64_t{1} << 31)) - 1);
  s.thread.queue = static_cast<std::uint32_t>(in.number(kMost32));
  s.queue = static_cast<std::uint32_t>(in.number(queues - 1));
  if (in.number(1) != 0) {
    s.from.emplace();
    s.from->offset = in.number();
    for (std::uint64_t& word : s.from->state) word = in.number();
  }
  s.branches = in.number();
  s.time = in.number();
  s.calls.space = static_cast<std::uint32_t>(in.number(kMost32));
  s.calls.started = in.number(1) != 0;
  s.calls.last_time = in.number();
  s.calls.ended_at = in.number();
  s.calls.last_loss = in.number();
  s.call_before = in.number();
  s.return_before = in.number();
  s.last = read_branch(in);
  s.calls.clock = read_clock(in);
  const std::uint64_t more = in.number(3);
  s.lossy = (more & 1) != 0;
  if ((more & 2) != 0) s.calls.set_jumps = read_jumps(in);
  return s;
}

// What follows from how segments are made, and what those who use them rely on.
bool fits(const Segment& s, const Segment* before, const Segment* of_thread) {
  const bool same_queue = before != nullptr && before->queue == s.queue;
  if (s.from.has_value() != same_queue) return false;
  if (same_queue && before->thread != s.thread) return false;
  if (same_queue && before->from && before->from->offset >= s.from->offset) return false;
  if (of_thread == nullptr) return s.branches == 0;
  return s.branches >= of_thread->branches && s.time >= of_thread->time;
}

}  // namespace

void write_change(const SegmentChange& change, NumberWriter& out) {
  NumberWriter one;
  one.number(change.whole ? kWhole : change.kept + 1);
  one.number(change.opened.size());
  for (const analyze::SavedCall& call : change.opened) write(call, one);
  one.number(change.returns.size());
  for (const auto& [slot, address] : change.returns) {
    one.number(slot);
    one.number(address);
  }
  out.bytes(one.take());
}

const SegmentChange& Index::Changes::next() {
  NumberReader in(in_.bytes());
  change_.opened.clear();
  change_.returns.clear();
  const auto kept = static_cast<std::size_t>(in.number(kMostCalls + 1));
  change_.whole = kept == kWhole;
  change_.kept = change_.whole ? 0 : kept - 1;
  for (std::size_t i = in.count(kLeastOfCall); i > 0; --i) {
    change_.opened.push_back(read_call(in));
  }
  for (std::size_t i = in.count(kLeastOfReturn); i > 0; --i) {
    const auto slot = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
    change_.returns.emplace_back(slot, in.number());
  }
  if (!in.good()) change_ = {.whole = change_.whole};
  return change_;
}

Index::Changes::Changes(const Index& index, std::size_t whole) : in_(index.changes_) {
  const auto at = std::ranges::lower_bound(index.whole_, whole, {}, &Whole::segment);
  if (at == index.whole_.end() || at->segment != whole) return;
  in_ = NumberReader(index.changes_.subspan(at->offset));
}

void Index::find_whole() {
  NumberReader in(changes_);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    first_.try_emplace(segments_[i].thread, i);
    const std::size_t offset = in.offset();
    const bool whole = NumberReader(in.bytes()).number(kMostCalls + 1) == kWhole;
    if (whole && in.good()) whole_.push_back({i, offset});
  }
}

Index::Bytes Index::write() const {
  std::vector<std::uint8_t> ran = write_ran();
  NumberWriter out;
  out.number(kVersion);
  out.number(ran.size());
  out.number(segments_.size());
  for (const Segment& s : segments_) ask::write(s, out);
  out.bytes(changes_);
  return {out.take(), std::move(ran)};
}

std::vector<std::uint8_t> Index::write_ran() const {
  const AllRan& all = all_ran();
  NumberWriter out;
  out.number(all.too_many_callees ? 1 : 0);
  out.number(all.callees.size());
  for (const Callee& callee : all.callees) ask::write(callee, out);
  out.number(all.granules.size());
  for (const Granule& granule : all.granules) {
    out.number(granule.space);
    out.number(granule.number);
  }
  for (const Ran& ran : all.segments) ask::write(ran, out);
  return out.take();
}

// Of what makes no sense nothing is believed: then anything may have run anywhere.
const Index::AllRan& Index::all_ran() const {
  if (!unread_) return ran_;
  std::call_once(unread_->once, [this] {
    const auto bytes = unread_->bytes();
    if (bytes && bytes->size() == unread_->size && read_ran(*bytes)) return;
    ran_ = {.too_many_callees = true};
    ran_.segments.resize(segments_.size(), {.any_granule = true});
  });
  return ran_;
}

bool Index::read_ran(std::span<const std::uint8_t> bytes) const {
  NumberReader in(bytes);
  AllRan& out = ran_;
  out.too_many_callees = in.number(1) != 0;
  for (std::size_t i = in.count(); i > 0 && in.good(); --i) out.callees.push_back(read_callee(in));
  for (std::size_t i = in.count(); i > 0 && in.good(); --i) {
    const auto space = static_cast<std::uint32_t>(in.number(~std::uint32_t{0}));
    out.granules.push_back({space, in.number(~std::uint64_t{0} >> kGranuleBits)});
  }
  out.segments.reserve(segments_.size());
  for (std::size_t i = segments_.size(); i > 0 && in.good(); --i) {
    out.segments.push_back(ask::read_ran(in, out.callees.size(), out.granules.size()));
  }
  return in.at_end() && in.good();
}

std::optional<Index> Index::read(std::vector<std::uint8_t> starts, std::size_t queues,
                                 RanBytes ran) {
  Index out;
  out.bytes_ = std::move(starts);
  NumberReader in(out.bytes_);
  if (queues == 0 || in.number() != kVersion) return std::nullopt;
  out.unread_ = std::make_unique<Unread>();
  out.unread_->bytes = std::move(ran);
  out.unread_->size = static_cast<std::size_t>(in.number());
  const std::size_t segments = in.count(kLeastOfSegment);
  out.segments_.reserve(std::min(segments, 2 * kMostSegments));
  std::map<ThreadId, std::size_t> last;  // of each thread
  for (std::size_t i = 0; i < segments; ++i) {
    Segment s = read_segment(in, queues);
    if (!in.good()) return std::nullopt;
    const auto [of, fresh] = last.try_emplace(s.thread, i);
    const Segment* before = out.segments_.empty() ? nullptr : &out.segments_.back();
    const Segment* of_thread = fresh ? nullptr : &out.segments_[of->second];
    if (!fits(s, before, of_thread)) return std::nullopt;
    of->second = i;
    out.segments_.push_back(std::move(s));
  }
  out.changes_ = in.bytes();
  if (!in.at_end() || !in.good()) return std::nullopt;
  out.find_whole();
  return out;
}

}  // namespace hodo::ask
