#include "handler_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace hodo::check {
namespace {

// Where the kernel puts a thread whose restartable sequence it interrupted, as the bytes before
// tell (RSEQ_SIG of glibc's <sys/rseq.h>).
bool is_restart(const End& to) {
  constexpr std::array<std::uint8_t, 4> kSignature = {0x53, 0x30, 0x05, 0x53};
  if (to.vaddr < kSignature.size()) return false;
  const auto before = to.module->bytes(to.vaddr - kSignature.size());
  return before.size() > kSignature.size() &&
         std::ranges::equal(before.first(kSignature.size()), kSignature);
}

}  // namespace

std::optional<HandlerFinding> judge_handler(const Step& step, Locator& locator) {
  const Branch& branch = step.branch;
  const End to = locator.end(step.context.space, branch.to, branch.time);
  if (to.in_probes()) {
    return HandlerFinding{RuleId::call_target,
                          {.reason = "a signal handler begins in the kernel's page of probes, or a "
                                     "debugger put the thread there"}};
  }
  if (!to.known() || to.kept || (step.edge.facts & kToImage) != 0) return std::nullopt;
  if ((step.edge.facts & kToFunction) == 0) {
    if (is_restart(to)) return std::nullopt;
    return HandlerFinding{
        RuleId::call_target,
        {.reason =
             "a signal handler begins where no function does, or a debugger put the thread there"}};
  }
  const bool sensitive = (step.edge.facts & kToSensitive) != 0;
  if (!sensitive && !to.module->is_untaken(to.vaddr)) return std::nullopt;
  if (!sensitive) {
    return HandlerFinding{
        RuleId::call_function,
        {.grade = Grade::unexplained,
         .reason = "a signal handler is a function whose address nothing in its file holds, or a "
                   "debugger put the thread there"}};
  }
  return HandlerFinding{
      RuleId::call_sensitive,
      {.grade = Grade::unusual,
       .reason =
           fmt::format("the thread was put into {}: it is a signal handler, or a debugger did so",
                       to.module->callee_name(to.vaddr))}};
}

}  // namespace hodo::check
