#include "hodo/check/checker.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <ranges>
#include <utility>

#include "edge.h"
#include "edge_cache.h"
#include "edge_judge.h"
#include "history.h"
#include "hodo/session/time_order.h"
#include "makers.h"
#include "pasts.h"
#include "path_summary.h"
#include "reports.h"
#include "step.h"

namespace hodo::check {
namespace {

// Nothing of it concerns a program.
bool is_kernels(const Branch& branch) {
  return (is_kernel(branch.from) || branch.from == 0) && (is_kernel(branch.to) || branch.to == 0) &&
         branch.kind != BranchKind::lost;
}

// A return that is fine behind the call that is open, and where nothing is known of that, too
// (ShadowStack::follow).
bool is_plain_return(PathFacts facts) {
  return (facts & (kToReturnSite | kUnjudged)) != 0 && (facts & kFromPushed) == 0;
}

// Those that change the stack are the return model's.
bool goes_by_pointer(const Branch& branch, PathFacts facts) {
  return branch.kind == BranchKind::ret && (facts & (kFromPushed | kFromStored)) != 0 &&
         (facts & kFromSwitch) == 0;
}

// The branch through a pointer that a return stands for whose target the code put on the stack: the
// call or jump to the retpoline, which calls its own return first; or the return itself, `out`.
Branch stands_for(Branch out, std::span<const Branch> before) {
  constexpr std::uint64_t kLongest = 16;  // of what it calls
  if (before.empty()) return out;
  const Branch& inner = before.back();
  if (inner.kind != BranchKind::call || out.from - inner.to > kLongest) return out;
  out.from = inner.from;
  if (before.size() < 2) return out;
  const Branch& entry = before[before.size() - 2];
  const bool indirect = entry.kind == BranchKind::ijmp || entry.kind > BranchKind::call;
  if (indirect || (entry.flags & kNotTaken) != 0 || entry.to != inner.from) return out;
  out.from = entry.from;
  if (entry.kind == BranchKind::call) out.kind = BranchKind::icall;
  return out;
}

// Where the path came from that goes on at a `begin` where it only paused, which is no way into the
// code there; 0: it did not, or that is not known. `before`: of the row at work.
std::uint64_t led_from(const Batch& batch, const Branch& begin, std::span<const Branch> before) {
  if ((begin.flags & kResync) != 0) return 0;
  if (!before.empty() && before.back().kind != BranchKind::end) return 0;
  const auto recent = batch.recent(before);
  if (recent.empty() || recent.back().kind != BranchKind::end) return 0;
  const std::uint64_t at = begin.to;
  for (const Branch& last : recent | std::views::reverse) {
    if (last.kind == BranchKind::end && last.from == at) continue;
    if (last.to != at) return last.kind == BranchKind::lost ? 0 : last.to;  // in a straight line
    if (last.kind != BranchKind::begin) return last.from;
  }
  return 0;
}

}  // namespace

// Takes branches in batches. What is known of a branch or of a whole path is looked up; the rest
// goes to the judge of single branches and to the history of the thread.
class Checker::Impl {
 public:
  Impl(session::Session& session, const Options& options)
      : session_(&session),
        locator_(session, options.cache),
        reports_(locator_),
        pasts_(session),
        judge_(options, locator_, pasts_, reports_),
        makers_(session, locator_),
        history_(options, locator_, pasts_, makers_, judge_, reports_) {
    locator_.ask(makers_);
  }

  // These may be called while another thread calls judged().
  void batch(const session::Context& context, const flow::Repeats& batch);
  void batch(const session::Context& context, const flow::Passages& batch);
  flow::BranchSink::Judged judged(const session::Context& context, const Branch& branch,
                                  std::uint64_t next);
  void move_to(session::Session& session);
  // With all that is known by now; `last`: and ever will be.
  const Reports& reports(bool last = false) {
    judge_.judge_late(last);
    return reports_;
  }
  std::vector<Unjudged> unjudged() const { return judge_.unjudged(); }
  std::uint64_t checked() const { return checked_; }
  std::span<const LearnedBranch> learned() const { return judge_.learned(); }

 private:
  Thread& thread_of(const session::Context& context);
  Batch begin(const session::Context& context, std::uint64_t first, std::uint64_t last);
  KnownEdge& known_edge(const session::Context& context, const Branch& branch,
                        std::uint32_t generation);
  bool holds_in(std::uint32_t generation, const Branch& branch, KnownEdge& edge) const;
  void each(Batch& batch, std::span<const Branch> row);
  void each_walked(Batch& batch, std::span<const Branch> walked, std::size_t& at, std::size_t end);
  void pass(Batch& batch, const flow::Passage& passage, std::size_t entry, std::size_t address);
  bool follow_passage(const Batch& batch, const flow::Passage& passage, std::size_t address);
  bool follow_path(const Batch& batch, const flow::Repeat& repeat);
  void summarize(const Batch& batch, const flow::Repeat& repeat);
  // Of a space, with its mappings and their salt.
  struct Place {
    std::uint32_t space = 0;
    std::uint32_t generation = 0;
    std::uint64_t salt = 0;
  };
  std::optional<EdgeEffect> effect_of(const Place& place, const Branch& branch);
  std::span<const Branch> branches_of(const Batch& batch, const flow::Repeat& repeat);
  void step(const Step& step);
  void judge_pointer(const Batch& batch, const Branch& ret, std::span<const Branch> before);

  std::mutex mutex_;  // of all that judged() uses
  session::Session* session_;
  Locator locator_;
  Reports reports_;
  Pasts pasts_;
  EdgeJudge judge_;
  Makers makers_;
  History history_;
  EdgeCache edges_;
  EdgeCache plain_edges_;
  PlainBranches plain_;
  PathSummaries summaries_;
  PathEffectBuilder summary_;  // for summarize()
  std::vector<Branch> path_;   // for branches_of()
  std::map<std::pair<std::int32_t, std::int32_t>, Thread> threads_;
  std::uint64_t checked_ = 0;
};

void Checker::Impl::move_to(session::Session& session) {
  session_ = &session;
  locator_.move_to(session);
  pasts_.move_to(session);
  makers_.move_to(session);
  judge_.begin_again();
  edges_ = EdgeCache();
  plain_edges_ = EdgeCache();
  plain_ = PlainBranches();
  summaries_ = PathSummaries();
}

void Checker::Impl::batch(const session::Context& context, const flow::Repeats& batch) {
  constexpr std::size_t kAhead = 12;
  constexpr std::size_t kSoon = 5;
  if (batch.empty()) return;
  const std::lock_guard lock(mutex_);
  Batch all = begin(context, batch.first_time(), batch.last_time());
  all.repeats = &batch;
  const auto list = batch.list;
  if (all.steady && !list.empty()) summaries_.select(batch.memory, all.salt);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i + kAhead < list.size()) summaries_.prefetch(list[i + kAhead].path);
    if (i + kSoon < list.size()) summaries_.prefetch_effect(list[i + kSoon].path);
    if (all.at.walked != list[i].begin) {
      each_walked(all, batch.walked, all.at.walked, list[i].begin);
    }
    checked_ += list[i].count;
    if (!all.steady || !follow_path(all, list[i])) each(all, branches_of(all, list[i]));
    ++all.at.repeats;
  }
  each_walked(all, batch.walked, all.at.walked, batch.walked.size());
  all.thread.recent.add(batch);
}

void Checker::Impl::batch(const session::Context& context, const flow::Passages& batch) {
  if (batch.empty()) return;
  const std::lock_guard lock(mutex_);
  Batch all = begin(context, batch.first_time(), batch.last_time());
  all.passages = &batch;
  std::size_t entry = 0;
  std::size_t address = 0;
  for (const flow::Passage& passage : batch.list) {
    each_walked(all, batch.walked, all.passed.walked, passage.begin);
    pass(all, passage, entry, address);
    entry += passage.entries;
    address += std::size_t{passage.returned} + passage.called;
    ++all.passed.passages;
  }
  each_walked(all, batch.walked, all.passed.walked, batch.walked.size());
  all.thread.recent.add(batch);
}

Batch Checker::Impl::begin(const session::Context& context, std::uint64_t first,
                           std::uint64_t last) {
  const session::Names& names = session_->names();
  Batch out{.context = context, .thread = thread_of(context), .time = first};
  out.generation = names.generation(context.space, first);
  out.salt = PlainBranches::salt(context.space, out.generation);
  // Mostly, no mapping changes while a batch runs.
  out.steady = out.generation == names.generation(context.space, last);
  return out;
}

// Numbers of threads are used again.
Thread& Checker::Impl::thread_of(const session::Context& context) {
  Thread& thread = threads_[{context.pid, context.tid}];
  const Life now = pasts_.life(context.space);
  if (thread.life == now) return thread;
  thread = Thread{.life = now};
  return thread;
}

std::span<const Branch> Checker::Impl::branches_of(const Batch& batch, const flow::Repeat& repeat) {
  path_.clear();
  batch.repeats->append(repeat, path_);
  return path_;
}

// `at`, the place in the batch, comes to the end.
void Checker::Impl::each_walked(Batch& batch, std::span<const Branch> walked, std::size_t& at,
                                std::size_t end) {
  each(batch, walked.subspan(at, end - at));
  checked_ += end - at;
  at = end;
}

// The place of its first entry and address in the batch.
void Checker::Impl::pass(Batch& batch, const flow::Passage& passage, std::size_t entry,
                         std::size_t address) {
  checked_ += passage.branches;
  if (follow_passage(batch, passage, address)) return;
  path_.clear();
  batch.passages->append(passage, entry, path_);
  each(batch, path_);
}

// False: the branches have to be looked at one by one. What passes does so until the code of an
// end changes, and passages end there: their mappings may change within a batch.
bool Checker::Impl::follow_passage(const Batch& batch, const flow::Passage& passage,
                                   std::size_t address) {
  Thread& thread = batch.thread;
  if (!thread.open.empty()) return false;
  if (!thread.returns.is_none() || !thread.jumps.is_none()) return false;
  if (passage.returned != 0 || passage.called != 0) {
    const auto all = batch.passages->addresses.subspan(address);
    const auto returned = all.first(passage.returned);
    const auto called = all.subspan(passage.returned, passage.called);
    if (!thread.stack.follow(returned, called)) return false;
  }
  thread.executed += passage.branches;
  return true;
}

// What follow() would make of it.
flow::BranchSink::Judged Checker::Impl::judged(const session::Context& context,
                                               const Branch& branch, std::uint64_t next) {
  using enum flow::BranchSink::Judged;
  using enum EdgeEffect::What;
  const std::lock_guard lock(mutex_);
  const std::uint32_t generation = session_->names().generation(context.space, branch.time);
  const auto effect = effect_of(
      {context.space, generation, PlainBranches::salt(context.space, generation)}, branch);
  if (!effect) return later;
  switch (branch.kind) {
    case BranchKind::cond:
    case BranchKind::jmp:
      return effect->what == nothing ? passes : comes;
    case BranchKind::ijmp:
      return effect->what == nothing || effect->what == jumps ? passes : comes;
    case BranchKind::call:
    case BranchKind::icall:
      return effect->what == calls && effect->next == next && next != branch.to ? passes : comes;
    case BranchKind::ret:
      if (effect->what != returns) return comes;
      return effect->apart ? passes_apart : passes;
    default:
      return comes;
  }
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
    if (!thread.open.empty()) reports_.collect_after(thread, branch);
    const bool plain = PlainBranches::fits(branch);
    if (plain && plain_.contains(branch, batch.salt)) continue;
    if (is_kernels(branch)) continue;
    Branch seen = branch;
    if (branch.kind == BranchKind::begin) seen.from = led_from(batch, branch, row.first(i));
    KnownEdge& edge = known_edge(context, seen, batch.generation);
    step({context, branch, thread, edge, batch, row.first(i)});
    const bool nothing = edge.findings == 0 && (edge.facts & kNeedsHistory) == 0;
    if (plain && nothing) plain_.add(branch, batch.salt);
    if (goes_by_pointer(branch, edge.facts)) judge_pointer(batch, branch, row.first(i));
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
  const Place place{batch.context.space, batch.generation, batch.salt};
  for (const std::uint32_t number : batch.repeats->numbers_of(repeat)) {
    const Branch& branch = batch.repeats->edges[number];
    const EdgeEffect* effect = summaries_.edge(number);
    if (effect == nullptr) {
      const auto found = effect_of(place, branch);
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
std::optional<EdgeEffect> Checker::Impl::effect_of(const Place& place, const Branch& branch) {
  using enum EdgeEffect::What;
  const bool plain = PlainBranches::fits(branch);
  if (plain && plain_.contains(branch, place.salt)) return EdgeEffect{nothing};
  if (is_kernels(branch)) return EdgeEffect{nothing};
  EdgeCache& edges = plain ? plain_edges_ : edges_;
  KnownEdge* const edge = edges.peek(place.space, branch);
  if (edge == nullptr || !holds_in(place.generation, branch, *edge)) return std::nullopt;
  const bool simple = edge->findings == 0 && branch.kind <= BranchKind::ret &&
                      (branch.flags & kTraceEnd) == 0 && (edge->facts & kNeedsHistory) == 0 &&
                      !edge->returns;
  if (!simple) return EdgeEffect{other};
  if ((branch.flags & kNotTaken) != 0 || branch.kind <= BranchKind::jmp) return EdgeEffect{nothing};
  if (branch.kind == BranchKind::ret) {
    if (!is_plain_return(edge->facts)) return EdgeEffect{other};
    return EdgeEffect{.what = returns, .apart = (edge->facts & kEndsApart) != 0};
  }
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
  if (edge.used && holds_in(generation, branch, edge)) return edge;
  edge.used = true;
  const auto from = locator_.region(context.space, branch.from, branch.time);
  const auto to = locator_.region(context.space, branch.to, branch.time);
  edge.generation = generation;
  edge.until = std::min(from.until, to.until);
  edge.from_region = from.id;
  edge.to_region = to.id;
  judge_.judge(context, branch, edge);
  const bool calls = branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
  if (calls) pasts_.add_call(context.space, edge.next);
  const bool switches = branch.kind == BranchKind::ijmp && (edge.facts & kFromSwitch) != 0;
  if (switches) pasts_.add_switch(context.space, branch.from);
  return edge;
}

// Whether what was said of a branch holds in this generation of the mappings, the one at its time:
// both ends lie where they did.
bool Checker::Impl::holds_in(std::uint32_t generation, const Branch& branch,
                             KnownEdge& edge) const {
  if (edge.generation == generation) return true;
  if (edge.generation < generation && branch.time < edge.until) return true;
  const auto from = locator_.region(edge.space, branch.from, branch.time);
  if (edge.from_region != from.id) return false;
  const auto to = locator_.region(edge.space, branch.to, branch.time);
  if (edge.to_region != to.id) return false;
  edge.generation = generation;
  edge.until = std::min(from.until, to.until);
  return true;
}

void Checker::Impl::step(const Step& step) {
  for (const std::size_t index : judge_.findings(step.edge)) reports_.count(step, index);
  history_.follow(step);
  if (!is_near_transfer(step.branch.kind)) reports_.see(step);
}

// 32-bit code has no such branches.
void Checker::Impl::judge_pointer(const Batch& batch, const Branch& ret,
                                  std::span<const Branch> before) {
  const session::Context& context = batch.context;
  const auto goes_by_pointer = [&](const Branch& branch) {
    if (edges_.peek(context.space, branch) != nullptr) return true;
    const End from = locator_.end(context.space, branch.from, branch.time);
    return from.known() && from.module->pointer_of(from.vaddr);
  };
  const Branch own = {.from = ret.from, .to = ret.to, .time = ret.time, .kind = BranchKind::ijmp};
  const Branch outer = stands_for(own, batch.recent(before));
  const Branch& branch = goes_by_pointer(outer) ? outer : own;
  if (!goes_by_pointer(branch)) return;
  KnownEdge& edge = known_edge(context, branch, batch.generation);
  const Step step{context, branch, batch.thread, edge, batch, before};
  for (const std::size_t index : judge_.findings(edge)) reports_.count(step, index);
  history_.follow_pointer(step);
}

Checker::Checker(session::Session& session, const Options& options)
    : impl_(std::make_unique<Impl>(session, options)) {}
Checker::~Checker() = default;

bool Checker::branches(const session::Context& context, std::span<const Branch> batch) {
  impl_->batch(context, flow::Repeats{.walked = batch});
  return true;
}

bool Checker::repeats(const session::Context& context, const flow::Repeats& batch) {
  impl_->batch(context, batch);
  return true;
}

flow::BranchSink::Judged Checker::judged(const session::Context& context, const Branch& branch,
                                         std::uint64_t next) {
  return impl_->judged(context, branch, next);
}

// What is known of a branch holds while both ends lie in the same regions, as known_edge() has it.
std::uint64_t Checker::judged_by(const session::Context& context, std::uint64_t /*time*/) {
  return PlainBranches::salt(context.space, 1);
}

bool Checker::passages(const session::Context& context, const flow::Passages& batch) {
  impl_->batch(context, batch);
  return true;
}

void Checker::move_to(session::Session& session) { impl_->move_to(session); }
std::size_t Checker::found() const { return impl_->reports().all().size(); }
std::vector<Finding> Checker::found_since(std::size_t first) const {
  const auto& all = impl_->reports().all();
  return {all.begin() + static_cast<std::ptrdiff_t>(std::min(first, all.size())), all.end()};
}
std::span<const LearnedBranch> Checker::learned() const { return impl_->learned(); }
std::vector<Finding> Checker::findings() const { return impl_->reports(true).sorted(); }
std::vector<Unjudged> Checker::unjudged() const { return impl_->unjudged(); }
std::uint64_t Checker::checked() const { return impl_->checked(); }

Result<session::Outcome> decode_for_check(session::Session& session,
                                          const session::DecodeOptions& how,
                                          session::BranchSink& sink) {
  const bool spread =
      session.queues().size() > 1 &&
      std::ranges::any_of(session.queues(), [](const session::Queue& q) { return q.tid < 0; });
  return spread ? session::decode_by_time(session, how, sink) : session.decode(how, sink);
}

}  // namespace hodo::check
