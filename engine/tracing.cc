#include "tracing.h"

#include <utility>

#include "block_calls.h"
#include "code_report.h"
#include "hodo/unit/inline_pt.h"

namespace hodo::engine {
namespace {

std::uint64_t take_outcomes(ThreadArea& area) {
  return std::exchange(area.outcomes, unit::InlinePt::kNoOutcomes);
}

}  // namespace

void trace_system_call(ThreadArea& area) {
  if (area.output.tracer) return area.output.tracer->leave_context();
  area.unit.leave_after(take_outcomes(area));
  hand_over(area.output, false, 0);
}

void trace_interruption(ThreadArea& area, std::uint64_t ip) {
  // To the unit an instruction in the last block that did not run is one that raised the event.
  if (area.output.tracer) return area.output.tracer->interrupt(ip, area.in_block);
  area.unit.interrupt_after(take_outcomes(area), ip);
}

void trace_branch(ThreadArea& area, std::uint64_t ip) {
  area.in_block = false;
  if (!area.output.tracer) area.unit.branch_after(take_outcomes(area), ip);
}

void trace_from(ThreadArea& area, std::uint64_t ip) {
  if (by_blocks) return;  // the next block tells
  area.reports_seen = reports();
  area.unit.enter_at(ip);
  mark_running(area.output);
  forget_calls(area);
}

}  // namespace hodo::engine
