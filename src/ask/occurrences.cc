#include "hodo/ask/occurrences.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>
#include <set>

#include "hodo/ask/code.h"
#include "hodo/base/last_component.h"
#include "hodo/symbol/demangle.h"
#include "inlined_follower.h"
#include "occurring.h"
#include "spots.h"
#include "thread_calls.h"

namespace hodo::ask {
namespace {

constexpr std::uint64_t kLongestLine = std::uint64_t{1} << 20;  // instructions without a branch
constexpr std::size_t kMostListed = 5;

// Calls and ends of a function.
class FunctionEvents final : public SegmentSink {
 public:
  FunctionEvents(session::Session& session, const Wanted& wanted, const OnOccurrence& tell,
                 Meant& meant)
      : session_(session),
        calls_(session),
        code_(session),
        name_(wanted.name, wanted.exact),
        wanted_(wanted),
        tell_(tell),
        meant_(meant) {
    if (wanted.kind == Wanted::Kind::call) inlined_ = InlinedCode::find(session, name_);
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    Watcher& watcher = watcher_of(thread);
    watcher.who = &who;
    analyze::OpenCalls& calls = calls_.of(thread, &watcher.first());
    (void)first;
    for (const Branch& branch : batch) {
      if (!more_) break;
      if (watcher.inlined) {
        watcher.inlined->branch(who, branch, calls);
      } else {
        calls.branch(who.space, branch);
      }
    }
    watcher.now = calls.clock();
    return more_;
  }

  void begin_at(const SegmentStart& start) override {
    const ThreadId& thread = start.segment.thread;
    Watcher& watcher = watcher_of(thread);
    const bool forwards = start.segment.branches >= watcher.now.branches;
    more_ = true;
    watcher.quiet = true;
    if (watcher.inlined) watcher.inlined->restart(start.segment.last, watcher.now, forwards);
    calls_.restore(thread, &watcher.first(), start);
    if (watcher.inlined) watcher.inlined->restarted();
    watcher.quiet = false;
  }

  // The segments of `selected` that have some of what is wanted, without those that `where` lets
  // pass.
  std::vector<std::size_t> choose(const Index& index, std::vector<std::size_t> selected,
                                  const Where& where);

  bool found_any() const { return found_; }
  void add_names() {
    for (const analyze::Function& f : calls_.functions()) meant_.others.push_back(f.name);
  }

 private:
  class Watcher final : public analyze::CallWatcher, public InlinedWatcher {
   public:
    Watcher(FunctionEvents& events, const ThreadId& thread) : events_(events), thread_(thread) {
      if (events.inlined_) inlined.emplace(*events.inlined_, events.code_, *this, *this);
    }
    // What OpenCalls tells of calls.
    analyze::CallWatcher& first() { return inlined ? *inlined : static_cast<CallWatcher&>(*this); }
    void opened(const analyze::OpenCall& call, std::size_t) override { became(call, 0); }
    void became(const analyze::OpenCall& call, std::size_t) override {
      if (quiet || events_.wanted_.kind != Wanted::Kind::call || call.stub) return;
      if (!analyze::is_listed(call)) return;
      if (events_.is_meant(call.function)) at(call.since.branches);
    }
    std::uint64_t began(const InlinedCallBegun& call) override {
      events_.note_meant({events_.inlined_->functions()[call.function], true});
      at(call.at.clock.branches, call.at.insn);
      return 0;
    }
    void ended(std::uint64_t, const PathPoint&, analyze::CallEnd, bool) override {}
    void closed(const analyze::OpenCall& call, analyze::CallEnd,
                const analyze::CallClock& when) override {
      if (events_.wanted_.kind != Wanted::Kind::ret || call.stub) return;
      if (events_.is_meant(call.function)) at(when.branches);
    }
    const session::Context* who = nullptr;
    analyze::CallClock now;
    bool quiet = false;  // what is told of has been before
    std::optional<InlinedFollower> inlined;

   private:
    void at(std::uint64_t branch, std::uint64_t insn = 0) {
      if (events_.more_) events_.more_ = events_.tell_({thread_, branch, insn}, *who);
    }
    FunctionEvents& events_;
    ThreadId thread_;
  };

  bool is_meant(std::uint32_t function) {
    for (std::size_t i = judged_.size(); i < calls_.functions().size(); ++i) {
      judged_.push_back(name_.means(calls_.functions()[i]));
    }
    if (!judged_[function]) return false;
    note_meant({calls_.functions()[function], false});
    return true;
  }
  struct MeantFunction {
    analyze::Function function;
    bool inlined = false;
    friend bool operator==(const MeantFunction& a, const MeantFunction& b) {
      return a.inlined == b.inlined && a.function.name == b.function.name &&
             a.function.object == b.function.object;
    }
  };
  void note_meant(const MeantFunction& one) {
    found_ = true;
    if (std::ranges::find(functions_, one) != functions_.end()) return;
    functions_.push_back(one);
    meant_.functions.clear();
    meant_.exact = 0;
    for (const MeantFunction& known : functions_) {
      const analyze::Function& f = known.function;
      const bool again = known.inlined && std::ranges::any_of(functions_, [&](const auto& other) {
                           return !other.inlined && is_inlined_as(other.function, f);
                         });
      if (again) continue;
      meant_.functions.push_back(
          f.object.empty() ? f.name : fmt::format("{} ({})", f.name, last_component(f.object)));
      if (f.name == name_.name()) ++meant_.exact;
    }
  }
  // Whether more functions than those that were noted may be meant.
  bool may_mean_more() const {
    if (inlined_ == nullptr) return false;
    const auto only = inlined_->only_name();
    return !only || !std::ranges::all_of(functions_, [&](const MeantFunction& known) {
      const analyze::Function& f = known.function;
      return is_inlined_as(f, {.name = *only, .object = f.object});
    });
  }

  Watcher& watcher_of(const ThreadId& thread) {
    return watchers_.try_emplace(thread, *this, thread).first->second;
  }

  session::Session& session_;
  ThreadCalls calls_;
  Code code_;
  analyze::FunctionName name_;
  std::unique_ptr<InlinedCode> inlined_;  // null: there are no such calls
  const Wanted& wanted_;
  const OnOccurrence& tell_;
  Meant& meant_;
  std::map<ThreadId, Watcher> watchers_;
  std::vector<bool> judged_;
  std::vector<MeantFunction> functions_;  // that are meant and were seen
  bool found_ = false;
  bool more_ = true;
};

std::vector<std::size_t> FunctionEvents::choose(const Index& index,
                                                std::vector<std::size_t> selected,
                                                const Where& where) {
  const MeantCallees callees(index, calls_.following(), name_);
  const bool ends = wanted_.kind == Wanted::Kind::ret;
  std::uint64_t passed = 0;
  bool passing = where.pass != 0 && where.passed != nullptr && inlined_ == nullptr;
  SpotSegments inlined(session_, index, [this](auto... code) { return inlined_->meets(code...); });
  std::erase_if(selected, [&](std::size_t i) {
    const Segment& segment = index.segments()[i];
    const Ran& ran = index.ran(i);
    const std::uint64_t count = ends ? callees.closed(ran) : callees.opened(ran);
    if (count == 0 && inlined_ != nullptr && inlined.may_run(i)) return false;
    if (count == 0) return !segment.lossy;
    if (segment.lossy || passed + count > where.pass) passing = false;
    for (const CalleeCount& c : ran.callees) {
      if ((ends ? c.closed : c.opened) == 0 || !callees.means(c.callee)) continue;
      note_meant({calls_.functions()[callees.function(c.callee)], false});
    }
    if (passing) passed += count;
    return passing;
  });
  if (where.passed != nullptr) *where.passed = passed;
  meant_.whole = !may_mean_more();
  return selected;
}

// Executions of lines and addresses.
class SpotEvents final : public SegmentSink {
 public:
  SpotEvents(session::Session& session, const Wanted& wanted, const OnOccurrence& tell)
      : code_(session),
        spots_(session, wanted),
        line_(wanted.kind == Wanted::Kind::line),
        tell_(tell) {}

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    Branch& before = last_[thread];
    std::uint64_t number = first;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      if (!run(who, {thread, number - 1, 0}, before, branch)) return false;
      before = branch;
      ++number;
    }
    return true;
  }

  void begin_at(const SegmentStart& start) override {
    last_[start.segment.thread] = start.segment.last;
  }

  const Spots& spots() const { return spots_; }
  Spots& spots() { return spots_; }

 private:
  bool run(const session::Context& who, Moment at, const Branch& before, const Branch& branch) {
    const std::uint64_t begin = at.branch == 0 ? 0 : flow::line_behind(before);
    if (begin == 0 || branch.from < begin) return true;
    const auto found = spots_.within(who.space, begin, branch.from, branch.time);
    if (found.empty()) return true;
    // A copy, since more is asked meanwhile.
    for (const Spot& spot : std::vector<Spot>(found.begin(), found.end())) {
      const std::uint64_t there = std::max(spot.begin, begin);
      if (line_ && there == begin && goes_on(who, before, begin)) continue;
      if (!line_ && there != spot.begin) continue;
      at.insn = code_.distance(who.space, begin, there, branch.time, kLongestLine);
      // Not at the beginning of an instruction, or of one that the path did not come to.
      if (at.insn == kLongestLine || at.insn > branch.insns) continue;
      if (!tell_(at, who)) return false;
    }
    return true;
  }

  // The path was in the line before, and did not come to it anew by a call: of the line's own
  // function, or of another in the same line. What returns was in it if the instruction in front,
  // the call, is: where that was the last of its line, the next line begins.
  bool goes_on(const session::Context& who, const Branch& before, std::uint64_t begin) {
    switch (before.kind) {
      case BranchKind::ret:
      case BranchKind::sysret:
      case BranchKind::iret:
      case BranchKind::begin:
        return spots_.has(who.space, begin - 1, before.time);
      case BranchKind::lost:
      case BranchKind::call:
      case BranchKind::icall:
        return false;
      default:
        return before.from != 0 && spots_.has(who.space, before.from, before.time);
    }
  }

  Code code_;
  Spots spots_;
  bool line_;
  const OnOccurrence& tell_;
  std::map<ThreadId, Branch> last_;
};

Error no_such_line(const Wanted& wanted, const Meant& meant) {
  if (meant.lines.empty()) {
    return {ErrorCode::not_found,
            fmt::format("no code of a source file '{}' ran whose lines are known{}", wanted.name,
                        analyze::suggestion(wanted.name, meant.others))};
  }
  std::uint64_t below = 0;
  std::uint64_t above = ~std::uint64_t{0};
  for (const std::uint64_t line : meant.lines) {
    if (line < wanted.value) below = std::max(below, line);
    if (line > wanted.value) above = std::min(above, line);
  }
  std::string near;
  if (below != 0) near += fmt::format(" {}", below);
  if (above != ~std::uint64_t{0}) near += fmt::format("{} {}", near.empty() ? "" : " and", above);
  const bool both = below != 0 && above != ~std::uint64_t{0};
  return {ErrorCode::not_found,
          fmt::format("{} has no code in line {}; the nearest line{}{}", wanted.name, wanted.value,
                      both ? "s are" : " is", near)};
}

}  // namespace

std::string module_suggestion(const std::string& written, const std::vector<std::string>& ran) {
  const auto stem = [](std::string_view name) {
    return std::string(name.substr(0, name.find(".so")));
  };
  std::set<std::string> stems;
  for (const std::string& path : ran) stems.insert(stem(last_component(path)));
  stems.erase("");
  std::string near =
      analyze::suggestion(stem(last_component(written)), {stems.begin(), stems.end()});
  if (!near.empty() || stems.empty()) return near;
  std::string out = "; what ran is";
  std::size_t listed = 0;
  for (const std::string& name : stems) {
    if (listed++ == kMostListed) break;
    out += fmt::format("{} '{}'", listed == 1 ? "" : ",", name);
  }
  if (stems.size() > kMostListed) out += fmt::format(" and {} more", stems.size() - kMostListed);
  return out;
}

namespace {

// Leaves out the segments in which none has a number of branches that is wanted.
void keep_range(std::span<const Segment> segments, const Where& where,
                std::vector<std::size_t>& chosen) {
  std::erase_if(chosen, [&](std::size_t i) {
    const std::size_t next = next_of_thread(segments, i);
    const std::uint64_t end = next < segments.size() ? segments[next].branches : ~std::uint64_t{0};
    return segments[i].branches > where.to || end < where.from;
  });
}

Result<session::Outcome> walk_chosen(const IndexedRecording& recording,
                                     std::vector<std::size_t> chosen, const WalkOptions& options,
                                     const Where& where, SegmentSink& sink) {
  keep_range(recording.index.segments(), where, chosen);
  if (!where.enough) return walk_segments(recording, chosen, options, sink);
  Result<session::Outcome> last = session::Outcome{};
  for (std::size_t i = chosen.size(); i-- > 0 && last && !where.enough();) {
    last = walk_segments(recording, std::span(chosen).subspan(i, 1), options, sink);
  }
  return last;
}

Result<session::Outcome> each_call(session::Session& session, const Wanted& wanted,
                                   const WalkOptions& options, const OnOccurrence& tell,
                                   Meant& meant, const Where& where) {
  FunctionEvents events(session, wanted, tell, meant);
  const auto walked = [&]() -> Result<session::Outcome> {
    if (where.index == nullptr || where.index->index.too_many_callees()) {
      return walk(session, options, events);
    }
    const Index& index = where.index->index;
    auto selected = selected_segments(session, index, options.selection);
    if (!selected) return walk(session, options, events);
    return walk_chosen(*where.index, events.choose(index, std::move(*selected), where), options,
                       where, events);
  };
  auto outcome = walked();
  if (!outcome || events.found_any()) return outcome;
  events.add_names();
  return fail(ErrorCode::not_found,
              fmt::format("no call of a function '{}' is in {}{}{}", wanted.name,
                          searched(options.selection),
                          analyze::suggestion(analyze::FunctionName(wanted.name).name(),
                                              meant.others, session.names()),
                          where_lost(*outcome)));
}

Result<session::Outcome> each_execution(session::Session& session, const Wanted& wanted,
                                        const WalkOptions& options, const OnOccurrence& tell,
                                        Meant& meant, const Where& where) {
  SpotEvents events(session, wanted, tell);
  const auto walked = [&]() -> Result<session::Outcome> {
    if (where.index == nullptr) return walk(session, options, events);
    const Index& index = where.index->index;
    auto selected = selected_segments(session, index, options.selection);
    if (!selected) return walk(session, options, events);
    SpotSegments segments(session, index,
                          [&](auto... code) { return !events.spots().within(code...).empty(); });
    std::erase_if(*selected, [&](std::size_t i) { return !segments.may_run(i); });
    return walk_chosen(*where.index, std::move(*selected), options, where, events);
  };
  auto outcome = walked();
  if (!outcome) return outcome;
  meant = events.spots().meant();
  if (events.spots().found_any()) return outcome;
  if (wanted.kind == Wanted::Kind::line) return std::unexpected(no_such_line(wanted, meant));
  return fail(ErrorCode::not_found,
              fmt::format("no program or library that ran has a symbol '{}'{}", wanted.name,
                          analyze::suggestion(wanted.name, meant.others)));
}

}  // namespace

Error means_several(const std::string& name, std::vector<std::string> functions) {
  constexpr std::size_t kMostMeant = 10;
  std::ranges::sort(functions);  // not as they came: an index may be asked of first
  std::string list;
  for (const std::string& one : functions | std::views::take(kMostMeant)) {
    list += (list.empty() ? "" : ", ") + one;
  }
  if (functions.size() > kMostMeant) {
    list += fmt::format(" and {} more", functions.size() - kMostMeant);
  }
  return {ErrorCode::usage,
          fmt::format("'{}' means several functions: {}; write OBJECT!NAME, or the whole "
                      "name",
                      name, list)};
}

Result<session::Outcome> each_occurrence(session::Session& session, const Wanted& wanted,
                                         const WalkOptions& options, const OnOccurrence& tell,
                                         Meant& meant, const Where& where) {
  const bool calls = wanted.kind == Wanted::Kind::call || wanted.kind == Wanted::Kind::ret;
  return calls ? each_call(session, wanted, options, tell, meant, where)
               : each_execution(session, wanted, options, tell, meant, where);
}

}  // namespace hodo::ask
