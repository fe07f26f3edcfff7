#include "inherited.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "thread_calls.h"

namespace hodo::ask {
namespace {

constexpr std::size_t kMostForebears = 16;
constexpr std::size_t kMostBack = 4;  // segments before the fork's time that it is looked for in
// Of the child's own, in which calls that it began with were left.
constexpr std::uint64_t kMostReplayed = std::uint64_t{1} << 20;

// A fork on the path of the thread that made it.
struct Fork {
  Moment at;               // behind the system call
  std::uint64_t time = 0;  // nanoseconds, of that branch
  analyze::SavedCalls calls;
};

// The last place on a thread's path, up to a time, where it made a system call that it came back
// from to a given address: a fork gives its child the same one.
class ForkSearch final : public ThreadSink {
 public:
  ForkSearch(session::Session& session, const ThreadId& thread, std::uint64_t address,
             std::uint64_t until)
      : calls_(session),
        clock_(session.clock()),
        thread_(thread),
        address_(address),
        until_(until) {}

  void begin_at(const Index& index, std::size_t segment) {
    calls_.of(thread_, nullptr).restore(index.calls_at(segment, calls_.following().return_sites()));
  }

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    if (!(thread_of(who) == thread_)) return true;
    analyze::OpenCalls& calls = calls_.of(thread_, nullptr);
    std::uint64_t number = first;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      const std::uint64_t before = time_;
      if (branch.time != 0) time_ = clock_.nanoseconds(branch.time);
      if (std::exchange(stopped_, false) && before > until_) return false;
      if (may_fork_ && branch.kind == BranchKind::begin && branch.to == address_) {
        found_ = Fork{.at = {thread_, number - 1, 0}, .time = before, .calls = calls.save()};
      }
      calls.branch(who.space, branch);
      stopped_ = branch.to == 0;
      may_fork_ = stopped_ && time_ <= until_;
      ++number;
    }
    return time_ <= until_ || stopped_;
  }
  std::optional<Fork> take() { return std::move(found_); }

 private:
  ThreadCalls calls_;
  session::Clock clock_;
  ThreadId thread_;
  std::uint64_t address_;
  std::uint64_t until_;
  std::uint64_t time_ = 0;
  bool stopped_ = false;   // by the branch before
  bool may_fork_ = false;  // and that was before the time
  std::optional<Fork> found_;
};

Result<std::optional<Fork>> fork_of_thread(session::Session& session, const ThreadId& thread,
                                           std::uint64_t address, std::uint64_t until,
                                           const SceneOptions& options) {
  if (options.index == nullptr) {
    ForkSearch search(session, thread, address, until);
    auto outcome = walk(session, {.selection = only(thread), .progress = options.progress}, search);
    if (!outcome) return std::unexpected(outcome.error());
    return search.take();
  }
  const auto segments = options.index->index.segments();
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const bool before = own.empty() || segments[i].time <= until;
    if (segments[i].thread == thread && before) own.push_back(i);
  }
  for (std::size_t back = 0; back < std::min(own.size(), kMostBack); ++back) {
    const std::size_t segment = own[own.size() - 1 - back];
    ForkSearch search(session, thread, address, until);
    search.begin_at(options.index->index, segment);
    auto outcome = walk_from(*options.index, segment, search);
    if (!outcome) return std::unexpected(outcome.error());
    if (auto found = search.take()) return found;
  }
  return std::nullopt;
}

// The process that forked another, if it was recorded, too.
const session::Process* parent_of(const session::Facts& facts, const session::Process& child) {
  const session::Process* out = nullptr;
  for (const session::Process& process : facts.processes) {
    const bool lived = process.start <= child.start && child.start <= process.end;
    if (&process != &child && process.pid == child.ppid && lived) out = &process;
  }
  return out;
}

// Where a process was forked that goes on at an address.
Result<std::optional<Fork>> fork_of(session::Session& session, const session::Process& child,
                                    std::uint64_t address, const SceneOptions& options) {
  const session::Facts& facts = *session.facts();
  std::optional<Fork> out;
  const session::Process* const parent = parent_of(facts, child);
  if (parent == nullptr) return out;
  for (const std::uint32_t number : parent->threads) {
    const session::Thread& thread = facts.threads[number];
    if (thread.start > child.start || thread.end < child.start) continue;
    auto fork = fork_of_thread(session, {.tid = thread.tid}, address, child.start, options);
    if (!fork) return fork;
    if (*fork && (!out || (*fork)->time >= out->time)) out = std::move(**fork);
  }
  return out;
}

// Follows a child from its beginning with the calls that it began with.
class Replay final : public ThreadSink, analyze::CallWatcher {
 public:
  // Up to branch `last`.
  Replay(session::Session& session, const ThreadId& child, std::uint64_t last)
      : calls_(session), child_(child), last_(last) {}

  // `stopped_at`: where its parent made the system call that it begins behind.
  void begin_with(const session::Context& who, std::uint64_t stopped_at,
                  std::vector<analyze::SavedCall> calls, std::vector<analyze::SetJump> set_jumps) {
    calls_.of(child_, this)
        .restore({.space = who.space,
                  .started = true,
                  .ended_at = stopped_at,
                  .open = std::move(calls),
                  .set_jumps = std::move(set_jumps)});
    left_ = depth_;
  }
  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    if (!(thread_of(who) == child_)) return true;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      if (first > last_) return false;
      calls_.of(child_, this).branch(who.space, branch);
      ++first;
    }
    return first <= last_;
  }

  // The calls that it began with and has not left; outermost first. Nothing if it is not there.
  std::vector<analyze::OpenCall> kept() {
    auto open = calls_.of(child_, this).open();
    if (open.size() != left_) open.clear();
    return open;
  }
  const analyze::Function& function(const analyze::OpenCall& call) const {
    return calls_.functions()[call.function];
  }

 private:
  void opened(const analyze::OpenCall&, std::size_t depth) override { depth_ = depth + 1; }
  void became(const analyze::OpenCall&, std::size_t) override {}
  void closed(const analyze::OpenCall&, analyze::CallEnd, const analyze::CallClock&) override {
    left_ = std::min(left_, --depth_);
  }

  ThreadCalls calls_;
  ThreadId child_;
  std::uint64_t last_;
  std::size_t depth_ = 0;
  std::size_t left_ = 0;
};

// Where a thread's path begins.
class Beginning final : public ThreadSink {
 public:
  explicit Beginning(const ThreadId& thread) : thread_(thread) {}
  bool branches(const session::Context& who, std::uint64_t,
                std::span<const Branch> batch) override {
    if (!(thread_of(who) == thread_) || batch.empty()) return true;
    found = {batch.front(), who};
    return false;
  }
  std::optional<std::pair<Branch, session::Context>> found;

 private:
  ThreadId thread_;
};

Status walk_child(session::Session& session, const ThreadId& child, const SceneOptions& options,
                  ThreadSink& sink) {
  const std::size_t segment =
      options.index == nullptr ? Index::kNone : options.index->index.at(child, 0);
  auto outcome =
      segment != Index::kNone
          ? walk_from(*options.index, segment, sink)
          : walk(session, {.selection = only(child), .progress = options.progress}, sink);
  if (!outcome) return std::unexpected(outcome.error());
  return {};
}

// Whether a process may have begun with the outermost of these calls, into which so many branches
// of it led.
bool may_inherit(const session::Process& process, analyze::CallEntry outermost,
                 std::uint64_t branches) {
  return process.start != 0 && outermost == analyze::CallEntry::first && branches <= kMostReplayed;
}

// The process of a scene, if it may have begun with the outermost call; or null.
const session::Process* heir_of(const session::Session& session, const Scene& scene) {
  const session::Facts* const facts = session.facts();
  if (facts == nullptr || scene.calls.empty() || scene.last_loss != 0) return nullptr;
  if (scene.who.tid != scene.who.pid || scene.who.space >= facts->processes.size()) return nullptr;
  const session::Process& process = facts->processes[scene.who.space];
  const OpenFrame& outermost = scene.calls.back();
  const bool may = may_inherit(process, outermost.how, outermost.entered.branch);
  return may && process.pid == scene.who.pid ? &process : nullptr;
}

// A process, and how it began.
struct Birth {
  Branch begin;
  session::Context who;
  Fork fork;
  std::uint64_t left = 0;  // of its branches: behind them calls that it began with are left no more
};

// That of a process and of those that it comes from, the youngest first, as far as it is known and
// they began with calls of others.
Result<std::vector<Birth>> births_of(session::Session& session, const session::Process* process,
                                     std::uint64_t left, const SceneOptions& options) {
  std::vector<Birth> out;
  while (process != nullptr && out.size() < kMostForebears) {
    const ThreadId thread{.tid = process->pid};
    Beginning beginning(thread);
    if (auto status = walk_child(session, thread, options, beginning); !status) {
      return std::unexpected(status.error());
    }
    if (!beginning.found || beginning.found->first.kind != BranchKind::begin) break;
    const auto& [begin, who] = *beginning.found;
    auto fork = fork_of(session, *process, begin.to, options);
    if (!fork) return std::unexpected(fork.error());
    if (!*fork || (*fork)->calls.open.empty()) break;
    out.push_back({.begin = begin, .who = who, .fork = std::move(**fork), .left = left});
    const Fork& found = out.back().fork;
    const analyze::SavedCall& outermost = found.calls.open.front();
    left = outermost.since.branches;
    process = parent_of(*session.facts(), *process);
    const bool goes_on = found.at.thread.tid == process->pid && found.calls.last_loss == 0 &&
                         may_inherit(*process, outermost.how, left);
    if (!goes_on) break;
  }
  return out;
}

// Calls with whose they are, outermost first.
struct Entered {
  analyze::SavedCall call;
  ThreadId thread;
  std::uint64_t ran = 0;  // instructions of that thread and of those behind it
};

std::vector<Entered> entered_at(const Fork& fork) {
  std::vector<Entered> out;
  out.reserve(fork.calls.open.size());
  for (const analyze::SavedCall& call : fork.calls.open) {
    out.push_back({call, fork.at.thread, fork.calls.clock.instructions});
  }
  return out;
}

// The fork's, where its calls are the innermost of so many.
std::vector<analyze::SetJump> set_jumps_of(const Fork& fork, std::size_t calls) {
  std::vector<analyze::SetJump> out = fork.calls.set_jumps;
  for (analyze::SetJump& jump : out) {
    jump.level += static_cast<std::uint32_t>(calls - fork.calls.open.size());
  }
  return out;
}

// What `child` has not left of the calls that it began with, with its own in the place of the
// outermost one that it knew; if none is left, its own.
std::vector<Entered> grafted(std::vector<Entered> calls, std::size_t kept, const Fork& of_child) {
  std::vector<Entered> own = entered_at(of_child);
  if (kept == 0) return own;
  calls.resize(kept);
  for (Entered& call : calls) call.ran += of_child.calls.clock.instructions;
  calls.insert(calls.end(), own.begin() + 1, own.end());
  return calls;
}

// Puts what a child kept of its parent's calls in the place of the scene's outermost call.
void take_over(Scene& scene, Replay& replay, std::span<const Entered> calls, std::uint64_t began) {
  const auto kept = replay.kept();
  const OpenFrame base = scene.calls.back();
  if (kept.empty() || replay.function(kept.back()).name != base.name) return;
  scene.calls.pop_back();
  std::uint64_t at = base.at;
  std::uint64_t at_time = base.at_time;
  for (std::size_t i = kept.size(); i-- > 0;) {
    const analyze::OpenCall& call = kept[i];
    if (!call.stub || i + 1 == kept.size()) {
      const analyze::Function& f = replay.function(call);
      scene.calls.push_back({.name = f.name,
                             .object = f.object,
                             .at = at,
                             .at_time = at_time,
                             .entered = {calls[i].thread, call.since.branches, 0},
                             .entry_time = call.since.time,
                             .instructions = scene.ran + calls[i].ran - call.since.instructions,
                             .how = call.how});
    }
    at = call.site;
    at_time = began;  // the child's mappings are asked
  }
}

}  // namespace

Status add_inherited_calls(session::Session& session, Scene& scene, const SceneOptions& options) {
  const session::Process* const heir = heir_of(session, scene);
  if (heir == nullptr) return {};
  const auto births = births_of(session, heir, scene.calls.back().entered.branch, options);
  if (!births) return std::unexpected(births.error());
  if (births->empty()) return {};
  std::vector<Entered> calls = entered_at(births->back().fork);
  for (std::size_t i = births->size(); i-- > 0;) {
    const Birth& birth = (*births)[i];
    const ThreadId child{.tid = birth.who.tid};
    Replay replay(session, child, birth.left);
    std::vector<analyze::SavedCall> open;
    open.reserve(calls.size());
    for (const Entered& call : calls) open.push_back(call.call);
    replay.begin_with(birth.who, birth.fork.calls.ended_at, std::move(open),
                      set_jumps_of(birth.fork, calls.size()));
    if (auto status = walk_child(session, child, options, replay); !status) return status;
    if (i == 0) {
      take_over(scene, replay, calls, birth.begin.time);
    } else {
      calls = grafted(std::move(calls), replay.kept().size(), (*births)[i - 1].fork);
    }
  }
  return {};
}

}  // namespace hodo::ask
