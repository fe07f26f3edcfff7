#include "hodo/ask/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "hodo/ask/find.h"
#include "hodo/ask/occurrences.h"
#include "hodo/base/last_component.h"
#include "hodo/base/page.h"
#include "hodo/base/written_bytes.h"
#include "hodo/flow/decoder.h"
#include "occurring.h"
#include "thread_calls.h"

namespace hodo::ask {
namespace {

// Whether an address lies in the module that is meant, by page.
class ModuleTest {
 public:
  ModuleTest(const session::Names& names, const std::string& module)
      : names_(names), module_(written_bytes(module)) {}

  bool has(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
    if (address == 0) return false;
    const Key key{space, names_.naming(space, time), address >> kPageBits};
    if (auto it = known_.find(key); it != known_.end()) return it->second;
    if (known_.size() == kMostKept) known_.clear();
    const std::string path = names_.object(space, address, time).path;
    if (seen_.size() < kMostSeen) seen_.emplace(last_component(path));
    const bool is = path.find(module_) != path.npos;
    found_ |= is;
    return known_[key] = is;
  }
  bool found() const { return found_; }
  std::vector<std::string> seen() const { return {seen_.begin(), seen_.end()}; }

 private:
  static constexpr std::size_t kMostKept = std::size_t{1} << 18;
  static constexpr std::size_t kMostSeen = 10'000;
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

  const session::Names& names_;
  std::string module_;
  std::map<Key, bool> known_;
  std::set<std::string> seen_;
  bool found_ = false;
};

// Whether a call of the function is open in a thread.
class FunctionTest final : public analyze::CallWatcher {
 public:
  explicit FunctionTest(const std::function<bool(std::uint32_t)>& is_meant) : is_meant_(is_meant) {}

  void opened(const analyze::OpenCall& call, std::size_t) override {
    stack_.push_back(!call.stub && is_meant_(call.function));
    open_ += stack_.back() ? 1 : 0;
  }
  void became(const analyze::OpenCall& call, std::size_t depth) override {
    open_ -= stack_[depth] ? 1 : 0;
    stack_[depth] = is_meant_(call.function);
    open_ += stack_[depth] ? 1 : 0;
  }
  void closed(const analyze::OpenCall&, analyze::CallEnd, const analyze::CallClock&) override {
    open_ -= stack_.back() ? 1 : 0;
    stack_.pop_back();
  }
  bool open() const { return open_ != 0; }

 private:
  const std::function<bool(std::uint32_t)>& is_meant_;
  std::vector<bool> stack_;
  std::size_t open_ = 0;
};

class Filter final : public SegmentSink {
 public:
  // `selected`: in which threads it is looked for.
  Filter(session::Session& session, const Window& window, const WindowOptions& options,
         const session::Selection& selected, std::map<ThreadId, std::uint64_t> ends,
         NumberedSink& sink)
      : window_(window),
        searched_(searched(selected)),
        mark_gaps_(options.mark_gaps),
        ends_(std::move(ends)),
        sink_(sink),
        clock_(session.clock()),
        calls_(session),
        function_(window.function),
        module_(session.names(), window.module) {
    is_meant_ = [this](std::uint32_t f) {
      const bool is = function_.means(calls_.functions()[f]);
      found_function_ |= is;
      return is;
    };
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    const ThreadId thread = thread_of(who);
    if (window_.thread && thread != *window_.thread) return true;
    found_thread_ = true;
    out_.clear();
    numbers_.clear();
    Thread& state = threads_.try_emplace(thread).first->second;
    std::uint64_t number = first;
    for (const Branch& branch : batch) {
      const bool counted = (branch.flags & kNotTaken) == 0;
      const bool in = wanted(who, thread, number, branch, state);
      if (in) let_through(branch, number, state);
      state.in = in;
      state.before = branch;
      if (counted) ++number;
    }
    const bool past = window_.thread && number > window_.to;
    return (out_.empty() || sink_.branches(who, numbers_, out_)) && !past;
  }

  void begin_at(const SegmentStart& start) override {
    Thread& state = threads_.try_emplace(start.segment.thread).first->second;
    state.before = start.segment.last;
    state.in = false;
  }

  // The segments of `selected` in which something may be let through.
  std::vector<std::size_t> choose(const Index& index, const std::vector<std::size_t>& selected);

  flow::Stats stats;
  Status found(const session::Names& files) const;

 private:
  struct Thread {
    Branch before{.kind = BranchKind::end};
    std::unique_ptr<FunctionTest> test;
    bool in = false;
  };

  bool wanted(const session::Context& who, const ThreadId& thread, std::uint64_t number,
              const Branch& branch, Thread& state) {
    bool in = number > window_.from && number <= window_.to;
    if (in && !in_time(branch)) in = false;
    if (window_.last) in &= ends_[thread] - number < *window_.last;
    if (!window_.module.empty()) {
      in &= module_.has(who.space, branch.from, branch.time) ||
            module_.has(who.space, branch.to, branch.time);
    }
    if (!window_.function.empty()) in &= in_function(who, thread, branch, state);
    return in;
  }
  bool in_time(const Branch& branch) {
    if (window_.from_time == 0 && window_.to_time == ~std::uint64_t{0}) return true;
    const std::uint64_t now = clock_.nanoseconds(branch.time);
    return now >= window_.from_time && now <= window_.to_time;
  }
  bool in_function(const session::Context& who, const ThreadId& thread, const Branch& branch,
                   Thread& state) {
    if (!state.test) state.test = std::make_unique<FunctionTest>(is_meant_);
    const bool before = state.test->open();
    calls_.of(thread, state.test.get()).branch(who.space, branch);
    return before || state.test->open();
  }
  void let_through(const Branch& branch, std::uint64_t number, Thread& state) {
    if (mark_gaps_ && !state.in && branch.kind != BranchKind::begin) {
      const std::uint64_t begin = flow::line_behind(state.before);
      out_.push_back({.to = begin != 0 ? begin : branch.from,
                      .time = branch.time,
                      .kind = BranchKind::begin,
                      .flags = kResync});
      numbers_.push_back(number);
    }
    const bool taken = (branch.flags & kNotTaken) == 0;
    out_.push_back(branch);
    numbers_.push_back(number);
    stats.instructions += branch.insns;
    ++(taken ? stats.branches[static_cast<std::size_t>(branch.kind)] : stats.not_taken);
  }

  Window window_;
  std::string searched_;
  bool mark_gaps_;
  std::map<ThreadId, std::uint64_t> ends_;
  NumberedSink& sink_;
  session::Clock clock_;
  ThreadCalls calls_;
  analyze::FunctionName function_;
  std::function<bool(std::uint32_t)> is_meant_;
  bool found_function_ = false;
  bool found_thread_ = false;
  ModuleTest module_;
  std::map<ThreadId, Thread> threads_;
  std::vector<Branch> out_;
  std::vector<std::uint64_t> numbers_;  // of them
};

std::vector<std::size_t> Filter::choose(const Index& index,
                                        const std::vector<std::size_t>& selected) {
  std::vector<std::size_t> out;
  const auto segments = index.segments();
  for (const std::size_t i : selected) {
    const Segment& s = segments[i];
    if (window_.thread && s.thread != *window_.thread) continue;
    found_thread_ = true;
    std::uint64_t from = window_.from;
    if (window_.last) {
      const auto end = ends_.find(s.thread);
      const std::uint64_t all = end == ends_.end() ? 0 : end->second;
      from = std::max(from, all - std::min(all, *window_.last));
    }
    const auto ends_before = [&](std::size_t segment) {
      const std::size_t next = next_of_thread(segments, segment);
      if (next == segments.size()) return false;
      return segments[next].branches < from || segments[next].time < window_.from_time;
    };
    // What lies just before the window says where its first line of code begins.
    const std::size_t next = next_of_thread(segments, i);
    const bool before = next != segments.size() && ends_before(next);
    const bool outside = before || s.branches > window_.to || s.time > window_.to_time;
    const bool told = s.lossy && (!window_.thread || s.branches <= window_.to);
    if (!outside || told) out.push_back(i);
  }
  return out;
}

Status Filter::found(const session::Names& files) const {
  if (window_.thread && !found_thread_) {
    return fail(ErrorCode::not_found, fmt::format("nothing of a thread {} is in the recording",
                                                  to_string(*window_.thread)));
  }
  if (!window_.module.empty() && !module_.found()) {
    return fail(ErrorCode::not_found,
                fmt::format("no code of a module '{}' ran{}", window_.module,
                            module_suggestion(window_.module, module_.seen())));
  }
  if (!window_.function.empty() && !found_function_) {
    std::vector<std::string> names;
    names.reserve(calls_.functions().size());
    for (const analyze::Function& f : calls_.functions()) names.push_back(f.name);
    return fail(ErrorCode::not_found,
                fmt::format("no call of a function '{}' is in {}{}", window_.function, searched_,
                            analyze::suggestion(analyze::FunctionName(window_.function).name(),
                                                names, files)));
  }
  return {};
}

Result<session::Outcome> walk_window(session::Session& session, const Window& window,
                                     const WindowOptions& options, const WalkOptions& how,
                                     Filter& filter) {
  const IndexedRecording* const known = options.index;
  // Whether a function or module ran at all only the whole path tells.
  const bool whole = !(window.function.empty() && window.module.empty());
  if (known == nullptr || whole) return walk(session, how, filter);
  const auto selected = selected_segments(session, known->index, how.selection);
  if (!selected) return walk(session, how, filter);
  return walk_segments(*known, filter.choose(known->index, *selected), how, filter);
}

class Runs final : public session::BranchSink {
 public:
  explicit Runs(session::RunSink& sink) : sink_(sink) {}

  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    std::uint64_t& begin = begins_[thread_of(who)];
    out_.clear();
    for (const Branch& b : batch) {
      out_.push_back(
          {.edge = {.from = b.from, .to = b.to, .count = 1, .kind = b.kind, .flags = b.flags},
           .begin = b.kind == BranchKind::begin ? 0 : begin,
           .time = b.time,
           .insns = b.insns});
      begin = flow::line_behind(b);
    }
    return sink_.runs(who, out_);
  }

 private:
  session::RunSink& sink_;
  std::map<ThreadId, std::uint64_t> begins_;
  std::vector<flow::RunCount> out_;
};

}  // namespace

Result<session::Outcome> decode_window(session::Session& session, const Window& window,
                                       const WindowOptions& options, NumberedSink& sink) {
  WalkOptions how = options.walk;
  if (window.thread && window.thread->tid >= 0) how.selection.tid = window.thread->tid;
  std::map<ThreadId, std::uint64_t> ends;
  if (window.last) {
    WalkOptions counting = how;
    counting.not_taken = false;
    auto lasts = last_moments(session, counting, nullptr, options.index);
    if (!lasts) return std::unexpected(lasts.error());
    for (const LastMoment& last : *lasts) ends[last.moment.thread] = last.number;
  }
  Filter filter(session, window, options, how.selection, std::move(ends), sink);
  auto outcome = walk_window(session, window, options, how, filter);
  if (!outcome) return outcome;
  if (Status found = filter.found(session.names()); !found) {
    found.error().message += where_lost(*outcome);
    return std::unexpected(found.error());
  }
  outcome->stats.instructions = filter.stats.instructions;
  outcome->stats.not_taken = filter.stats.not_taken;
  outcome->stats.branches = filter.stats.branches;
  add_losses(outcome->losses, window.losses);
  return outcome;
}

namespace {

// For those who do not ask for numbers.
class Unnumbered final : public NumberedSink {
 public:
  explicit Unnumbered(session::BranchSink& sink) : sink_(sink) {}
  bool branches(const session::Context& who, std::span<const std::uint64_t>,
                std::span<const Branch> batch) override {
    return sink_.branches(who, batch);
  }

 private:
  session::BranchSink& sink_;
};

}  // namespace

Result<session::Outcome> decode_window(session::Session& session, const Window& window,
                                       const WindowOptions& options, session::BranchSink& sink) {
  Unnumbered unnumbered(sink);
  return decode_window(session, window, options, unnumbered);
}

std::unique_ptr<session::BranchSink> as_runs(session::RunSink& sink) {
  return std::make_unique<Runs>(sink);
}

}  // namespace hodo::ask
