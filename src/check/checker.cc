#include "hodo/check/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "chains.h"
#include "doubt.h"
#include "edge.h"
#include "edge_cache.h"
#include "edge_rules.h"
#include "findings.h"
#include "hodo/check/recent.h"
#include "hodo/perfdata/model.h"
#include "hodo/session/time_order.h"
#include "hodo/text/names.h"
#include "path_summary.h"
#include "scope.h"
#include "shadow_stack.h"

namespace hodo::check {
namespace {

bool is_near_transfer(BranchKind kind) { return kind <= BranchKind::ret; }

// Nothing of it concerns a program.
bool is_kernels(const Branch& branch) {
  return (is_kernel(branch.from) || branch.from == 0) && (is_kernel(branch.to) || branch.to == 0) &&
         branch.kind != BranchKind::lost;
}

// Of one process, from different calls.
constexpr std::size_t kMostForkCalls = 256;

// What is more than a call, a return or a jump.
constexpr PathFacts kNeedsHistory = kFromSwitch | kToSetjmp | kToImage | kFromLinker | kToLoader;

}  // namespace

class Checker::Impl {
 public:
  Impl(session::Session& session, const Options& options);

  void batch(const session::Context& context, const flow::Repeats& batch);

  void move_to(session::Session& session);
  std::span<const Finding> found() const { return found_.all(); }
  std::vector<Finding> findings() const;
  std::vector<Unjudged> unjudged() const;
  std::uint64_t checked() const { return checked_; }

 private:
  // A process from its beginning to its end, by number and start: spaces are counted anew with each
  // session of a recording.
  using Life = std::pair<std::int32_t, std::uint64_t>;
  struct Thread {
    std::optional<Life> life;
    bool fresh = true;  // nothing of it has been seen
    ShadowStack stack;
    Recent recent;
    Chain returns;
    Chain jumps;
    std::vector<std::size_t> open;  // findings that still collect what comes after
    Doubt doubt;
    std::uint64_t executed = 0;     // branches before the row at work
    std::uint64_t loader_call = 0;  // behind the last call of dlopen through a pointer
  };
  struct ForkCall {
    std::uint64_t time = 0;
    ShadowStack stack;
  };
  // What a process has done from its beginning.
  struct Past {
    bool whole = false;                // all of it was seen
    std::set<std::uint64_t> returned;  // behind every call that it has made
    std::optional<Life> parent;        // whose calls were its own, too
    std::vector<ForkCall> forks;       // by time
    bool forgot = false;               // there were more
    std::uint64_t seen = 0;            // when a thread last came back from the kernel
  };
  // Branches of one thread at work.
  struct Batch {
    const session::Context& context;
    const flow::Repeats& branches;
    Thread& thread;
    flow::Repeats::Position at{};  // the row at work begins here
    std::uint64_t time = 0;
    std::uint32_t generation = 0;  // of the mappings at that time
    std::uint64_t salt = 0;        // of both
    bool steady = false;           // the same for all branches
  };
  // One branch at work.
  struct Step {
    const session::Context& context;
    const Branch& branch;
    Thread& thread;
    KnownEdge& edge;
    const Batch& batch;
    std::span<const Branch> before;  // of the row at work

    std::vector<Branch> recent() const {
      return thread.recent.list(batch.branches, batch.at, before);
    }
    // How many branches of the thread came before.
    std::uint64_t position() const { return thread.executed + before.size(); }
  };

  bool wanted(RuleId id) const { return wanted_[static_cast<std::size_t>(id)]; }
  Life life(std::uint32_t space) const;
  Past& past(std::uint32_t space) { return pasts_[life(space)]; }
  Thread& thread_of(const session::Context& context);
  KnownEdge& known_edge(const session::Context& context, const Branch& branch,
                        std::uint32_t generation);
  void judge(const session::Context& context, const Branch& branch, KnownEdge& known);
  void each(Batch& batch, std::span<const Branch> row);
  void each_walked(Batch& batch, std::size_t end);
  bool follow_path(const Batch& batch, const flow::Repeat& repeat);
  void summarize(const Batch& batch, const flow::Repeat& repeat);
  std::optional<EdgeEffect> effect_of(const Batch& batch, const Branch& branch);
  std::span<const Branch> branches_of(const Batch& batch, const flow::Repeat& repeat);
  void step(const Step& step);
  void follow(const Step& step);
  void follow_return(const Step& step);
  void follow_jump(const Step& step);
  void follow_absence(const Step& step);
  void come_back(const Step& step);
  void begin_as_child(const Step& step);
  void keep_for_children(const Step& step);
  void lose(const Step& step);
  bool is_nearby(const Step& step, std::uint64_t interrupted);
  bool is_uncalled(const Step& step);
  void note_unjudged(const Edge& edge);
  void learn(const Edge& edge);
  void look_for_strangers(const Step& step);
  void look_at_loaded(const Step& step);
  bool is_loaders(const Step& step, std::uint64_t address);
  void report(const Step& step, RuleId id, Grade grade, std::string reason, std::string cause = {});
  void count(const Step& step, std::size_t index);
  void doubt(Finding& finding) const;
  void begin_context(const Step& step, Finding& finding);
  std::string cause_of(std::uint32_t space, const Branch& branch);
  void collect_after(Thread& thread, const Branch& branch);

  session::Session* session_;
  Locator locator_;
  std::array<bool, kRuleCount> wanted_{};
  bool allow_jit_ = false;
  bool uses_baseline_ = false;
  Baseline* learn_ = nullptr;
  std::vector<std::unique_ptr<EdgeRule>> edge_rules_;
  EdgeCache edges_;
  EdgeCache plain_edges_;
  PlainBranches plain_;
  PathSummaries summaries_;
  PathEffectBuilder summary_;                       // for summarize()
  std::vector<Branch> path_;                        // for branches_of()
  std::vector<std::vector<std::size_t>> lists_{1};  // of findings, by KnownEdge::findings
  std::map<std::pair<std::int32_t, std::int32_t>, Thread> threads_;
  std::map<Life, Past> pasts_;
  std::vector<session::Fork> forks_;
  Findings found_;
  std::uint64_t losses_ = 0;  // seen so far, in all threads
  std::map<std::string, std::uint64_t> unread_;
  std::map<std::string, std::uint64_t> unread_before_;  // in other sessions of the recording
  std::map<std::string, std::uint64_t, std::less<>> without_id_;  // as far as baselines need ids
  // The libraries that the dynamic linker has called into, by space.
  std::set<std::pair<std::uint32_t, const text::Module*>> loaded_;
  std::uint64_t checked_ = 0;
};

Checker::Impl::Impl(session::Session& session, const Options& options)
    : session_(&session),
      locator_(session, options.cache),
      allow_jit_(options.allow_jit),
      uses_baseline_(options.baseline != nullptr || options.learn != nullptr),
      learn_(options.learn),
      edge_rules_(make_edge_rules(options)),
      forks_(session.regions()->forks()) {
  for (std::size_t i = 0; i < kRuleCount; ++i) {
    wanted_[i] = is_wanted(static_cast<RuleId>(i), options);
  }
}

void Checker::Impl::move_to(session::Session& session) {
  session_ = &session;
  locator_.move_to(session);
  forks_ = session.regions()->forks();
  edges_ = EdgeCache();
  plain_edges_ = EdgeCache();
  plain_ = PlainBranches();
  summaries_ = PathSummaries();
  // Those that are met again are counted again.
  for (const auto& [path, count] : std::exchange(unread_, {})) {
    std::uint64_t& most = unread_before_[path];
    most = std::max(most, count);
  }
}

void Checker::Impl::batch(const session::Context& context, const flow::Repeats& batch) {
  constexpr std::size_t kAhead = 12;
  constexpr std::size_t kSoon = 5;
  if (batch.empty()) return;
  const session::Names& names = session_->names();
  Batch all{.context = context,
            .branches = batch,
            .thread = thread_of(context),
            .time = batch.first_time()};
  all.generation = names.generation(context.space, all.time);
  all.salt = PlainBranches::salt(context.space, all.generation);
  // Mostly, no mapping changes while a batch runs.
  all.steady = all.generation == names.generation(context.space, batch.last_time());
  const auto list = batch.list;
  if (all.steady && !list.empty()) summaries_.select(batch.memory, all.salt);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + kAhead < list.size()) summaries_.prefetch(list[i + kAhead].path);
    if (i + kSoon < list.size()) summaries_.prefetch_effect(list[i + kSoon].path);
    if (all.at.walked != list[i].begin) each_walked(all, list[i].begin);
    checked_ += list[i].count;
    if (!all.steady || !follow_path(all, list[i])) each(all, branches_of(all, list[i]));
    ++all.at.repeats;
  }
  each_walked(all, batch.walked.size());
  all.thread.recent.add(batch);
}

// Numbers of threads are used again.
Checker::Impl::Thread& Checker::Impl::thread_of(const session::Context& context) {
  Thread& thread = threads_[{context.pid, context.tid}];
  const Life now = life(context.space);
  if (thread.life == now) return thread;
  thread = Thread{.life = now};
  return thread;
}

Checker::Impl::Life Checker::Impl::life(std::uint32_t space) const {
  const perfdata::Session* recording = session_->recording();
  if (recording == nullptr || space >= recording->processes().size()) return {-1, space};
  const perfdata::Process& process = recording->processes()[space];
  return {process.pid, process.start};
}

std::span<const Branch> Checker::Impl::branches_of(const Batch& batch, const flow::Repeat& repeat) {
  path_.clear();
  batch.branches.append(repeat, path_);
  return path_;
}

void Checker::Impl::each_walked(Batch& batch, std::size_t end) {
  const std::size_t count = end - batch.at.walked;
  each(batch, batch.branches.walked.subspan(batch.at.walked, count));
  batch.at.walked = end;
  checked_ += count;
}

// A row of branches without others between.
void Checker::Impl::each(Batch& batch, std::span<const Branch> row) {
  const session::Context& context = batch.context;
  Thread& thread = batch.thread;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const Branch& branch = row[i];
    if (!batch.steady && branch.time != batch.time) {
      batch.time = branch.time;
      batch.generation = session_->names().generation(context.space, batch.time);
      batch.salt = PlainBranches::salt(context.space, batch.generation);
    }
    if (!thread.open.empty()) collect_after(thread, branch);
    const bool plain = PlainBranches::fits(branch);
    if (plain && plain_.contains(branch, batch.salt)) continue;
    if (is_kernels(branch)) continue;
    KnownEdge& edge = known_edge(context, branch, batch.generation);
    step({context, branch, thread, edge, batch, row.first(i)});
    if (plain && edge.findings == 0) plain_.add(branch, batch.salt);
  }
  thread.executed += row.size();
}

// False: the branches have to be looked at one by one.
bool Checker::Impl::follow_path(const Batch& batch, const flow::Repeat& repeat) {
  Thread& thread = batch.thread;
  if (!thread.open.empty()) return false;
  auto known = summaries_.known(repeat.path);
  if (known == PathSummaries::Known::no) {
    summarize(batch, repeat);
    known = summaries_.known(repeat.path);
  }
  if (known != PathSummaries::Known::simple) return false;
  const PathEffect effect = summaries_.effect(repeat.path);
  if (effect.ends_returns) {  // there are calls or returns
    if (!thread.stack.follow(effect.returned, effect.called)) return false;
    thread.returns.end();
  }
  if (effect.ends_jumps) thread.jumps.end();
  thread.executed += repeat.count;
  return true;
}

// What follow() makes of the branches, where all are known and nothing is wrong with any of them.
void Checker::Impl::summarize(const Batch& batch, const flow::Repeat& repeat) {
  using enum EdgeEffect::What;
  summary_.clear();
  for (const std::uint32_t number : batch.branches.numbers_of(repeat)) {
    const Branch& branch = batch.branches.edges[number];
    const EdgeEffect* effect = summaries_.edge(number);
    if (effect == nullptr) {
      const auto found = effect_of(batch, branch);
      if (!found) return;
      summaries_.add_edge(number, *found);
      effect = summaries_.edge(number);
    }
    if (effect->what == other) return summaries_.add_not_simple(repeat.path);
    if (effect->what == jumps) summary_.jump();
    if (effect->what == calls) summary_.call(effect->next, branch.to);
    if (effect->what == returns) summary_.ret(branch.to);
  }
  summaries_.add(repeat.path, summary_);
}

// nullopt: nothing is known of the branch.
std::optional<EdgeEffect> Checker::Impl::effect_of(const Batch& batch, const Branch& branch) {
  using enum EdgeEffect::What;
  const bool plain = PlainBranches::fits(branch);
  if (plain && plain_.contains(branch, batch.salt)) return EdgeEffect{nothing};
  if (is_kernels(branch)) return EdgeEffect{nothing};
  EdgeCache& edges = plain ? plain_edges_ : edges_;
  const KnownEdge* edge = edges.peek(batch.context.space, branch, batch.generation);
  if (edge == nullptr) return std::nullopt;
  const bool simple = edge->findings == 0 && branch.kind <= BranchKind::ret &&
                      (branch.flags & kTraceEnd) == 0 && (edge->facts & kNeedsHistory) == 0;
  if (!simple) return EdgeEffect{other};
  if ((branch.flags & kNotTaken) != 0 || branch.kind <= BranchKind::jmp) return EdgeEffect{nothing};
  if (branch.kind == BranchKind::ret) return EdgeEffect{returns};
  if (branch.kind == BranchKind::ijmp) return EdgeEffect{jumps};
  // As a call of the next instruction.
  if ((edge->facts & kOpensNothing) != 0) return EdgeEffect{calls, branch.to};
  return EdgeEffect{calls, edge->next};
}

KnownEdge& Checker::Impl::known_edge(const session::Context& context, const Branch& branch,
                                     std::uint32_t generation) {
  // Apart, so that those which are looked up at every execution lie close together.
  EdgeCache& edges = PlainBranches::fits(branch) ? plain_edges_ : edges_;
  KnownEdge& edge = edges.find(context.space, branch);
  if (edge.used && edge.generation == generation) return edge;
  const std::uint32_t from = locator_.region(context.space, branch.from, branch.time);
  const std::uint32_t to = locator_.region(context.space, branch.to, branch.time);
  const bool same = edge.used && edge.from_region == from && edge.to_region == to;
  edge.used = true;
  edge.generation = generation;
  if (same) return edge;
  edge.from_region = from;
  edge.to_region = to;
  edge.findings = 0;
  judge(context, branch, edge);
  return edge;
}

// Everything that can be said of a branch by itself.
void Checker::Impl::judge(const session::Context& context, const Branch& branch, KnownEdge& known) {
  const Edge edge = locator_.locate(context.space, branch);
  const bool calls = branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
  if (calls) {
    Past& made = past(context.space);
    made.returned.insert(edge.next);
    if (edge.next == 0) made.whole = false;
  }
  known.next = edge.next;
  known.facts = edge.facts;
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->outside() && is_generated(*end, context.space, branch.time, locator_, allow_jit_)) {
      known.facts |= kUnjudged;  // generators change return addresses and jump as they like
    }
  }
  note_unjudged(edge);
  if (uses_baseline_) learn(edge);
  std::vector<std::size_t> list;
  for (const auto& rule : edge_rules_) {
    auto verdict = rule->judge(edge, locator_);
    if (!verdict) continue;
    std::string cause =
        verdict->cause.empty() ? cause_of(context.space, branch) : std::move(verdict->cause);
    const std::size_t index = found_.add(rule->id(), verdict->grade, std::move(cause),
                                         std::move(verdict->reason), context, branch);
    --found_.at(index).count;  // this execution is counted with the others
    list.push_back(index);
  }
  if (list.empty()) return;
  known.findings = static_cast<std::uint32_t>(lists_.size());
  lists_.push_back(std::move(list));
}

// The same place in the same files is the same cause in all processes.
std::string Checker::Impl::cause_of(std::uint32_t space, const Branch& branch) {
  const auto place = [&](std::uint64_t address) {
    const End end = locator_.end(space, address, branch.time);
    return end.known() ? fmt::format("{}+{:#x}", end.path, end.vaddr)
                       : fmt::format("{}:{:#x}", space, address);
  };
  return place(branch.from) + " " + place(branch.to);
}

void Checker::Impl::note_unjudged(const Edge& edge) {
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->kind == End::Kind::unread) ++unread_[std::string(end->path)];
  }
}

void Checker::Impl::learn(const Edge& edge) {
  const auto known = baseline_edge(edge);
  if (!known) return;
  for (const End* end : {&edge.from, &edge.to}) {
    if (end->module->elf().build_id.empty()) ++without_id_[std::string(end->path)];
  }
  if (learn_ != nullptr) learn_->add(*known);
}

void Checker::Impl::collect_after(Thread& thread, const Branch& branch) {
  std::erase_if(thread.open, [&](std::size_t index) {
    auto& after = found_.at(index).after;
    if (after.size() < Finding::kAfter) after.push_back(branch);
    return after.size() >= Finding::kAfter;
  });
}

void Checker::Impl::report(const Step& step, RuleId id, Grade grade, std::string reason,
                           std::string cause) {
  if (!wanted(id)) return;
  if (cause.empty()) cause = cause_of(step.context.space, step.branch);
  const std::size_t index =
      found_.add(id, grade, std::move(cause), std::move(reason), step.context, step.branch);
  count(step, index);
}

// One more was made of the finding, which has counted it.
void Checker::Impl::count(const Step& step, std::size_t index) {
  Finding& finding = found_.at(index);
  if (step.thread.doubt.add(step.position(), index)) doubt(finding);
  if (finding.count != 1) return;
  begin_context(step, finding);
  step.thread.open.push_back(index);
}

// One that was made of the finding lies at the newest loss.
void Checker::Impl::doubt(Finding& finding) const {
  ++finding.doubtful;
  if (finding.newest_loss == losses_) return;
  finding.newest_loss = losses_;
  ++finding.losses;
}

// What led to the branch. A thread pauses where code has changed, so that the one that led into it
// comes before the pause, at whose end or beginning the change is seen.
void Checker::Impl::begin_context(const Step& step, Finding& finding) {
  finding.before = step.recent();
  std::span<const Branch> before = finding.before;
  Branch pause = finding.branch;
  if (pause.kind == BranchKind::begin && !before.empty() && before.back().from == pause.to) {
    pause = before.back();
    before = before.first(before.size() - 1);
  }
  if (pause.kind != BranchKind::end || before.empty()) return;
  if (before.back().to != pause.from || !is_near_transfer(before.back().kind)) return;
  finding.branch = before.back();
  finding.before.resize(before.size() - 1);
}

void Checker::Impl::step(const Step& step) {
  for (const std::size_t index : lists_[step.edge.findings]) {
    found_.count(index);
    count(step, index);
  }
  follow(step);
  if (is_near_transfer(step.branch.kind)) return;
  if (step.branch.kind == BranchKind::lost) ++losses_;
  step.thread.doubt.see(step.position(), step.branch,
                        [&](std::size_t index) { doubt(found_.at(index)); });
}

void Checker::Impl::follow(const Step& step) {
  const Branch& branch = step.branch;
  if ((branch.flags & kNotTaken) != 0) return;
  ShadowStack& stack = step.thread.stack;
  if ((branch.flags & kTraceEnd) != 0 && is_near_transfer(branch.kind)) {
    const bool call = branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
    if (call) stack.call(step.edge.next);
    past(step.context.space).whole = false;
    return stack.leave_filter();
  }
  switch (branch.kind) {
    case BranchKind::cond:
    case BranchKind::jmp:
      return;
    case BranchKind::call:
    case BranchKind::icall:
      // SDM, "RET Compression": a call of the next instruction only asks where it is.
      if (branch.to != step.edge.next && (step.edge.facts & kOpensNothing) == 0) {
        stack.call(step.edge.next);
      }
      step.thread.returns.end();
      if ((step.edge.facts & kToLoader) != 0) step.thread.loader_call = step.edge.next;
      if ((step.edge.facts & kFromLinker) != 0) look_at_loaded(step);
      if (branch.kind == BranchKind::icall) return follow_jump(step);
      step.thread.jumps.end();
      return;
    case BranchKind::ijmp:
      return follow_jump(step);
    case BranchKind::ret:
      return follow_return(step);
    default:
      return follow_absence(step);
  }
}

void Checker::Impl::follow_return(const Step& step) {
  Thread& thread = step.thread;
  thread.jumps.end();
  const bool counted = !thread.stack.knows_all() && thread.stack.depth() == 0;
  const bool uncalled = (step.edge.facts & kFromSwitch) != 0 && is_uncalled(step);
  const auto problem =
      thread.stack.ret(step.branch.to, step.edge.facts | (uncalled ? kToUncalled : PathFacts{0}));
  // Where the calls are not known, a return that goes behind no call is as good a link.
  const bool odd = counted && (step.edge.facts & (kToReturnSite | kUnjudged | kToSigreturn)) == 0;
  if (problem) report(step, RuleId::return_target, problem->grade, std::string(problem->why));
  if (!problem && !odd) return thread.returns.end();
  if (!thread.returns.link(step.branch.insns)) return;
  report(step, RuleId::chain_rop, Grade::impossible,
         "three returns or more in a row that no call explains, with few instructions between",
         fmt::format("thread {}", step.context.tid));
}

void Checker::Impl::follow_jump(const Step& step) {
  Thread& thread = step.thread;
  if (step.branch.kind == BranchKind::ijmp && (step.edge.facts & kFromSwitch) != 0) {
    const End to = locator_.end(step.context.space, step.branch.to, step.branch.time);
    class Here final : public Landings {
     public:
      Here(Locator& locator, const Step& step, const End& to)
          : locator_(locator), step_(step), to_(to) {}
      bool lands(std::uint64_t return_address, std::uint64_t) const override {
        const End frame = locator_.end(step_.context.space, return_address, step_.branch.time);
        return frame.module != nullptr && frame.module == to_.module &&
               frame.module->lands(frame.vaddr, to_.vaddr);
      }

     private:
      Locator& locator_;
      const Step& step_;
      const End& to_;
    };
    const auto problem =
        thread.stack.jump(step.branch.to, step.edge.facts, Here(locator_, step, to));
    if (problem) report(step, RuleId::return_target, problem->grade, std::string(problem->why));
  }
  if (step.branch.kind == BranchKind::ijmp && (step.edge.facts & kToImage) != 0) {
    look_for_strangers(step);
  }
  // A link is a step that call.target has found wrong.
  const auto& list = lists_[step.edge.findings];
  const bool odd = std::ranges::any_of(list, [this](std::size_t index) {
    return found_.at(index).rule == &rule(RuleId::call_target);
  });
  if (!odd) return thread.jumps.end();
  if (!thread.jumps.link(step.branch.insns)) return;
  report(step, RuleId::chain_jop, Grade::impossible,
         "three indirect jumps or more in a row to where none may lead, with few instructions"
         " between",
         fmt::format("thread {}", step.context.tid));
}

// What happens while the thread is not traced: system calls, signals, gaps.
void Checker::Impl::follow_absence(const Step& step) {
  const Branch& branch = step.branch;
  ShadowStack& stack = step.thread.stack;
  step.thread.returns.end();
  step.thread.jumps.end();
  if (branch.kind == BranchKind::lost || branch.kind == BranchKind::unknown) return lose(step);
  const bool back = branch.kind == BranchKind::begin ||
                    (is_kernel(branch.from) && branch.to != 0 && !is_kernel(branch.to));
  if (!back) {
    const bool call = branch.kind == BranchKind::syscall || branch.kind == BranchKind::int_;
    const std::uint64_t next = call ? step.edge.next : branch.from;
    // Calls have two bytes; which the kernel repeats may be another one (see Edge::next).
    const std::uint64_t again = call && next > branch.from ? next - 2 : branch.from;
    stack.leave(next, again, step.edge.facts);
    if ((step.edge.facts & kForks) != 0) keep_for_children(step);
    return;
  }
  if (branch.kind == BranchKind::begin && (branch.flags & kResync) != 0) return lose(step);
  come_back(step);
}

void Checker::Impl::lose(const Step& step) {
  step.thread.stack.lose();
  past(step.context.space).whole = false;
}

void Checker::Impl::come_back(const Step& step) {
  Thread& thread = step.thread;
  if (std::exchange(thread.fresh, false)) begin_as_child(step);
  std::uint64_t& seen = past(step.context.space).seen;
  seen = std::max(seen, step.branch.time);
  PathFacts facts = step.edge.facts;
  if (const auto at = thread.stack.interrupted(); at && is_nearby(step, *at)) facts |= kToNearby;
  const bool known = thread.stack.knows_all();
  const auto problem = thread.stack.enter(step.branch.to, facts);
  if (problem) report(step, RuleId::return_target, problem->grade, std::string(problem->why));
  const bool image = (facts & kToImage) != 0 && thread.stack.knows_all();
  if (image && !known) past(step.context.space).whole = true;
  if (known && !thread.stack.knows_all()) past(step.context.space).whole = false;
}

// A child goes on in its parent's calls. When the kernel made it, nothing says: FORK has the time
// at which the child was met, and BTS records have none. So only where all system calls that it may
// come from had the same calls open.
void Checker::Impl::begin_as_child(const Step& step) {
  const std::uint32_t space = step.context.space;
  const auto fork = std::ranges::find(forks_, space, &session::Fork::child);
  if (fork == forks_.end() || step.thread.stack.depth() != 0) return;
  const Past& parent = past(fork->parent);
  if (parent.forgot || parent.seen < fork->time) return;
  const perfdata::Session* recording = session_->recording();
  const bool timed = recording != nullptr && recording->trace() == perfdata::TraceKind::intel_pt;
  const ShadowStack* found = nullptr;
  for (const ForkCall& call : parent.forks) {
    if ((timed && call.time > fork->time) || !call.stack.is_away_from(step.branch.to)) continue;
    if (found != nullptr && !found->is_like(call.stack)) return;
    found = &call.stack;
  }
  if (found == nullptr) return;
  step.thread.stack = *found;
  Past& own = past(space);
  own.parent = life(fork->parent);
  own.whole = parent.whole;
}

// A row of forks from the same place is kept once.
void Checker::Impl::keep_for_children(const Step& step) {
  Past& own = past(step.context.space);
  const ShadowStack& stack = step.thread.stack;
  const auto same = [&](const ForkCall& call) {
    return call.stack.is_away_from(step.edge.next) && call.stack.is_like(stack);
  };
  if (std::ranges::any_of(own.forks, same)) return;
  own.forgot |= own.forks.size() == kMostForkCalls;
  if (!own.forgot) own.forks.push_back({step.branch.time, stack});
}

// Whether a handler can mean this place: by what it interrupted, which it has to know.
bool Checker::Impl::is_nearby(const Step& step, std::uint64_t interrupted) {
  const Branch& branch = step.branch;
  if (branch.to == interrupted) return true;
  const End to = locator_.end(step.context.space, branch.to, branch.time);
  const End from = locator_.end(step.context.space, interrupted, branch.time);
  if (!to.known() || !from.known()) return true;  // other rules speak of code that no file has
  if (!to.has(text::kInsn)) return false;
  if (to.module->function(to.vaddr) == nullptr) return true;  // as in call.target
  return from.module == to.module && to.module->same_function(from.vaddr, to.vaddr);
}

// Whether nobody can have left a stack there: the call before it was never made. Of threads nobody
// knows what the others have done until then.
bool Checker::Impl::is_uncalled(const Step& step) {
  const std::uint32_t space = step.context.space;
  if ((step.edge.facts & kToReturnSite) == 0 || !past(space).whole) return false;
  for (std::optional<Life> at = life(space); at; at = pasts_[*at].parent) {
    if (pasts_[*at].returned.contains(step.branch.to)) return false;
  }
  return locator_.regions().next_thread(space, 0) > step.branch.time;
}

// The dynamic linker hands over to the program: all that is mapped now came before its first
// instruction.
void Checker::Impl::look_for_strangers(const Step& step) {
  if (!wanted(RuleId::library_injected)) return;
  auto files = locator_.regions().files(step.context.space, step.branch.time);
  if (files.empty()) return;
  // The linker has no other thread. The time of a branch may be a late one, as that of BTS records
  // is, and other threads load libraries.
  const std::uint64_t alone =
      locator_.regions().next_thread(step.context.space, files.front().since);
  std::erase_if(files, [&](const auto& file) { return file.since >= alone; });
  const Scope scope(files, locator_.modules());
  const End to = locator_.end(step.context.space, step.branch.to, step.branch.time);
  if (scope.program() == nullptr || to.module != scope.program()) return;
  for (const Scope::Loaded& stranger : scope.strangers()) {
    report(step, RuleId::library_injected, Grade::unusual,
           fmt::format("{} was mapped before the program began, which does not depend on it"
                       " (LD_PRELOAD, /etc/ld.so.preload)",
                       stranger.path),
           std::string(stranger.path));
  }
}

// What stands between the dynamic linker and who asked for a library: itself, and libc's dlopen.
bool Checker::Impl::is_loaders(const Step& step, std::uint64_t address) {
  const End end = locator_.end(step.context.space, address, step.branch.time);
  return end.known() &&
         (is_dynamic_linker(*end.module) || !end.module->symbols().named("dlopen").empty());
}

// The dynamic linker calls into a library for the first time. One that the program does not depend
// on has been asked for: by the innermost call that is not the loader's.
void Checker::Impl::look_at_loaded(const Step& step) {
  if (!wanted(RuleId::library_injected)) return;
  const End library = locator_.end(step.context.space, step.branch.to, step.branch.time);
  if (!loaded_.emplace(step.context.space, library.module).second) return;
  const auto frames = step.thread.stack.frames();
  std::string_view how;
  for (std::size_t i = frames.size(); i-- > 0 && how.empty();) {
    if (frames[i].signal) {
      how = "by a call that no code made: a debugger or a signal handler put the thread there";
    } else if (frames[i].address == step.thread.loader_call) {
      how = "by a call of dlopen through a pointer";
    } else if (!is_loaders(step, frames[i].address)) {
      return;
    }
  }
  if (how.empty()) return;  // the program's start, or nobody knows
  const auto files = locator_.regions().files(step.context.space, step.branch.time);
  const Scope scope(files, locator_.modules());
  if (scope.depends(scope.program(), library.module)) return;
  report(step, RuleId::library_injected, Grade::unusual,
         fmt::format("{} was loaded {}", library.path, how), std::string(library.path));
}

std::vector<Finding> Checker::Impl::findings() const {
  std::vector<Finding> out = found_.all();
  std::ranges::stable_sort(out, [](const Finding& a, const Finding& b) {
    if (a.is_doubtful() != b.is_doubtful()) return b.is_doubtful();
    return a.grade != b.grade ? a.grade < b.grade : a.branch.time < b.branch.time;
  });
  return out;
}

std::vector<Unjudged> Checker::Impl::unjudged() const {
  std::vector<Unjudged> out;
  std::map<std::string, std::uint64_t> all = unread_before_;
  for (const auto& [path, count] : unread_) all[path] = std::max(all[path], count);
  for (const auto& [path, count] : all) {
    Unjudged line{.path = path,
                  .reason =
                      "the file is missing or has changed; --symfs DIR says where those of a"
                      " guest or of another machine are",
                  .branches = count};
    for (const Unread& unread : locator_.modules().unread()) {
      if (unread.path == path) line.reason = unread.reason;
    }
    out.push_back(std::move(line));
  }
  for (const auto& [path, count] : without_id_) {
    out.push_back({path, "the file has no build-id, by which a baseline knows files", count});
  }
  return out;
}

Checker::Checker(session::Session& session, const Options& options)
    : impl_(std::make_unique<Impl>(session, options)) {}
Checker::~Checker() = default;

bool Checker::branches(const session::Context& context, std::span<const Branch> batch) {
  impl_->batch(context, {.walked = batch});
  return true;
}

bool Checker::repeats(const session::Context& context, const flow::Repeats& batch) {
  impl_->batch(context, batch);
  return true;
}

void Checker::move_to(session::Session& session) { impl_->move_to(session); }
std::span<const Finding> Checker::found() const { return impl_->found(); }
std::vector<Finding> Checker::findings() const { return impl_->findings(); }
std::vector<Unjudged> Checker::unjudged() const { return impl_->unjudged(); }
std::uint64_t Checker::checked() const { return impl_->checked(); }

Result<session::Outcome> decode_for_check(session::Session& session,
                                          const session::DecodeOptions& how,
                                          session::BranchSink& sink) {
  session::DecodeOptions one_thread = how;
  one_thread.threads = 1;
  const bool spread =
      session.queues().size() > 1 &&
      std::ranges::any_of(session.queues(), [](const session::Queue& q) { return q.tid < 0; });
  return spread ? session::decode_by_time(session, one_thread, sink)
                : session.decode(one_thread, sink);
}

}  // namespace hodo::check
