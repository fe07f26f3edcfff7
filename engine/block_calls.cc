#include "block_calls.h"

#include "clock.h"
#include "code_report.h"
#include "filters.h"
#include "hodo/hw/intel_pt.h"
#include "hodo/unit/branch_walk.h"
#include "hodo/unit/bts_unit.h"
#include "hodo/unit/lbr_unit.h"

namespace hodo::engine {
namespace {

using unit::Block;

// Code counts from the time when it was sent: a thread that did not send it itself has to say that
// it is past that time.
[[gnu::noinline, gnu::cold]] void pass_new_code(ThreadArea& area) {
  area.reports_seen = reports();
  area.output.tracer->before_new_code();
  area.output.tracer->after_new_code();
}

template <class Unit, void (Unit::*Enter)(const Block*)>
void on_block(ThreadArea* area, const BlockSite* site) {
  if (area->reports_seen != reports()) [[unlikely]] {
    pass_new_code(*area);
  }
  auto* unit = static_cast<Unit*>(area->block_unit);
  if (site->excluded) return unit->leave_filter(&site->block);
  (unit->*Enter)(&site->block);
}

void on_block_of_nobody(ThreadArea*, const BlockSite*) {}

template <class Unit>
constexpr ThreadArea::OnBlock on_block_of_walk() {
  using Walk = unit::BranchWalk<Unit>;
  return on_block<Walk, &Walk::enter>;
}

ThreadArea::OnBlock on_block_of(const relay::Settings& settings) {
  using unit::PtUnit;
  switch (settings.recording) {
    case relay::Recording::bts:
      return on_block_of_walk<unit::BtsUnit>();
    case relay::Recording::lbr:
      return on_block_of_walk<unit::LbrUnit>();
    case relay::Recording::pt:
      break;
  }
  const bool counts = (settings.rtit_ctl & hw::rtit_ctl::kCycEn) != 0;
  return counts ? on_block<PtUnit, &PtUnit::enter<true>> : on_block<PtUnit, &PtUnit::enter<false>>;
}

}  // namespace

bool by_blocks = false;

void choose_tracing(const relay::Settings& settings) {
  constexpr std::uint64_t kNotInline = hw::rtit_ctl::kCycEn | hw::rtit_ctl::kDisRetc;
  by_blocks = settings.recording != relay::Recording::pt || settings.filters != 0 ||
              (settings.rtit_ctl & kNotInline) != 0;
  configure_filters(settings);
}

void start_block_unit(ThreadArea& area) {
  area.on_block = on_block_of_nobody;
  if (!area.output.channel) return;
  Output& output = area.output;
  output.tracer = relay::start_tracer(*output.channel, isa::Mode::bits64, {}, &now);
  area.block_unit = output.tracer->unit();
  area.on_block = on_block_of(output.channel->settings());
}

void keep_block(ThreadArea& area) {
  if (!area.output.tracer) return;
  const Block* last = area.output.tracer->current();
  if (last == nullptr) return;
  area.last_block = *last;
  area.output.tracer->move_current(&area.last_block);
}

void before_new_code(ThreadArea& area) {
  if (area.output.tracer) area.output.tracer->before_new_code();
}

void after_new_code(ThreadArea& area) {
  if (!area.output.tracer) return;
  area.output.tracer->after_new_code();
  if (area.reports_seen + 1 == reports()) area.reports_seen = reports();
}

}  // namespace hodo::engine
