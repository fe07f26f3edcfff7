#include "hodo/ask/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "hodo/ask/occurrences.h"
#include "occurring.h"
#include "thread_calls.h"

namespace hodo::ask {
namespace {

class Lister final : public SegmentSink {
 public:
  Lister(session::Session& session, const std::string& name, const CallListOptions& options)
      : calls_(session), name_(name), options_(options) {}

  bool branches(const session::Context& who, std::uint64_t,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    auto [it, fresh] = watchers_.try_emplace(thread, *this, thread);
    Watcher& watcher = it->second;
    watcher.who = who;
    analyze::OpenCalls& calls = calls_.of(thread, &watcher);
    for (const Branch& branch : batch) {
      watcher.ticks = branch.time;
      calls.branch(who.space, branch);
    }
    watcher.now = calls.clock();
    return !done_;
  }

  void begin_at(const SegmentStart& start) override {
    const ThreadId& thread = start.segment.thread;
    Watcher& watcher = watchers_.try_emplace(thread, *this, thread).first->second;
    watcher.restart();
    calls_.restore(thread, &watcher, start);
    watcher.restarted();
  }

  // The segments of `selected` in which calls begin or end that are to be listed.
  std::vector<std::size_t> choose(const Index& index, std::vector<std::size_t> selected);

  CallList take() {
    for (auto& [thread, watcher] : watchers_) watcher.end();
    std::ranges::sort(out_.rows, {}, &CallRow::number);
    out_.functions.assign(calls_.functions().begin(), calls_.functions().end());
    for (std::uint32_t i = 0; i < judged_.size(); ++i) {
      if (judged_[i] == Judged::called) out_.meant.push_back(i);
    }
    return std::move(out_);
  }

 private:
  enum class Judged : std::uint8_t { no, meant, called };

  class Watcher final : public analyze::CallWatcher {
   public:
    Watcher(Lister& lister, const ThreadId& thread) : lister_(lister), thread_(thread) {}

    void opened(const analyze::OpenCall& call, std::size_t) override {
      stack_.push_back({.function = call.stub ? kNobody : call.function});
      if (restarting_) return again(call);
      if (!call.stub) begin(call);
    }
    void became(const analyze::OpenCall& call, std::size_t depth) override {
      stack_[depth].function = call.function;
      if (depth + 1 == stack_.size()) begin(call);
    }
    void closed(const analyze::OpenCall& call, analyze::CallEnd how,
                const analyze::CallClock& when) override {
      const Open open = stack_.back();
      stack_.pop_back();
      if (open.number == 0) return;
      CallRow row = row_of(open, call);
      row.outcome = static_cast<CallRow::Outcome>(how);
      finish(row, call, when);
    }
    // The path ends here.
    void end() {
      for (const Open& open : stack_) {
        if (open.number == 0) continue;
        CallRow row = row_of(open, open.call);
        finish(row, open.call, now);
      }
      stack_.clear();
    }

    // The calls that are open are about to be told, as they are behind a part of the path that was
    // left out: of those that are listed, none has begun or ended there.
    void restart() {
      restarting_ = true;
      before_ = std::exchange(stack_, {});
      std::erase_if(before_, [](const Open& open) { return open.number == 0; });
    }
    void restarted() { restarting_ = false; }

    session::Context who;
    std::uint64_t ticks = 0;
    analyze::CallClock now;

   private:
    struct Open {
      std::uint32_t function = kNobody;
      std::uint32_t caller = kNobody;
      std::uint64_t number = 0;  // 0: of another function
      std::uint64_t ticks = 0;
      session::Context who;
      analyze::OpenCall call;
    };

    void again(const analyze::OpenCall& call) {
      const auto it = std::ranges::find_if(before_, [&](const Open& open) {
        return open.call.since == call.since && open.call.entry == call.entry;
      });
      if (it == before_.end()) return;
      stack_.back() = *it;
      stack_.back().call = call;
      before_.erase(it);
    }
    void begin(const analyze::OpenCall& call) {
      if (call.how == analyze::CallEntry::first && call.entry == 0) return;
      if (!lister_.is_meant(call.function)) return;
      Open& open = stack_.back();
      open.number = ++lister_.out_.calls;
      open.ticks = ticks;
      open.who = who;
      open.call = call;
      for (std::size_t i = stack_.size() - 1; i-- > 0 && open.caller == kNobody;) {
        open.caller = stack_[i].function;
      }
    }
    CallRow row_of(const Open& open, const analyze::OpenCall& call) const {
      return {.number = open.number,
              .at = {thread_, call.since.branches, 0},
              .pid = open.who.pid,
              .time = call.since.time,
              .function = call.function,
              .caller = open.caller,
              .site = call.site,
              .space = open.who.space,
              .ticks = open.ticks};
    }
    void finish(CallRow& row, const analyze::OpenCall& call, const analyze::CallClock& when) {
      row.instructions = when.instructions - call.since.instructions;
      row.until = {thread_, when.branches, 0};
      if (row.time != 0 && when.time > row.time) row.duration = when.time - row.time;
      lister_.add(row);
    }

    Lister& lister_;
    ThreadId thread_;
    std::vector<Open> stack_;
    std::vector<Open> before_;  // that are listed
    bool restarting_ = false;
  };

  bool is_meant(std::uint32_t function) {
    for (std::size_t i = judged_.size(); i < calls_.functions().size(); ++i) {
      judged_.push_back(name_.means(calls_.functions()[i]) ? Judged::meant : Judged::no);
    }
    if (judged_[function] == Judged::no) return false;
    judged_[function] = Judged::called;
    return true;
  }

  void add(const CallRow& row) {
    out_.total_time += row.duration;
    out_.longest = std::max(out_.longest, row.duration);
    if (row.duration < options_.slower_than) return;
    if (options_.only != 0 && row.number != options_.only) return;
    done_ = options_.only != 0;
    out_.rows.push_back(row);
    // The longest stay: half of the room is made free at a time.
    if (out_.rows.size() < 2 * options_.most) return;
    shrink();
  }
  void shrink() {
    auto half = out_.rows.begin() + static_cast<std::ptrdiff_t>(options_.most);
    std::ranges::nth_element(out_.rows, half, std::ranges::greater{}, &CallRow::duration);
    out_.left_out += out_.rows.size() - options_.most;
    out_.rows.erase(half, out_.rows.end());
  }

  ThreadCalls calls_;
  FunctionName name_;
  CallListOptions options_;
  std::map<ThreadId, Watcher> watchers_;
  std::vector<Judged> judged_;
  bool done_ = false;  // the only row that is wanted has come
  CallList out_;
};

std::vector<std::size_t> Lister::choose(const Index& index, std::vector<std::size_t> selected) {
  const MeantCallees callees(index, calls_.following(), name_);
  const auto segments = index.segments();
  bool passing = options_.only != 0;
  IndexCursor cursor(index);
  std::erase_if(selected, [&](std::size_t i) {
    const Segment& s = segments[i];
    std::uint64_t opened = 0;
    std::uint64_t closed = 0;
    for (const CalleeCount& c : index.ran(i).callees) {
      const Callee& callee = index.callees()[c.callee];
      if (!callees.means(c.callee) || (callee.first && callee.entry == 0)) continue;
      opened += c.opened;
      closed += c.closed;
    }
    if (opened != 0 && (s.lossy || out_.calls + opened >= options_.only)) passing = false;
    if (passing) out_.calls += opened;
    if (passing) return !s.lossy;
    if (opened != 0 || closed != 0 || s.lossy) return false;
    // How long a call was that is open at the end is known there.
    if (next_of_thread(segments, i) != segments.size()) return true;
    cursor.move_to(i);
    return std::ranges::none_of(cursor.calls().open, [&](const analyze::SavedCall& call) {
      return name_.means(calls_.functions()[calls_.following().function_of(s.calls.space, call)]);
    });
  });
  return selected;
}

}  // namespace

std::string_view name(CallRow::Outcome outcome) {
  using Outcome = CallRow::Outcome;
  switch (outcome) {
    case Outcome::returned:
      return "returned";
    case Outcome::skipped:
      return "skipped";
    case Outcome::lost:
      return "lost";
    case Outcome::replaced:
      return "replaced";
    case Outcome::open:
      break;
  }
  return "open";
}

namespace {

Result<session::Outcome> walk_calls(session::Session& session, const CallListOptions& options,
                                    Lister& lister) {
  const IndexedRecording* const known = options.index;
  if (known == nullptr || known->index.too_many_callees()) {
    return walk(session, options.walk, lister);
  }
  auto selected = selected_segments(session, known->index, options.walk.selection);
  if (!selected) return walk(session, options.walk, lister);
  return walk_segments(*known, lister.choose(known->index, std::move(*selected)), options.walk,
                       lister);
}

}  // namespace

Result<CallList> list_calls(session::Session& session, const std::string& name,
                            const CallListOptions& options) {
  Lister lister(session, name, options);
  auto outcome = walk_calls(session, options, lister);
  if (!outcome) return std::unexpected(outcome.error());
  CallList out = lister.take();
  out.outcome = std::move(*outcome);
  if (out.calls != 0) return out;
  std::vector<std::string> names;
  names.reserve(out.functions.size());
  for (const analyze::Function& f : out.functions) names.push_back(f.name);
  return fail(ErrorCode::not_found, fmt::format("no call of a function '{}' is in the recording{}",
                                                name, suggestion(name, names)));
}

Result<CallRow> find_call(session::Session& session, const std::string& written,
                          const WalkOptions& options, const IndexedRecording* index) {
  auto spec = parse_moment(written.starts_with("call:") ? written : "call:" + written);
  if (!spec) return std::unexpected(spec.error());
  auto list =
      list_calls(session, spec->name, {.walk = options, .only = spec->count, .index = index});
  if (!list) return std::unexpected(list.error());
  if (!list->rows.empty()) return list->rows.front();
  return fail(ErrorCode::not_found,
              fmt::format("there are only {} calls of {}", list->calls, spec->name));
}

}  // namespace hodo::ask
