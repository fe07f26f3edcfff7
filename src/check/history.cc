#include "history.h"

#include <algorithm>
#include <utility>

#include "behind_data.h"
#include "bindings.h"
#include "copied_stack.h"
#include "handler_entry.h"
#include "hodo/isa/disasm.h"
#include "hodo/symbol/demangle.h"
#include "planted.h"

namespace hodo::check {
namespace {

// Of no call: setjmp is jumped to, by a stub, a function that it is the end of, or a retpoline.
bool enters_twice(PathFacts facts) { return (facts & (kToSetjmp | kToReturnSite)) == kToSetjmp; }

}  // namespace

// What the model of the stack asks of a branch.
class History::Here final : public Landings {
 public:
  Here(History& history, const Step& step) : history_(history), step_(step) {}

  bool lands(std::uint64_t return_address, std::uint64_t pad) const override {
    const End frame = end(return_address);
    const End to = end(pad);
    if (!frame.known() || frame.module != to.module) return false;
    if (restores_frame(to)) return owns(return_address, pad);
    return frame.module->lands(frame.vaddr, to.vaddr);
  }
  bool owns(std::uint64_t return_address, std::uint64_t label) const override {
    const End frame = end(return_address);
    const End to = end(label);
    // The call itself lies before its return address.
    return frame.known() && frame.module == to.module &&
           frame.module->same_function(frame.vaddr - 1, to.vaddr);
  }
  bool is_nobodys(std::uint64_t label) const override {
    const End to = end(label);
    return to.known() && to.module->function(to.vaddr) == nullptr;
  }
  bool is_behind_arguments(std::uint64_t return_address, std::uint64_t to) const override {
    return check::is_behind_arguments(end(step_.branch.from), end(return_address), end(to));
  }
  bool is_behind_gap(std::uint64_t return_address, std::uint64_t to) const override {
    return check::is_behind_gap(end(return_address), end(to));
  }
  bool is_planted(std::uint64_t to, std::uint64_t distance) const override {
    return check::is_planted(end(to), distance);
  }
  bool was_called() const override { return !history_.is_uncalled(step_); }
  bool was_left(std::uint64_t label) const override {
    const End to = end(label);
    return history_.pasts_.has_switched(step_.context.space, [&](std::uint64_t from) {
      const End jump = end(from);
      return jump.known() && jump.module == to.module &&
             jump.module->same_function(jump.vaddr, to.vaddr);
    });
  }
  bool saw_all() const override { return history_.pasts_.whole(step_.context.space); }
  bool is_generated(std::uint64_t return_address) const override {
    const End frame = end(return_address);
    return frame.outside() && check::is_generated(frame, step_.context.space, step_.branch.time,
                                                  history_.locator_, history_.jit_);
  }

  bool goes_to_pushed() const override { return returns_to_pushed(end(step_.branch.from)); }

 private:
  End end(std::uint64_t address) const {
    return history_.locator_.end(step_.context.space, address, step_.branch.time);
  }

  History& history_;
  const Step& step_;
};

History::History(const Options& options, Locator& locator, Pasts& pasts, Makers& makers,
                 const EdgeJudge& edges, Reports& reports)
    : locator_(locator),
      pasts_(pasts),
      makers_(makers),
      edges_(edges),
      reports_(reports),
      jit_(options.jit),
      wants_texts_(is_wanted(RuleId::text_changed, options)),
      wants_names_(is_wanted(RuleId::plt_redirected, options)),
      wants_targets_(is_wanted(RuleId::call_target, options)),
      wants_functions_(is_wanted(RuleId::call_function, options)),
      wants_sensitive_(is_wanted(RuleId::call_sensitive, options)),
      rules_(make_history_rules(options)) {}

void History::tell(const Happening& happening) {
  for (const auto& rule : rules_) {
    for (Verdict& verdict : rule->judge(happening, locator_)) {
      reports_.add(happening.step, rule->id(), std::move(verdict));
    }
  }
}

void History::tell_problem(const Step& step, const ShadowStack::Verdict& problem,
                           std::vector<Fact> facts) {
  if (!problem) return;
  tell({.what = Happening::What::problem,
        .step = step,
        .problem = *problem,
        .facts = std::move(facts)});
}

// Where a return should have gone, and which call was open.
std::vector<Fact> History::expected_return(const Step& step, const Expected& expected) {
  if (expected.astray) return {};  // the first that went astray has said it
  if (!expected.last) {
    return {{.what = "open calls",
             .text = expected.whole ? "none: the thread's first function returns"
                                    : "not known, as the path before is not"}};
  }
  if (expected.last->signal) {
    return {{.what = "should end", .text = "the signal handler"},
            {.what = "which interrupted", .address = expected.last->address}};
  }
  const std::uint64_t to = expected.last->address;
  std::vector<Fact> out = {{.what = "should go to", .address = to}};
  const End end = locator_.end(step.context.space, to, step.branch.time);
  const auto call = end.known() ? end.module->call_before(end.vaddr) : std::nullopt;
  if (!call) return out;
  Fact open{.what = "call open", .address = to - (end.vaddr - *call)};
  const std::string_view callee = end.module->callee_before(end.vaddr);
  if (!callee.empty()) open.text = "of " + symbol::demangle(callee);
  out.push_back(std::move(open));
  return out;
}

std::vector<Fact> History::open_setjmps(const Step& step) const {
  constexpr std::size_t kMost = 3;
  std::vector<Fact> out;
  for (const std::uint64_t address : step.thread.stack.setjmps(kMost)) {
    out.push_back({.what = "open setjmp", .address = address});
  }
  return out;
}

void History::follow(const Step& step) {
  const Branch& branch = step.branch;
  if ((branch.flags & kNotTaken) != 0) return;
  ShadowStack& stack = step.thread.stack;
  if ((branch.flags & kTraceEnd) != 0 && is_near_transfer(branch.kind)) {
    const bool call = branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
    if (call) stack.call(step.edge.next);
    pasts_.set_whole(step.context.space, false);
    return stack.leave_filter();
  }
  switch (branch.kind) {
    case BranchKind::cond:
    case BranchKind::jmp:
      if (enters_twice(step.edge.facts)) stack.enter_twice();
      return;
    case BranchKind::call:
    case BranchKind::icall:
      // SDM, "RET Compression": a call of the next instruction only asks where it is.
      if (branch.to != step.edge.next && (step.edge.facts & kOpensNothing) == 0) {
        stack.call(step.edge.next, step.edge.facts);
      }
      step.thread.returns.end();
      if ((step.edge.facts & kToLoader) != 0) begin_loading(step);
      tell_linkers(step);
      if (branch.kind == BranchKind::icall) {
        follow_binding(step);
        return follow_jump(step);
      }
      step.thread.jumps.end();
      return;
    case BranchKind::ijmp:
      if (step.edge.returns) return follow_return(step, step.edge.facts);
      tell_linkers(step);
      follow_binding(step);
      follow_switch(step);
      if (enters_twice(step.edge.facts)) stack.enter_twice();
      if ((step.edge.facts & kPlantsReturn) != 0) plant(step);
      return follow_jump(step);
    case BranchKind::ret:
      return follow_return(step, step.edge.facts);
    case BranchKind::iret:
      if (branch.from == 0 || branch.to == 0 || is_kernel(branch.from) || is_kernel(branch.to))
        return follow_absence(step);
      return follow_far_return(step, FarBranch::iret);
    default:
      return follow_absence(step);
  }
}

void History::follow_pointer(const Step& step) {
  if (step.branch.kind == BranchKind::icall && (step.edge.facts & kToLoader) != 0) {
    begin_loading(step);
  }
  if ((step.edge.facts & kAsksLinker) != 0) follow_binding(step);
}

void History::begin_loading(const Step& step) {
  Thread& thread = step.thread;
  thread.loader_call = step.edge.next;
  thread.loader_attack = thread.attack.position == step.position() ? thread.attack.number : 0;
}

void History::tell_linkers(const Step& step) {
  if ((step.edge.facts & kFromLinker) == 0) return;
  tell({.what = Happening::What::from_linker, .step = step});
}

// IRET takes the stack pointer and the flags, too: it may go on with another stack, or with what a
// handler interrupted.
void History::follow_far_return(const Step& step, FarBranch how) {
  PathFacts facts = step.edge.facts;
  const End to = locator_.end(step.context.space, step.branch.to, step.branch.time);
  if (how == FarBranch::iret) facts |= kFromSwitch | (to.has(text::kInsn) ? kResumes : PathFact{});
  follow_return(step, facts);
}

void History::follow_return(const Step& step, PathFacts facts) {
  Thread& thread = step.thread;
  thread.jumps.end();
  if (is_probed_return(step)) return thread.returns.end();
  const bool counted = !thread.stack.knows_all() && thread.stack.depth() == 0;
  if ((facts & kFromSwitch) != 0) {
    if (is_uncalled(step)) facts |= kToUncalled;
    if (is_shared(step)) facts |= kShared;
  }
  const Here here(*this, step);
  const auto frames = thread.stack.frames();
  const Expected expected{.last = frames.empty() ? std::nullopt : std::optional(frames.back()),
                          .whole = thread.stack.knows_all(),
                          .astray = thread.stack.is_astray()};
  if ((facts & kFromStored) != 0 && binds_stub(step, expected.last)) facts |= kToLabel;
  const auto problem = thread.stack.ret(step.branch.to, facts, &here);
  if (!problem && enters_twice(facts)) thread.stack.enter_twice();
  // Where the calls are not known, a return that goes behind no call is as good a link.
  constexpr PathFacts kNoLink = kToReturnSite | kUnjudged | kToSigreturn | kToArguments;
  const bool odd = counted && (step.edge.facts & kNoLink) == 0;
  if (problem) tell_problem(step, problem, expected_return(step, expected));
  if (!problem && !odd) return thread.returns.end();
  tell({.what = Happening::What::stray_return, .step = step});
}

// Whether a PLT stub without indirect jumps (lld's -z retpolineplt), whose slot is not filled yet,
// goes on with its own second half, which asks the dynamic linker: behind the jump that stands
// behind its call, where the file has the slot lead.
bool History::binds_stub(const Step& step, const std::optional<ShadowStack::Frame>& last) {
  if (!last || last->signal) return false;
  const End behind = locator_.end(step.context.space, last->address, step.branch.time);
  const auto jump = behind.known() ? behind.module->insn(behind.vaddr) : std::nullopt;
  if (!jump || jump->cls != isa::InsnClass::jmp) return false;
  if (step.branch.to != last->address + jump->length) return false;
  const auto slots = behind.module->slots();
  return std::ranges::find(slots, behind.vaddr + jump->length, &text::Slot::initial) != slots.end();
}

// Jumps that may change the stack, and the one that begins the program.
void History::follow_switch(const Step& step) {
  PathFacts facts = step.edge.facts;
  constexpr PathFacts kStart = kToImage | kToOtherFile;
  const bool starts = (facts & kStart) == kStart && step.thread.stack.start_program();
  if ((facts & kToArguments) != 0) step.thread.stack.skip(step.branch.to, Here(*this, step));
  if (!starts && (facts & kFromSwitch) != 0) {
    if (is_uncalled(step)) facts |= kToUncalled;
    if (is_shared(step)) facts |= kShared;
    const Callers callers(step.thread.stack);
    const auto problem = step.thread.stack.jump(step.branch.to, facts, Here(*this, step));
    const bool copied = problem && (facts & kToSetjmp) != 0 && copies_stack_back(step, callers);
    if (problem && !copied) tell_problem(step, problem, open_setjmps(step));
  }
  if ((facts & kToImage) != 0) tell({.what = Happening::What::to_program, .step = step});
}

History::Callers::Callers(const ShadowStack& stack) {
  const auto frames = stack.frames();
  const auto last = frames.last(std::min(frames.size(), addresses.size()));
  std::ranges::transform(last, addresses.begin(), &ShadowStack::Frame::address);
}

// Whether a jump to a setjmp may find a stack that was copied back: the functions of both, of the
// longjmp the caller's or that of a function which the C library has around it, copy memory before.
bool History::copies_stack_back(const Step& step, const Callers& callers) {
  const auto copies = [&](std::uint64_t address) {
    return copies_before(locator_.end(step.context.space, address, step.branch.time));
  };
  return copies(step.branch.to) && std::ranges::any_of(callers.addresses, copies);
}

void History::plant(const Step& step) {
  const auto distance =
      planted_distance(locator_.end(step.context.space, step.branch.from, step.branch.time));
  if (distance) step.thread.stack.plant(*distance);
}

// The first call through a slot that is filled when it is needed: by way of the slot's own stub and
// the dynamic linker, which jumps to what it has found by the slot's name.
void History::follow_binding(const Step& step) {
  std::vector<Binding>& open = step.thread.bindings;
  if ((step.edge.facts & kAsksLinker) != 0) return begin_binding(step, locator_, open);
  const bool binds = (step.edge.facts & (kFromResolver | kToImage)) == kFromResolver;
  if (!binds || open.empty()) return;
  auto verdict = judge_binding(step, locator_, open);
  if (verdict && wants_names_) reports_.add(step, RuleId::plt_redirected, std::move(*verdict));
}

// A link of a chain is a step that call.target has found wrong.
void History::follow_jump(const Step& step) {
  if (!edges_.has_finding(step.edge, RuleId::call_target)) return step.thread.jumps.end();
  tell({.what = Happening::What::stray_jump, .step = step});
}

// What happens while the thread is not traced: system calls, signals, gaps.
void History::follow_absence(const Step& step) {
  const Branch& branch = step.branch;
  ShadowStack& stack = step.thread.stack;
  step.thread.returns.end();
  step.thread.jumps.end();
  if (branch.kind == BranchKind::lost || branch.kind == BranchKind::unknown) return lose(step);
  const bool back = branch.kind == BranchKind::begin ||
                    (is_kernel(branch.from) && branch.to != 0 && !is_kernel(branch.to));
  if (!back) {
    const bool call = !step.edge.at_breakpoint &&
                      (branch.kind == BranchKind::syscall || branch.kind == BranchKind::int_);
    const std::uint64_t next = call ? step.edge.next : branch.from;
    // Calls have two bytes; which the kernel repeats may be another one (see Edge::next). What was
    // interrupted may have been done meanwhile, as the engine does what writes to a page of code. A
    // near branch would be in the trace: it was skipped, as a debugger may do.
    const bool done_unseen = step.edge.next != 0 && (step.edge.facts & kFromNear) == 0;
    const std::uint64_t done = done_unseen ? step.edge.next : branch.from;
    const std::uint64_t again = !call ? done : next > branch.from ? next - 2 : branch.from;
    stack.leave(next, again, step.edge.facts);
    step.thread.far = step.edge.far;
    step.thread.left_probes = step.edge.from_probes;
    step.thread.behind_insn = step.edge.next;
    step.thread.branch_at = branch_at(step);
    step.thread.breakpoint = step.edge.at_breakpoint ? branch.from : 0;
    step.thread.system_call = call ? std::optional(branch) : std::nullopt;
    if ((step.edge.facts & kForks) != 0) pasts_.keep_for_children(step);
    return;
  }
  if (branch.kind == BranchKind::begin && (branch.flags & kResync) != 0) return lose(step);
  come_back(step);
}

void History::lose(const Step& step) {
  step.thread.system_call.reset();
  step.thread.bindings.clear();
  step.thread.stack.lose();
  pasts_.set_whole(step.context.space, false);
}

void History::come_back(const Step& step) {
  Thread& thread = step.thread;
  const std::uint32_t space = step.context.space;
  if (std::exchange(thread.fresh, false)) pasts_.begin_as_child(step);
  makers_.see_return(step);
  thread.system_call.reset();
  pasts_.see(space, step.branch.time);
  const std::uint64_t breakpoint = std::exchange(thread.breakpoint, 0);
  if (follow_probes(step) || follow_probed_branch(step)) return;
  if (breakpoint != 0 && step.branch.to != thread.behind_insn) tell_breakpoint(step, breakpoint);
  const FarBranch far = std::exchange(thread.far, FarBranch::none);
  if (far != FarBranch::none && thread.stack.is_put_elsewhere(step.branch.to)) {
    thread.stack.end_absence();
    if (far != FarBranch::call && far != FarBranch::jump) return follow_far_return(step, far);
    tell_handler(step);  // which begins at a function, too
    if (far == FarBranch::call) thread.stack.call(thread.behind_insn);
    return;
  }
  PathFacts facts = step.edge.facts;
  if (const auto at = thread.stack.interrupted(); at && is_nearby(step, *at)) facts |= kToNearby;
  if (thread.stack.is_put_elsewhere(step.branch.to)) tell_handler(step);
  if ((facts & kToImage) != 0) {
    thread.bindings.clear();  // what execve ends
    tell({.what = Happening::What::begins, .step = step});
  }
  const bool known = thread.stack.knows_all();
  const Here here(*this, step);
  tell_problem(step, thread.stack.enter(step.branch.to, facts, &here));
  const bool knows = thread.stack.knows_all();
  if ((facts & kToImage) != 0 && knows && !known) pasts_.set_whole(space, true);
  if (known && !knows) pasts_.set_whole(space, false);
}

void History::tell_handler(const Step& step) {
  auto found = judge_handler(step, locator_);
  if (!found) return;
  const bool wanted = found->rule == RuleId::call_target     ? wants_targets_
                      : found->rule == RuleId::call_function ? wants_functions_
                                                             : wants_sensitive_;
  if (wanted) reports_.add(step, found->rule, std::move(found->verdict));
}

// Whether other threads may go on with a stack that this one has left.
bool History::is_shared(const Step& step) {
  const std::uint32_t space = step.context.space;
  return !pasts_.whole(space) || locator_.regions().next_thread(space, 0) <= step.branch.time;
}

// Whether a handler can mean this place: by what it interrupted, which it has to know.
bool History::is_nearby(const Step& step, std::uint64_t interrupted) {
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
bool History::is_uncalled(const Step& step) {
  const std::uint32_t space = step.context.space;
  if ((step.edge.facts & kToReturnSite) == 0 || !pasts_.whole(space)) return false;
  return !pasts_.has_called(space, step.branch.to) &&
         locator_.regions().next_thread(space, 0) > step.branch.time;
}

}  // namespace hodo::check
