#include "hodo/ask/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "hodo/analyze/function_name.h"
#include "hodo/ask/occurrences.h"
#include "occurring.h"
#include "segments.h"

namespace hodo::ask {
namespace {

class Lasts final : public SegmentSink {
 public:
  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    auto [it, fresh] = index_.try_emplace(thread, found_.size());
    if (fresh) found_.push_back({.moment = {.thread = thread}});
    LastMoment& out = found_[it->second];
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      out.number = first++;
      out.last = branch;
      out.who = who;
    }
    return true;
  }

  void begin_at(const SegmentStart&) override {}

  std::vector<LastMoment> take() {
    for (LastMoment& out : found_) place(out);
    return std::move(found_);
  }

 private:
  static void place(LastMoment& out) {
    const Branch& last = out.last;
    out.moment.branch = out.number;
    // Behind a loss nothing is known, the open calls neither.
    const bool apart = last.kind == BranchKind::end || last.kind == BranchKind::lost;
    const bool stopped = (last.flags & kTraceEnd) != 0 || apart;
    if (!stopped || last.from == 0 || out.number == 0) return;
    const bool counted = !apart && (last.flags & kAsync) == 0;
    --out.moment.branch;
    out.moment.insn = last.insns - (counted && last.insns != 0 ? 1 : 0);
  }

  std::map<ThreadId, std::size_t> index_;
  std::vector<LastMoment> found_;
};

class InTime final : public ThreadSink {
 public:
  InTime(session::Clock clock, std::uint64_t time) : clock_(clock), time_(time) {}

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    MomentInTime* out = nullptr;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      const std::uint64_t number = first++;
      const std::uint64_t now = clock_.nanoseconds(branch.time);
      if (now == 0 || now > time_) continue;
      if (out == nullptr) {
        auto [it, fresh] = index_.try_emplace(thread, found_.size());
        if (fresh) found_.push_back({.moment = {.thread = thread}});
        out = &found_[it->second];
      }
      out->moment.branch = number;
      out->time = now;
      out->who = who;
    }
    return true;
  }

  std::vector<MomentInTime> take() { return std::move(found_); }

 private:
  session::Clock clock_;
  std::uint64_t time_;
  std::map<ThreadId, std::size_t> index_;
  std::vector<MomentInTime> found_;
};

// Where one thread was at a time, from a segment that begins before it.
class InTimeFrom final : public ThreadSink {
 public:
  InTimeFrom(session::Clock clock, std::uint64_t time, const Segment& segment)
      : clock_(clock), time_(time), begun_(segment.time != 0 && segment.time <= time) {
    found_.moment = {segment.thread, segment.branches, 0};
    found_.time = segment.time;
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    found_.who = who;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      const std::uint64_t number = first++;
      const std::uint64_t now = clock_.nanoseconds(branch.time);
      if (now > time_) return false;
      if (now == 0) continue;
      found_.moment.branch = number;
      found_.time = now;
      begun_ = true;
    }
    return true;
  }
  std::optional<MomentInTime> take() const { return begun_ ? std::optional(found_) : std::nullopt; }

 private:
  session::Clock clock_;
  std::uint64_t time_;
  bool begun_;
  MomentInTime found_;
};

// The threads of an index, in their order.
std::vector<ThreadId> threads_of(const Index& index, const session::Selection& selection) {
  std::vector<ThreadId> out;
  for (const Segment& s : index.segments()) {
    if (selection.tid && s.thread.tid != *selection.tid) continue;
    if (std::ranges::find(out, s.thread) == out.end()) out.push_back(s.thread);
  }
  return out;
}

// Those that have the last branches of threads, and with `lossy` also those in which something is
// lost.
std::vector<std::size_t> last_segments(const Index& index, const std::vector<std::size_t>& selected,
                                       bool lossy) {
  const auto segments = index.segments();
  std::map<ThreadId, std::uint64_t> ends;  // branches before the last segment
  for (const std::size_t i : selected) ends[segments[i].thread] = segments[i].branches;
  std::vector<std::size_t> out;
  for (const std::size_t i : selected) {
    // That may begin where the path ends: then the one before has its last branch.
    const std::size_t next = next_of_thread(segments, i);
    const std::uint64_t end = ends[segments[i].thread];
    const bool last = next == segments.size() || segments[next].branches == end;
    if (last || (lossy && segments[i].lossy)) out.push_back(i);
  }
  return out;
}

Result<std::vector<MomentInTime>> in_time_by_index(session::Session& session,
                                                   std::uint64_t nanoseconds,
                                                   const session::Selection& selection,
                                                   const IndexedRecording& recording) {
  std::vector<MomentInTime> out;
  const auto segments = recording.index.segments();
  for (const ThreadId& thread : threads_of(recording.index, selection)) {
    std::size_t last = Index::kNone;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const bool first = last == Index::kNone;
      if (segments[i].thread == thread && (first || segments[i].time <= nanoseconds)) last = i;
    }
    InTimeFrom sink(session.clock(), nanoseconds, segments[last]);
    auto outcome = walk_from(recording, last, sink);
    if (!outcome) return std::unexpected(outcome.error());
    const auto found = sink.take();
    if (found && (!selection.pid || found->who.pid == *selection.pid)) out.push_back(*found);
  }
  return out;
}

// The first branch that is equal to one that was found.
class Equal final : public ThreadSink {
 public:
  explicit Equal(const FoundBranch& wanted) : wanted_(wanted) {}
  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    if (!(who == wanted_.who)) return true;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      const Branch& b = wanted_.branch;
      if (branch.from == b.from && branch.to == b.to && branch.time == b.time &&
          branch.kind == b.kind) {
        const bool counted = branch.insns != 0 && (branch.flags & kAsync) == 0;
        found = Moment{thread_of(who), first - 1, branch.insns - (counted ? 1U : 0U)};
        return false;
      }
      ++first;
    }
    return true;
  }
  std::optional<Moment> found;

 private:
  const FoundBranch& wanted_;
};

Result<Moment> find_edge(session::Session& session, const MomentSpec& spec,
                         const FindOptions& options) {
  WalkOptions how = options.walk;
  if (spec.thread) how.selection = only(*spec.thread);
  auto lasts = last_moments(session, how, nullptr, options.index);
  if (!lasts) return std::unexpected(lasts.error());
  if (spec.thread) {
    std::erase_if(*lasts,
                  [&](const LastMoment& last) { return last.moment.thread != *spec.thread; });
  }
  if (lasts->empty()) {
    return fail(ErrorCode::not_found,
                spec.thread ? fmt::format("the recording has no branches of thread {}",
                                          to_string(*spec.thread))
                            : "the recording has no branches");
  }
  const bool start = spec.kind == MomentSpec::Kind::start;
  if (lasts->size() > 1) {
    // The one that is meant is the first to begin, or the last to end.
    const auto time = [](const LastMoment& last) { return last.last.time; };
    if (!start) return std::ranges::max_element(*lasts, {}, time)->moment;
  }
  return start ? Moment{(*lasts)[0].moment.thread, 0, 0} : (*lasts)[0].moment;
}

// "crash:PID" of each.
std::string listed(std::span<const session::ProcessEnd* const> crashes) {
  std::string list;
  for (const session::ProcessEnd* end : crashes) list += fmt::format(" crash:{}", end->pid);
  return list;
}

// Of the ends of a kind those that are meant, and the others.
struct Meaning {
  std::vector<const session::ProcessEnd*> meant;
  std::vector<const session::ProcessEnd*> others;
};
Meaning meaning_of(const MomentSpec& spec, std::span<const session::ProcessEnd> ends,
                   bool (*is_wanted)(const session::ProcessEnd&)) {
  Meaning out;
  for (const session::ProcessEnd& end : ends) {
    if (!is_wanted(end)) continue;
    (!spec.process || *spec.process == end.pid ? out.meant : out.others).push_back(&end);
  }
  return out;
}

Error no_crash(const MomentSpec& spec, std::span<const session::ProcessEnd* const> others,
               bool ends_are_known) {
  if (!ends_are_known) {
    return {ErrorCode::not_found,
            "the recording does not say how its processes ended; end:TID is where a thread's path "
            "ends"};
  }
  if (others.empty()) {
    return {ErrorCode::not_found,
            "no process of the recording was ended by a signal, nor exited with another status "
            "than 0"};
  }
  return {ErrorCode::not_found, fmt::format("no process {} was ended by a signal; there is{}",
                                            *spec.process, listed(others))};
}

// The process that `crash` means: what exited with a status is only meant where no signal ended
// one.
Result<const session::ProcessEnd*> crashed(const MomentSpec& spec,
                                           std::span<const session::ProcessEnd> ends) {
  const Meaning crashes = meaning_of(spec, ends, is_crash);
  const Meaning failures = meaning_of(spec, ends, is_failure);
  const bool by_signal = !crashes.meant.empty();
  const auto& meant = by_signal ? crashes.meant : failures.meant;
  if (meant.empty()) {
    const bool others_crashed = !crashes.others.empty();
    return std::unexpected(
        no_crash(spec, others_crashed ? crashes.others : failures.others, !ends.empty()));
  }
  if (meant.size() > 1) {
    return fail(ErrorCode::usage,
                (by_signal ? "several processes were ended by signals:"
                           : "several processes exited with another status than 0:") +
                    listed(meant));
  }
  return meant[0];
}

Result<Moment> find_crash(session::Session& session, const MomentSpec& spec,
                          const FindOptions& options) {
  const auto found = crashed(spec, options.ends);
  if (!found) return std::unexpected(found.error());
  const session::ProcessEnd& end = **found;
  WalkOptions how = options.walk;
  how.selection = {};
  if (is_crash(end) && end.tid != 0) {
    how.selection.tid = end.tid;
  } else {
    how.selection.pid = end.pid;
  }
  auto lasts = last_moments(session, how, nullptr, options.index);
  if (!lasts) return std::unexpected(lasts.error());
  if (lasts->empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("nothing is known of the path of process {}", end.pid));
  }
  const LastMoment* const exits = is_crash(end) ? nullptr : exiting_thread(*lasts, end);
  if (exits != nullptr) return exits->moment;
  const auto time = [](const LastMoment& last) { return last.last.time; };
  return std::ranges::max_element(*lasts, {}, time)->moment;
}

Result<Moment> find_time(session::Session& session, const MomentSpec& spec,
                         const FindOptions& options) {
  auto all = moments_at(session, spec.time, options.walk, options.index);
  if (!all) return std::unexpected(all.error());
  if (all->empty()) {
    return fail(ErrorCode::not_found, session.clock().known()
                                          ? "no thread had begun at that time"
                                          : "no branch of the recording has a time by the clock");
  }
  return std::ranges::max_element(*all, {}, &MomentInTime::time)->moment;
}

Result<Moment> find_finding(session::Session& session, const MomentSpec& spec,
                            const FindOptions& options) {
  if (!options.finding) return fail(ErrorCode::unsupported, "findings are not known here");
  auto branch = options.finding(spec.count);
  if (!branch) return std::unexpected(branch.error());
  Equal equal(*branch);
  auto outcome = walk(session, options.walk, equal);
  if (!outcome) return std::unexpected(outcome.error());
  if (!equal.found) return fail(ErrorCode::not_found, "the finding's branch is not selected");
  return *equal.found;
}

Wanted wanted_by(const MomentSpec& spec) {
  using Kind = MomentSpec::Kind;
  Wanted out{.name = spec.name, .value = spec.value};
  if (spec.kind == Kind::call) out.kind = Wanted::Kind::call;
  if (spec.kind == Kind::ret) out.kind = Wanted::Kind::ret;
  if (spec.kind == Kind::line) out.kind = Wanted::Kind::line;
  if (spec.kind == Kind::address) out.kind = Wanted::Kind::address;
  return out;
}

// What is to be said of a call that is not there.
std::string also_inlined(session::Session& session, const MomentSpec& spec) {
  const std::string unknown =
      spec.kind == MomentSpec::Kind::call ? analyze::unknown_inlined(session.names()) : "";
  return unknown.empty() ? "" : "; " + unknown;
}

Result<Moment> find_occurrence(session::Session& session, const MomentSpec& spec,
                               const FindOptions& options, bool exact = false) {
  std::uint64_t passed = 0;
  std::uint64_t seen = 0;
  std::optional<Moment> found;
  Meant meant;
  // A name may mean a function that is called later only.
  const bool one_meaning =
      spec.kind == MomentSpec::Kind::line || spec.kind == MomentSpec::Kind::address;
  Wanted wanted = wanted_by(spec);
  wanted.exact = exact;
  auto outcome =
      each_occurrence(session, wanted, options.walk,
                      [&](const Moment& moment, const session::Context&) {
                        if (passed + ++seen == spec.count) found = moment;
                        return !found || !(meant.whole || one_meaning);
                      },
                      meant, {.index = options.index, .pass = spec.count - 1, .passed = &passed});
  if (!outcome) return std::unexpected(outcome.error());
  // Not one of the copies that the compiler has made of it.
  if (meant.functions.size() > 1 && meant.exact == 1 && !exact) {
    return find_occurrence(session, spec, options, true);
  }
  if (options.losses != nullptr) add_losses(*options.losses, outcome->losses);
  seen += passed;
  if (meant.functions.size() > 1) {
    return std::unexpected(means_several(spec.name, meant.functions));
  }
  if (!found) {
    const std::string where = where_lost(*outcome) + also_inlined(session, spec);
    return fail(
        ErrorCode::not_found,
        seen == 0
            ? "the path never comes there" + where
            : fmt::format("number {} was asked for, and there {}{}", spec.count,
                          seen == 1 ? "is only one" : fmt::format("are only {}", seen), where));
  }
  return *found;
}

}  // namespace

bool is_crash(const session::ProcessEnd& end) { return end.signal != 0; }
bool is_failure(const session::ProcessEnd& end) { return end.exit_status > 0; }

const LastMoment* exiting_thread(std::span<const LastMoment> lasts,
                                 const session::ProcessEnd& end) {
  const auto named = std::ranges::find_if(lasts, [&](const LastMoment& last) {
    return last.who.pid == end.pid && last.who.tid == end.tid;
  });
  if (named != lasts.end()) return &*named;
  const LastMoment* out = nullptr;
  for (const LastMoment& last : lasts) {
    const bool stands = last.last.kind == BranchKind::syscall && (last.last.flags & kTraceEnd) != 0;
    if (last.who.pid != end.pid || !stands) continue;
    if (out == nullptr || out->last.time < last.last.time) out = &last;
  }
  return out;
}

std::vector<const LastMoment*> by_birth(std::span<const LastMoment> threads) {
  const auto behind = [](std::int32_t first, std::int32_t number) {
    return static_cast<std::uint32_t>(number) - static_cast<std::uint32_t>(first);
  };
  std::vector<const LastMoment*> out;
  for (const LastMoment& last : threads) out.push_back(&last);
  std::ranges::stable_sort(out, {}, [&](const LastMoment* last) {
    return std::pair(behind(threads.front().who.pid, last->who.pid),
                     behind(last->who.pid, last->who.tid));
  });
  return out;
}

Result<std::vector<LastMoment>> last_moments(session::Session& session, const WalkOptions& options,
                                             session::Outcome* came_to,
                                             const IndexedRecording* index) {
  Lasts lasts;
  const auto selected =
      index == nullptr ? std::nullopt : selected_segments(session, index->index, options.selection);
  if (index == nullptr || !selected) {
    auto outcome = walk(session, options, lasts);
    if (!outcome) return std::unexpected(outcome.error());
    if (came_to != nullptr) *came_to = std::move(*outcome);
    return lasts.take();
  }
  const auto chosen = last_segments(index->index, *selected, came_to != nullptr);
  auto outcome = walk_segments(*index, chosen, options, lasts);
  if (!outcome) return std::unexpected(outcome.error());
  if (came_to != nullptr) *came_to = std::move(*outcome);
  return lasts.take();
}

Result<std::vector<MomentInTime>> moments_at(session::Session& session, std::uint64_t nanoseconds,
                                             const WalkOptions& options,
                                             const IndexedRecording* index) {
  if (index != nullptr) return in_time_by_index(session, nanoseconds, options.selection, *index);
  InTime in_time(session.clock(), nanoseconds);
  auto outcome = walk(session, options, in_time);
  if (!outcome) return std::unexpected(outcome.error());
  return in_time.take();
}

Result<Moment> find_moment(session::Session& session, const MomentSpec& spec,
                           const FindOptions& options) {
  using Kind = MomentSpec::Kind;
  switch (spec.kind) {
    case Kind::position:
      return spec.position;
    case Kind::start:
    case Kind::end:
      return find_edge(session, spec, options);
    case Kind::crash:
      return find_crash(session, spec, options);
    case Kind::time:
      return find_time(session, spec, options);
    case Kind::finding:
      return find_finding(session, spec, options);
    case Kind::call:
    case Kind::ret:
    case Kind::line:
    case Kind::address:
      return find_occurrence(session, spec, options);
  }
  return fail(ErrorCode::usage, "no such moment");
}

Result<Moment> find_moment(session::Session& session, std::string_view text,
                           const FindOptions& options) {
  auto spec = parse_moment(text);
  if (!spec) return std::unexpected(spec.error());
  return find_moment(session, *spec, options);
}

}  // namespace hodo::ask
