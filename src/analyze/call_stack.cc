#include "call_stack.h"

#include <algorithm>

namespace hodo::analyze {
namespace {

// Frames that are looked at for a function that a jump went into; a longjmp from deeper is rare.
constexpr std::size_t kSearched = 4096;

// Whether a jump may be one that leaves calls which have not returned, as longjmp's and an
// unwinder's: these are told where to go. Other jumps stay within what was compiled as one
// function, whose parts may have names of their own.
bool may_leave_calls(const Branch& jump) {
  return jump.kind != BranchKind::cond && jump.kind != BranchKind::jmp;
}

// Whether the instruction at the branch's source was executed, and counted.
bool executed(const Branch& branch) {
  return branch.kind < BranchKind::begin && (branch.flags & kAsync) == 0;
}

}  // namespace

Located located(Functions& functions, std::uint32_t space, const SavedCall& call) {
  const bool hidden = call.how == CallEntry::called && call.entry == 0;
  if (hidden) return {.function = functions.pseudo("[not traced]")};
  return call.by_call ? functions.called(space, call.entry, call.since.ticks)
                      : functions.at(space, call.entry, call.since.ticks);
}

CallStack::CallStack(Functions& functions, CallPaths& paths, ReturnSites& sites, CallThread& thread)
    : functions_(functions), paths_(paths), sites_(sites), thread_(thread), keeps_calls_(false) {}

CallStack::CallStack(Functions& functions, CallPaths& paths, ReturnSites& sites, CallThread& thread,
                     CallWatcher* watcher)
    : functions_(functions),
      paths_(paths),
      sites_(sites),
      thread_(thread),
      keeps_calls_(true),
      watcher_(watcher) {}

// Of those that are not within a function nearly all are calls and returns, with no more time gone.
void CallStack::follow(std::uint32_t space, const Branch& branch, std::uint64_t now) {
  using enum BranchKind;
  const bool calls = branch.kind == call || branch.kind == icall;
  if ((!calls && branch.kind != ret) || !is_plain(space, branch, now)) {
    return follow_any(space, branch, now);
  }
  count_here(branch);
  step_ = branch.insns - (branch.insns != 0 ? 1 : 0);
  if (calls) {
    called(branch);
  } else {
    returned(branch);
  }
}

void CallStack::follow_any(std::uint32_t space, const Branch& branch, std::uint64_t now) {
  const bool anew = branch.kind == BranchKind::begin && clock_.ticks != 0 &&
                    functions_.replaced(space, clock_.ticks, branch.time);
  if (space != space_ || anew) {  // another program
    cut(0, CallEnd::replaced);
    started_ = false;
    space_ = space;
  }
  if ((branch.flags & kNotTaken) != 0) {
    clock_.instructions += branch.insns;
    return;
  }
  ++clock_.branches;
  clock_.instructions += branch.insns;
  if (now != 0) clock_.time = now;
  if (branch.time != 0) clock_.ticks = branch.time;
  count(branch, now);
  step_ = branch.insns - (executed(branch) && branch.insns != 0 ? 1 : 0);
  if (frames_.empty() && branch.kind < BranchKind::begin) {
    start({.to = branch.from, .time = branch.time}, false);
  }
  switch (branch.kind) {
    case BranchKind::lost:
      return lost(branch);
    case BranchKind::begin:
      return begun(branch);
    case BranchKind::end:
      ended_at_ = branch.from;
      return;
    case BranchKind::call:
    case BranchKind::icall:
    case BranchKind::syscall:
    case BranchKind::int_:
    case BranchKind::irq:
    case BranchKind::exc:
      return called(branch);
    case BranchKind::ret:
    case BranchKind::sysret:
    case BranchKind::iret:
      return returned(branch);
    case BranchKind::vmentry:
    case BranchKind::vmexit:
      cut(0, CallEnd::lost);
      if (branch.to != 0) start(branch, false);
      return;
    case BranchKind::cond:
    case BranchKind::jmp:
    case BranchKind::ijmp:
    case BranchKind::abort:
    case BranchKind::unknown:
      return jumped(branch);
  }
}

void CallStack::count(const Branch& branch, std::uint64_t now) {
  CallNode& node = paths_[top_node()];
  node.instructions += branch.insns;
  if (now == 0) return;
  if (last_time_ != 0 && now > last_time_) {
    bool gap = branch.kind == BranchKind::lost;
    (gap ? thread_.gap_time : node.time) += now - last_time_;
  }
  last_time_ = now;
}

void CallStack::lost(const Branch& branch) {
  ++thread_.gaps;
  last_loss_ = clock_.branches;
  cut(0, CallEnd::lost);
  ended_at_ = 0;
  started_ = true;  // what comes has a caller that was not seen
  if (branch.to != 0) start(branch, false);
}

void CallStack::begun(const Branch& branch) {
  std::uint64_t ended_at = std::exchange(ended_at_, 0);
  if (branch.to == 0) return;
  if (frames_.empty() || (branch.flags & kResync) != 0) return start(branch, !started_);
  if (returns_behind(branch.to, ended_at)) return;
  if (std::size_t below = below_entry_from(branch.to); below != frames_.size()) {
    return cut(below, CallEnd::returned);
  }
  const Located& function = locate(branch.to, branch.time);
  if (function.entry) return push(function, CallEntry::outside, {ended_at, branch.to});
  if (function.same_function(frames_.back().function)) return;
  if (functions_.is_of_probes(function)) return;
  if (std::size_t keep = up_to(function); keep != 0) return cut(keep, CallEnd::skipped);
  start(branch, false);
}

void CallStack::called(const Branch& branch) {
  if (branch.to == 0 && branch.kind != BranchKind::call && branch.kind != BranchKind::icall) {
    ended_at_ = branch.from;  // into the kernel, which is not traced
    return;
  }
  if (branch.to == 0) {
    Located hidden{.function = functions_.pseudo("[not traced]")};
    return push(hidden, CallEntry::called, {branch.from, 0});
  }
  const Located& target = functions_.called(space_, branch.to, branch.time);
  const Located& caller = frames_.back().function;
  // call 1f; 1: pop %ebx
  if (target.known() && !target.entry && target.same_function(caller)) return;
  push(target, CallEntry::called, {branch.from, branch.to, true});
}

void CallStack::returned(const Branch& branch) {
  if (std::size_t below = below_entry_from(branch.to); below != frames_.size()) {
    cut(below, CallEnd::returned);
    return note_site(branch.to, branch.time);
  }
  note_site(branch.to, branch.time);
  if ((branch.flags & kTraceEnd) != 0) return leave_function();
  // A handler returns into the system's trampoline.
  const std::size_t up = up_to_entered();
  if (up != 0 && frames_[up - 1].how == CallEntry::outside) return;
  const Located& function = locate(branch.to, branch.time);
  if (function.same_function(frames_.back().function)) return;
  if (std::size_t keep = up_to_landing(function, branch.to, branch.time); keep != 0) {
    return cut(keep, CallEnd::skipped);
  }
  if (function.entry) return push(function, CallEntry::jumped, {0, branch.to});  // push; ret
  if (functions_.is_of_probes(function)) return leave_function();
  if (functions_.is_nowhere(function)) return leave_for_nowhere(function, branch);
  ++thread_.restarts;
  // What the outermost call returns to is picked up.
  const bool outermost = up <= 1 && !frames_.front().goes_on;
  start(branch, false, !outermost);
}

// Where nothing is mapped nobody waits for a return: it was the address that was wrong, and those
// who called the function that returned are where they were.
void CallStack::leave_for_nowhere(const Located& where, const Branch& branch) {
  const Located nowhere = where;
  const std::size_t up = up_to_entered();
  const std::uint64_t called_at = up == 0 ? 0 : frames_[up - 1].site;
  leave_function();
  if (frames_.empty()) return start(branch, false);
  push(nowhere, CallEntry::jumped, {called_at, branch.to});
}

// Nobody asks where returns in known functions have gone.
void CallStack::note_site(std::uint64_t to, std::uint64_t time) {
  if (!frames_.empty() && has(frames_.back(), to)) return;
  if (!locate(to, time).known()) sites_.add(to);
}

void CallStack::jumped(const Branch& branch) {
  Frame& top = frames_.back();
  if (has(top, branch.to)) return;
  if (branch.to == 0) {  // to where a filter hides it
    ended_at_ = 0;
    return;
  }
  if (top.function.stub && has(top, branch.from)) {
    return enter_from_stub(functions_.called(space_, branch.to, branch.time), branch.to);
  }
  const Located from = locate(branch.from, branch.time);
  const Located& function = locate(branch.to, branch.time);
  if (function.same_function(top.function)) return;
  // Behind a handler's return the function on top is not the one that runs.
  if (function.known() && function.same_function(from)) return;
  if (top.function.stub) {  // by way of the head of the PLT
    return enter_from_stub(functions_.called(space_, branch.to, branch.time), branch.to);
  }
  if (top.function.resolver && function.entry) return leave_resolver(function, branch.to);
  const bool tail_call = function.known() ? function.entry : !sites_.has(branch.to);
  std::size_t keep = up_to_in_jumps(function);
  if (keep == 0 && !tail_call && may_leave_calls(branch)) keep = up_to_left(function, branch);
  if (keep != 0) return cut(keep, tail_call ? CallEnd::returned : CallEnd::skipped);
  push(function, CallEntry::jumped, {branch.from, branch.to});
}

void CallStack::start(const Branch& branch, bool known_start, bool goes_on) {
  cut(0, CallEnd::lost);
  started_ = true;
  const Located& function = locate(branch.to, branch.time);
  std::uint32_t parent = known_start ? thread_.root : unknown_caller();
  std::uint32_t node = paths_.child(parent, function.function);
  if (!goes_on) ++paths_[node].calls;
  open(function, node, CallEntry::first, {0, branch.to, false, goes_on});
}

void CallStack::open(const Located& function, std::uint32_t node, CallEntry how, Way way) {
  if (keeps_calls_) {
    calls_.push_back({.function = function.function,
                      .site = way.site,
                      .entry = way.entry,
                      .since = clock_,
                      .how = how,
                      .stub = function.stub,
                      .by_call = way.by_call,
                      .goes_on = way.goes_on,
                      .made_branch = clock_.branches - std::min<std::uint64_t>(clock_.branches, 1),
                      .made_insn = step_});
    if (watcher_ != nullptr) watcher_->opened(calls_.back(), frames_.size());
  }
  // Written in its place: a copy would wait for what was only just stored.
  Frame& frame = frames_.emplace_back();
  frame.function = function;
  frame.site = way.site;
  frame.node = node;
  frame.how = how;
  frame.goes_on = way.goes_on;
  if (function.sets_jump) note_set_jump();
}

void CallStack::note_set_jump() {
  const std::size_t up = up_to_entered();
  if (up < 2) return;  // whoever called it is not known
  const auto level = static_cast<std::uint32_t>(up - 1);
  set_jumps_.add({level, frames_[level].site}, has_set_jump());
  frames_[level - 1].set_jump = true;
}

void CallStack::cut(std::size_t keep, CallEnd how) {
  keep = std::min(keep, frames_.size());
  if (watcher_ == nullptr) {
    frames_.resize(keep);
    if (keeps_calls_) calls_.resize(keep);
    return;
  }
  while (frames_.size() > keep) {
    // What was left behind for a caller further down did not return itself, unless it was jumped
    // to.
    const bool last = frames_.size() == keep + 1;
    const CallEntry entry = frames_.back().how;
    frames_.pop_back();
    const bool together = how == CallEnd::returned && !last && entry != CallEntry::jumped;
    watcher_->closed(calls_.back(), together ? CallEnd::skipped : how, clock_);
    calls_.pop_back();
  }
}

void CallStack::call_is(const Located& function, std::uint64_t entry, bool by_call) {
  frames_.back().function = function;
  if (function.sets_jump) note_set_jump();
  if (!keeps_calls_) return;
  OpenCall& call = calls_.back();
  call.entry = entry;
  call.since = clock_;
  call.function = function.function;
  call.stub = function.stub;
  call.by_call = by_call;
  if (watcher_ != nullptr && !function.stub) watcher_->became(call, frames_.size() - 1);
}

void CallStack::push(const Located& function, CallEntry how, Way way) {
  std::uint32_t node = top_node();
  if (frames_.size() == kDeepest) {
    ++thread_.restarts;
    cut(0, CallEnd::lost);
    node = unknown_caller();
  }
  way.goes_on = how == CallEntry::jumped && function.known() && !function.entry;
  if (!function.stub) {
    node = paths_.child(node, function.function);
    if (!way.goes_on) ++paths_[node].calls;
  }
  open(function, node, how, way);
}

void CallStack::reopen(const Located& function, std::uint32_t node, CallEntry how, Way way) {
  if (frames_.size() == kDeepest) {
    ++thread_.restarts;
    cut(0, CallEnd::lost);
    node = paths_.child(unknown_caller(), function.function);
  }
  open(function, node, how, way);
}

std::uint32_t CallStack::unknown_caller() {
  return paths_.child(thread_.root, functions_.pseudo("[unknown caller]"));
}

void CallStack::enter_from_stub(const Located& function, std::uint64_t entry) {
  Frame& top = frames_.back();
  // The first call of a function goes through the head of the PLT, which has no name.
  if (!function.known() && function.object == top.function.object) return;
  call_is(function, entry, true);
  if (function.stub) return;
  top.node = paths_.child(top.node, function.function);
  ++paths_[top.node].calls;
}

// The function that was called takes the resolver's place.
void CallStack::leave_resolver(const Located& function, std::uint64_t entry) {
  Frame& top = frames_.back();
  std::uint32_t caller =
      top.node == CallPaths::kOther ? CallPaths::kOther : paths_[top.node].parent;
  call_is(function, entry, false);
  top.node = paths_.child(caller, function.function);
  ++paths_[top.node].calls;
}

std::size_t CallStack::below_entry_from(std::uint64_t address) const {
  for (std::size_t i = frames_.size(); i-- > 0;) {
    const Frame& frame = frames_[i];
    if (frame.how != CallEntry::jumped && returns_behind(address, frame.site)) return i;
  }
  return frames_.size();
}

std::size_t CallStack::up_to(const Located& function) const {
  std::size_t last = frames_.size() - std::min(frames_.size(), kSearched);
  for (std::size_t i = frames_.size(); i-- > last;) {
    if (frames_[i].function.same_function(function)) return i + 1;
  }
  return 0;
}

std::size_t CallStack::up_to_landing(const Located& function, std::uint64_t to,
                                     std::uint64_t time) const {
  const auto came_back = set_jumps_.innermost(to, has_set_jump());
  if (came_back && frames_[*came_back - 1].function.same_function(function)) return *came_back;
  const std::size_t innermost = up_to(function);
  if (innermost == 0) return 0;
  const std::size_t last = frames_.size() - std::min(frames_.size(), kSearched);
  std::vector<CodeRange> calls;
  for (std::size_t i = innermost; i-- > last;) {
    if (i + 1 == frames_.size() || !frames_[i].function.same_function(function)) continue;
    if (calls.empty()) calls = functions_.calls_landing_at(space_, to, time);
    if (calls.empty()) break;
    const std::uint64_t site = frames_[i + 1].site;
    if (std::ranges::any_of(calls, [site](const CodeRange& c) { return c.has(site); })) {
      return i + 1;
    }
  }
  return innermost;
}

// A table of cases may lead to a part of the function on top that has a name of its own, and an
// earlier call of that function may be in this part: then nothing is left.
std::size_t CallStack::up_to_left(const Located& function, const Branch& jump) const {
  const std::size_t up = up_to(function);
  const bool is_part = up > 1 && frames_[up - 1].how == CallEntry::jumped &&
                       frames_[up - 2].function.same_function(frames_.back().function);
  return is_part ? 0 : up_to_landing(function, jump.to, jump.time);
}

std::size_t CallStack::up_to_in_jumps(const Located& function) const {
  std::size_t last = frames_.size() - std::min(frames_.size(), kSearched);
  for (std::size_t i = frames_.size(); i-- > last;) {
    if (frames_[i].function.same_function(function)) return i + 1;
    if (frames_[i].how != CallEntry::jumped) break;
  }
  return 0;
}

SavedCalls CallStack::save() const {
  SavedCalls out{.space = space_,
                 .started = started_,
                 .last_time = last_time_,
                 .ended_at = ended_at_,
                 .clock = clock_,
                 .last_loss = last_loss_,
                 .set_jumps = set_jumps_.open(has_set_jump())};
  out.open.reserve(frames_.size());
  for (const OpenCall& call : calls()) {
    out.open.push_back({call.site, call.entry, call.since, call.how, call.by_call, call.goes_on,
                        call.made_branch, call.made_insn});
  }
  return out;
}

void CallStack::restore(const SavedCalls& saved) {
  frames_.clear();
  calls_.clear();
  space_ = saved.space;
  started_ = saved.started;
  last_time_ = saved.last_time;
  ended_at_ = saved.ended_at;
  last_loss_ = saved.last_loss;
  for (const SavedCall& call : saved.open) {
    if (frames_.size() == kDeepest) break;
    const Located function = located(functions_, space_, call);
    calls_.push_back({.function = function.function,
                      .site = call.site,
                      .entry = call.entry,
                      .since = call.since,
                      .how = call.how,
                      .stub = function.stub,
                      .by_call = call.by_call,
                      .goes_on = call.goes_on,
                      .made_branch = call.made_branch,
                      .made_insn = call.made_insn});
    if (watcher_ != nullptr) watcher_->opened(calls_.back(), frames_.size());
    frames_.push_back(
        {.function = function, .site = call.site, .how = call.how, .goes_on = call.goes_on});
  }
  clock_ = saved.clock;
  set_jumps_ = {};
  for (const SetJump& jump : saved.set_jumps) {
    if (jump.level == 0 || jump.level > frames_.size()) continue;
    set_jumps_.add(jump, has_set_jump());
    frames_[jump.level - 1].set_jump = true;
  }
}

std::size_t CallStack::up_to_entered() const {
  std::size_t up = frames_.size();
  while (up > 0 && frames_[up - 1].how == CallEntry::jumped) --up;
  return up;
}

// To a caller that is not traced.
void CallStack::leave_function() {
  const std::size_t up = up_to_entered();
  cut(up == 0 ? 0 : up - 1, CallEnd::returned);
}

}  // namespace hodo::analyze
