// What the kernel's probes (uprobes), and others' breakpoints, make of a thread's path.
#include <array>
#include <optional>
#include <utility>

#include "changed_text.h"
#include "history.h"
#include "hodo/isa/disasm.h"

namespace hodo::check {

// The kernel has put its own page in the place of a return address (uprobes), and leads on from
// there: the call stays open until it has. It does so for calls, not for a handler.
bool History::is_probed_return(const Step& step) const {
  const auto frames = step.thread.stack.frames();
  return step.edge.to_probed_return && (frames.empty() || !frames.back().signal);
}

// The way through that page, seen as steps or as one interruption. Where it ends is where the
// function returns to, if no handler begins there. False: it is not on that way.
bool History::follow_probes(const Step& step) {
  Thread& thread = step.thread;
  if (!std::exchange(thread.left_probes, false)) return false;
  if (step.edge.to_probes) {
    thread.stack.end_absence();
    return true;
  }
  const auto frames = thread.stack.frames();
  const bool open = !frames.empty() && frames.back().address == step.branch.to;
  if (!open && (step.edge.facts & kToFunction) != 0) return false;
  thread.stack.end_absence();
  follow_return(step, step.edge.facts);
  return true;
}

// The near branch that the file has where the path stopped, as it lies in memory.
std::optional<isa::Insn> History::branch_at(const Step& step) {
  if ((step.edge.facts & kFromNear) == 0) return std::nullopt;
  const End at = locator_.end(step.context.space, step.branch.from, step.branch.time);
  auto insn = at.known() ? at.module->insn(at.vaddr) : std::nullopt;
  if (insn && isa::has_direct_target(insn->cls)) insn->target += at.address - at.vaddr;
  return insn;
}

// The kernel makes a direct branch itself whose place a probe of its own has (uprobes,
// branch_emulate_op()), or has a return made elsewhere: it leads to where the text has it lead.
// False: it is none.
bool History::follow_probed_branch(const Step& step) {
  Thread& thread = step.thread;
  const auto branch = std::exchange(thread.branch_at, std::nullopt);
  if (!branch || !thread.stack.is_put_elsewhere(step.branch.to)) return false;
  if (branch->cls == isa::InsnClass::ret) return follow_probed_return(step);
  if (!isa::has_direct_target(branch->cls)) return false;
  const std::uint64_t next = thread.behind_insn, to = step.branch.to;
  const bool passes = branch->cls == isa::InsnClass::cond && to == next;
  if (to != branch->target && !passes) return false;
  thread.stack.end_absence();
  if (branch->cls == isa::InsnClass::call && to != next) {
    pasts_.add_call(step.context.space, next);
    thread.stack.call(next, step.edge.facts);
  }
  return true;
}

bool History::follow_probed_return(const Step& step) {
  ShadowStack& stack = step.thread.stack;
  const auto frames = stack.frames();
  const bool open = !frames.empty() && !frames.back().signal;
  if (!open || frames.back().address != step.branch.to) return false;
  stack.end_absence();
  follow_return(step, step.edge.facts);
  return true;
}

// The thread met a breakpoint that its file does not have, and does not go on as the instruction
// would in whose place it is, as behind a probe of the kernel's.
void History::tell_breakpoint(const Step& step, std::uint64_t at) {
  if (!wants_texts_) return;
  const End end = locator_.end(step.context.space, at, step.branch.time);
  if (!end.known()) return;
  const isa::Mode mode = end.module->mode();
  const std::array ran = {kBreakpoint};
  Verdict verdict = changed_text(end, at, isa::disassemble(ran, at, mode),
                                 isa::disassemble(end.module->bytes(end.vaddr), at, mode));
  verdict.reason += ", and the thread was led elsewhere";
  reports_.add(step, RuleId::text_changed, std::move(verdict));
}

}  // namespace hodo::check
