#include "hodo/ask/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <ranges>
#include <tuple>

#include "hodo/ask/occurrences.h"
#include "inlined_follower.h"
#include "kept_calls.h"
#include "occurring.h"
#include "thread_calls.h"

namespace hodo::ask {
namespace {

// Takes the rows, in whatever order.
class Rows {
 public:
  Rows(const CallListOptions& options, CallList& out) : options_(options), out_(out) {}

  // True: it is listed.
  bool add(const CallRow& row) {
    out_.total_time += row.duration;
    out_.longest = std::max(out_.longest, row.duration);
    if (row.duration < options_.slower_than) return false;
    if (options_.only != 0 && row.number != options_.only) return false;
    out_.rows.push_back(row);
    // Half of the room is made free at a time.
    if (out_.rows.size() >= 2 * options_.most) shrink();
    return true;
  }
  void finish() {
    if (out_.rows.size() > options_.most) shrink();
    std::ranges::sort(out_.rows, {}, [this](const CallRow& row) { return rank(row); });
  }

 private:
  std::pair<std::uint64_t, std::uint64_t> rank(const CallRow& row) const {
    switch (options_.order) {
      case CallOrder::latest:
        return {0, ~row.number};
      case CallOrder::duration:
        return {~row.duration, row.number};
      case CallOrder::instructions:
        return {~row.instructions, row.number};
      case CallOrder::order:
        break;
    }
    return {0, row.number};
  }
  void shrink() {
    auto half = out_.rows.begin() + static_cast<std::ptrdiff_t>(options_.most);
    std::ranges::nth_element(out_.rows, half, {}, [this](const CallRow& row) { return rank(row); });
    out_.left_out += out_.rows.size() - options_.most;
    out_.rows.erase(half, out_.rows.end());
  }

  const CallListOptions& options_;
  CallList& out_;
};

class Lister final : public SegmentSink {
 public:
  // `inlined`: also such calls, or without `called` nothing else; may be null.
  Lister(session::Session& session, const std::string& name, const CallListOptions& options,
         InlinedCode* inlined, bool called = true)
      : calls_(session),
        code_(session),
        name_(name),
        options_(options),
        inlined_(inlined),
        called_(called) {}

  bool branches(const session::Context& who, std::uint64_t,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    Watcher& watcher = watcher_of(thread);
    watcher.who = who;
    analyze::OpenCalls& calls = calls_.of(thread, &watcher.first());
    (void)visits_.of(who.queue);
    if (watcher.inlined) {
      watcher.inlined->branches(who, batch, calls);
    } else {
      calls.branches(who.space, batch);
    }
    watcher.now = calls.clock();
    return !done_;
  }

  void begin_at(const SegmentStart& start) override {
    const ThreadId& thread = start.segment.thread;
    Watcher& watcher = watcher_of(thread);
    watcher.restart();
    if (watcher.inlined) watcher.inlined->restart(start.segment.last, watcher.now, true);
    calls_.restore(thread, &watcher.first(), start);
    if (watcher.inlined) watcher.inlined->restarted();
    watcher.restarted();
  }

  // The segments of `selected` in which calls begin or end that are to be listed.
  std::vector<std::size_t> choose(session::Session& session, const Index& index,
                                  std::vector<std::size_t> selected);

  // The rows of what is about to be decoded are kept.
  void keep(const Index& index, std::span<const std::size_t> chosen, CallStore& store) {
    keeper_.emplace(index, calls_.following(), name_, chosen, store);
    if (!keeper_->is_worth_it()) keeper_.reset();
  }

  // `whole`: nothing was lost.
  CallList take(bool whole) {
    for (auto& [thread, watcher] : watchers_) watcher.end();
    if (keeper_ && whole) keeper_->store();
    rows_.finish();
    out_.functions.assign(calls_.functions().begin(), calls_.functions().end());
    for (std::uint32_t i = 0; i < judged_.size(); ++i) {
      if (judged_[i] == Judged::called) out_.meant.push_back(i);
    }
    std::vector<std::uint32_t> numbers(inlined_called_.size(), kNobody);
    for (std::uint32_t i = 0; i < inlined_called_.size(); ++i) {
      if (inlined_called_[i]) numbers[i] = add_inlined(i);
    }
    for (CallRow& row : out_.rows) {
      if (row.inlined) row.function = numbers[row.function];
    }
    return std::move(out_);
  }

 private:
  enum class Judged : std::uint8_t { no, meant, called };

  class Watcher final : public analyze::CallWatcher, public InlinedWatcher {
   public:
    Watcher(Lister& lister, const ThreadId& thread) : lister_(lister), thread_(thread) {
      if (lister.inlined_ != nullptr) inlined.emplace(*lister.inlined_, lister.code_, *this, *this);
    }
    // What OpenCalls tells of calls.
    analyze::CallWatcher& first() { return inlined ? *inlined : static_cast<CallWatcher&>(*this); }

    void opened(const analyze::OpenCall& call, std::size_t) override {
      stack_.push_back(call.stub ? kNobody : call.function);
      if (restarting_) return again(call);
      if (!call.stub) begin(call);
    }
    void became(const analyze::OpenCall& call, std::size_t depth) override {
      stack_[depth] = call.function;
      if (depth + 1 == stack_.size()) begin(call);
    }
    void closed(const analyze::OpenCall& call, analyze::CallEnd how,
                const analyze::CallClock& when) override {
      stack_.pop_back();
      if (listed_.empty() || listed_.back().depth != stack_.size()) return;
      const Listed one = listed_.back();
      listed_.pop_back();
      CallRow row = row_of(one, call);
      row.outcome = static_cast<CallRow::Outcome>(how);
      finish(row, one, call, when);
    }
    std::uint64_t began(const InlinedCallBegun& call) override {
      CallRow row{.number = ++lister_.out_.calls,
                  .at = {thread_, call.at.clock.branches, call.at.insn},
                  .pid = call.who.pid,
                  .time = call.at.clock.time,
                  .instructions = call.at.clock.instructions + call.at.insn,
                  .function = call.function,
                  .caller = caller_below(stack_.size()),
                  .site = call.entry,
                  .space = call.who.space,
                  .ticks = call.at.clock.ticks,
                  .inlined = true};
      inlined_rows_.emplace(row.number, row);
      lister_.note_inlined(row.function);
      return row.number;
    }
    void ended(std::uint64_t number, const PathPoint& at, analyze::CallEnd how,
               bool open) override {
      auto row = inlined_rows_.extract(number).mapped();
      row.until = {thread_, at.clock.branches, at.insn};
      row.instructions = at.clock.instructions + at.insn - row.instructions;
      if (row.time != 0 && at.clock.time > row.time) row.duration = at.clock.time - row.time;
      row.outcome = open ? CallRow::Outcome::open : static_cast<CallRow::Outcome>(how);
      lister_.add(row);
    }
    // The path ends here.
    void end() {
      if (inlined) inlined->end(now);
      for (const Listed& one : std::views::reverse(listed_)) {
        CallRow row = row_of(one, one.call);
        finish(row, one, one.call, now);
      }
      listed_.clear();
      stack_.clear();
    }

    // The calls that are open are about to be told, as they are behind a part of the path that was
    // left out: of those that are listed, none has begun or ended there.
    void restart() {
      restarting_ = true;
      stack_.clear();
      before_ = std::exchange(listed_, {});
    }
    void restarted() { restarting_ = false; }

    session::Context who;
    analyze::CallClock now;
    std::optional<InlinedFollower> inlined;

   private:
    struct Listed {
      std::size_t depth = 0;  // its place in stack_
      std::uint32_t caller = kNobody;
      std::uint64_t number = 0;  // 0: of a function that is kept only
      bool kept = false;
      session::Context who;
      analyze::OpenCall call;
    };

    void again(const analyze::OpenCall& call) {
      const auto it = std::ranges::find_if(before_, [&](const Listed& one) {
        return one.call.since == call.since && one.call.entry == call.entry;
      });
      if (it == before_.end()) return;
      Listed& one = listed_.emplace_back(*it);
      one.depth = stack_.size() - 1;
      one.call = call;
      before_.erase(it);
    }
    void begin(const analyze::OpenCall& call) {
      if (!analyze::is_listed(call)) return;
      const bool meant = lister_.called_ && lister_.is_meant(call.function);
      const bool kept = lister_.keeper_ && lister_.keeper_->keeps(call.function);
      if (!meant && !kept) return;
      const std::size_t depth = stack_.size() - 1;
      if (listed_.empty() || listed_.back().depth != depth) listed_.push_back({.depth = depth});
      Listed& one = listed_.back();
      if (meant) one.number = ++lister_.out_.calls;
      if (kept) lister_.keeper_->begin(call.function);
      one.kept = kept;
      one.who = who;
      one.call = call;
      one.caller = caller_below(depth);
    }
    // The innermost function of so many open calls.
    std::uint32_t caller_below(std::size_t depth) const {
      std::uint32_t caller = kNobody;
      while (depth-- > 0 && caller == kNobody) caller = stack_[depth];
      return caller;
    }
    CallRow row_of(const Listed& one, const analyze::OpenCall& call) const {
      return {.number = one.number,
              .at = {thread_, call.since.branches, 0},
              .pid = one.who.pid,
              .time = call.since.time,
              .function = call.function,
              .caller = one.caller,
              .site = call.site,
              .space = one.who.space,
              .ticks = call.since.ticks};
    }
    void finish(CallRow& row, const Listed& one, const analyze::OpenCall& call,
                const analyze::CallClock& when) {
      row.instructions = when.instructions - call.since.instructions;
      row.until = {thread_, when.branches, 0};
      if (row.time != 0 && when.time > row.time) row.duration = when.time - row.time;
      if (one.kept) lister_.keeper_->add(row, lister_.visits_.of(one.who.queue));
      if (one.number != 0) lister_.add(row);
    }

    Lister& lister_;
    ThreadId thread_;
    std::vector<std::uint32_t> stack_;  // functions of all open calls
    std::vector<Listed> listed_;        // of those that are listed or kept
    std::vector<Listed> before_;        // the same, of before a part that was left out
    // Inlined calls that are not over, by number; `instructions` those before it.
    std::map<std::uint64_t, CallRow> inlined_rows_;
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

  Watcher& watcher_of(const ThreadId& thread) {
    return watchers_.try_emplace(thread, *this, thread).first->second;
  }
  void add(const CallRow& row) {
    if (rows_.add(row)) done_ = options_.only != 0;
  }
  void note_inlined(std::uint32_t function) {
    if (inlined_called_.size() <= function) inlined_called_.resize(function + 1);
    inlined_called_[function] = true;
  }
  // The number among all functions of one whose calls were inlined.
  std::uint32_t add_inlined(std::uint32_t number) {
    const analyze::Function& function = inlined_->functions()[number];
    for (const std::uint32_t known : out_.meant) {
      if (is_inlined_as(out_.functions[known], function)) return known;
    }
    out_.meant.push_back(static_cast<std::uint32_t>(out_.functions.size()));
    out_.functions.push_back(function);
    return out_.meant.back();
  }

  ThreadCalls calls_;
  Code code_;
  analyze::FunctionName name_;
  CallListOptions options_;
  InlinedCode* inlined_;
  bool called_;
  std::vector<bool> inlined_called_;  // by function
  std::map<ThreadId, Watcher> watchers_;
  std::vector<Judged> judged_;
  bool done_ = false;  // the only row that is wanted has come
  CallList out_;
  Rows rows_{options_, out_};
  std::optional<RowKeeper> keeper_;
  Visits visits_;
};

std::vector<std::size_t> Lister::choose(session::Session& session, const Index& index,
                                        std::vector<std::size_t> selected) {
  const MeantCallees callees(index, calls_.following(), name_);
  const auto segments = index.segments();
  bool passing = options_.only != 0 && inlined_ == nullptr;
  IndexCursor cursor(index);
  SpotSegments inlined(session, index, [this](auto... code) { return inlined_->meets(code...); });
  std::erase_if(selected, [&](std::size_t i) {
    if (inlined_ != nullptr && inlined.may_run(i)) return false;
    if (!called_) return true;
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

// Whose rows are those of all threads. One call by its number is found without.
CallStore* store_for(const CallListOptions& options) {
  const session::Selection& selection = options.walk.selection;
  const bool all = !selection.pid && !selection.tid && options.only == 0;
  return all && options.index != nullptr ? options.index->calls.get() : nullptr;
}

Result<session::Outcome> walk_calls(session::Session& session, const CallListOptions& options,
                                    Lister& lister) {
  const IndexedRecording* const known = options.index;
  if (known == nullptr || known->index.too_many_callees()) {
    return walk(session, options.walk, lister);
  }
  auto selected = selected_segments(session, known->index, options.walk.selection);
  if (!selected) return walk(session, options.walk, lister);
  const auto chosen = lister.choose(session, known->index, std::move(*selected));
  CallStore* const store = store_for(options);
  if (store != nullptr && chosen.size() >= store->least_segments()) {
    lister.keep(known->index, chosen, *store);
  }
  return walk_segments(*known, chosen, options.walk, lister);
}

// What an earlier question has left.
std::optional<KeptCalls> kept_for(const std::string& name, const CallListOptions& options) {
  CallStore* const store = store_for(options);
  if (store == nullptr) return std::nullopt;
  return kept_calls(*store, analyze::FunctionName(name));
}

CallList list_of(KeptCalls kept, const CallListOptions& options) {
  CallList out{.functions = std::move(kept.functions),
               .meant = std::move(kept.meant),
               .calls = kept.rows.size()};
  Rows rows(options, out);
  for (const CallRow& row : kept.rows) rows.add(row);
  rows.finish();
  return out;
}

// Which thread is walked along before which; nullopt: they take turns.
std::optional<std::map<ThreadId, std::uint32_t>> one_by_one(const Index& index) {
  std::map<ThreadId, std::uint32_t> queues;
  std::map<std::uint32_t, ThreadId> threads;
  for (const Segment& segment : index.segments()) {
    const auto queue = queues.try_emplace(segment.thread, segment.queue).first;
    const auto thread = threads.try_emplace(segment.queue, segment.thread).first;
    if (queue->second != segment.queue || thread->second != segment.thread) return std::nullopt;
  }
  return queues;
}

// Adds calls that were inlined, which `found` has all of, and numbers them all anew.
void add_inlined(const CallList& found, const std::map<ThreadId, std::uint32_t>& order,
                 KeptCalls& kept) {
  const auto base = static_cast<std::uint32_t>(kept.functions.size());
  kept.functions.insert(kept.functions.end(), found.functions.begin(), found.functions.end());
  std::map<std::uint32_t, std::uint32_t> meant;
  for (const std::uint32_t function : found.meant) {
    const auto known = std::ranges::find_if(kept.meant, [&](std::uint32_t other) {
      return is_inlined_as(kept.functions[other], found.functions[function]);
    });
    meant[function] = known != kept.meant.end() ? *known : base + function;
    if (known == kept.meant.end()) kept.meant.push_back(base + function);
  }
  for (CallRow row : found.rows) {
    row.function = meant[row.function];
    if (row.caller != kNobody) row.caller += base;
    kept.rows.push_back(row);
  }
  std::ranges::stable_sort(kept.rows, {}, [&](const CallRow& row) {
    return std::tuple(order.at(row.at.thread), row.at.branch, row.at.insn, row.inlined, row.number);
  });
  std::uint64_t number = 0;
  for (CallRow& row : kept.rows) row.number = ++number;
}

// With the calls that were inlined, for which the path is followed where their code may have run.
// nullopt: the whole question is to be answered by decoding.
Result<std::optional<CallList>> kept_list(session::Session& session, const std::string& name,
                                          const CallListOptions& options, InlinedCode* inlined) {
  auto kept = kept_for(name, options);
  if (!kept) return std::nullopt;
  if (inlined == nullptr) return list_of(*std::move(kept), options);
  const Index& index = options.index->index;
  const auto order = one_by_one(index);
  const auto selected = selected_segments(session, index, options.walk.selection);
  if (!order || !selected) return std::nullopt;
  // A file of rows may have been made up.
  const auto is_known = [&](const CallRow& row) { return order->contains(row.at.thread); };
  if (!std::ranges::all_of(kept->rows, is_known)) return std::nullopt;
  CallListOptions all = options;
  all.slower_than = 0;
  all.order = CallOrder::order;
  all.most = kMostCallRows;
  Lister lister(session, name, all, inlined, false);
  const auto chosen = lister.choose(session, index, *selected);
  auto outcome = walk_segments(*options.index, chosen, options.walk, lister);
  if (!outcome) return std::unexpected(outcome.error());
  CallList found = lister.take(false);
  if (found.left_out != 0) return std::nullopt;
  add_inlined(found, *order, *kept);
  CallList out = list_of(*std::move(kept), options);
  out.outcome = std::move(*outcome);
  return out;
}

}  // namespace

Result<CallList> list_calls(session::Session& session, const std::string& name,
                            const CallListOptions& options) {
  const auto inlined =
      options.inlined ? InlinedCode::find(session, analyze::FunctionName(name)) : nullptr;
  const std::string unknown =
      options.inlined ? analyze::unknown_inlined(session.names()) : std::string();
  auto kept = kept_list(session, name, options, inlined.get());
  if (!kept) return std::unexpected(kept.error());
  if (*kept) {
    (*kept)->unknown = unknown;
    return **std::move(kept);
  }
  Lister lister(session, name, options, inlined.get());
  auto outcome = walk_calls(session, options, lister);
  if (!outcome) return std::unexpected(outcome.error());
  CallList out = lister.take(outcome->losses.empty());
  out.unknown = unknown;
  out.outcome = std::move(*outcome);
  if (out.calls != 0) return out;
  std::vector<std::string> names;
  names.reserve(out.functions.size());
  for (const analyze::Function& f : out.functions) names.push_back(f.name);
  return fail(
      ErrorCode::not_found,
      fmt::format("no call of a function '{}' is in {}{}{}", name, searched(options.walk.selection),
                  analyze::suggestion(analyze::FunctionName(name).name(), names, session.names()),
                  where_lost(out.outcome)));
}

Result<CallRow> find_call(session::Session& session, const std::string& written,
                          const WalkOptions& options, const IndexedRecording* index,
                          std::vector<session::LossLine>* losses) {
  auto spec = parse_moment(written.starts_with("call:") ? written : "call:" + written);
  if (!spec) return std::unexpected(spec.error());
  auto list =
      list_calls(session, spec->name, {.walk = options, .only = spec->count, .index = index});
  if (!list) {
    Error error = list.error();
    const bool has_number = written.find('#') != std::string::npos;
    if (error.code == ErrorCode::not_found && !has_number) {
      error.message += "; a call is written FUNCTION#N, as 'hodo list' numbers them";
    }
    return std::unexpected(error);
  }
  if (losses != nullptr) add_losses(*losses, list->outcome.losses);
  if (!list->rows.empty()) return list->rows.front();
  return fail(
      ErrorCode::not_found,
      fmt::format("call {} of {} was asked for, and there {}{}{}", spec->count, spec->name,
                  list->calls == 1 ? "is only one" : fmt::format("are only {}", list->calls),
                  where_lost(list->outcome), list->unknown.empty() ? "" : "; " + list->unknown));
}

}  // namespace hodo::ask
