#include "program_execution.h"

#include "hodo/unit/bts_unit.h"
#include "hodo/unit/lbr_unit.h"
#include "hodo/unit/pt_unit.h"
#include "program_threads.h"

namespace hodo::plugin {
namespace {

using unit::Block;

// QEMU calls these at the start of a block. The first block of a thread goes another way, so that
// the others need no stack frame.
template <class Unit, void (Unit::*Enter)(const Block*)>
[[gnu::noinline, gnu::cold]] void on_first_block(void* data) {
  first_event();
  (static_cast<Unit*>(current_unit)->*Enter)(static_cast<const Block*>(data));
}

template <class Unit, void (Unit::*Enter)(const Block*)>
void on_block(unsigned, void* data) {
  auto* unit = static_cast<Unit*>(current_unit);
  if (unit == nullptr) [[unlikely]] {
    return on_first_block<Unit, Enter>(data);
  }
  (unit->*Enter)(static_cast<const Block*>(data));
}

// Kept code counts from the time when it was sent: a thread that did not send it itself has to say
// that it is past that time.
[[gnu::noinline, gnu::cold]] void pass_new_code(std::uint64_t sent) {
  current_thread->code_seen = sent;
  current_thread->tracer().before_new_code();
  current_thread->tracer().after_new_code();
}

// on_block() for kept code.
template <class Unit, void (Unit::*Enter)(const Block*)>
void on_kept_block(unsigned vcpu, void* data) {
  const std::uint64_t sent = recorder->code_sent.load(std::memory_order_acquire);
  if (current_thread != nullptr && current_thread->code_seen != sent) [[unlikely]] {
    pass_new_code(sent);
  }
  on_block<Unit, Enter>(vcpu, data);
}

template <class Unit, void (Unit::*Enter)(const Block*)>
constexpr UnitCallbacks::ByCode block_callbacks() {
  return {on_block<Unit, Enter>, on_kept_block<Unit, Enter>};
}

UnitCallbacks pt_callbacks() {
  using unit::PtUnit;
  return {.enter = block_callbacks<PtUnit, &PtUnit::enter<false>>(),
          .enter_counting = block_callbacks<PtUnit, &PtUnit::enter<true>>(),
          .enter_stepped = block_callbacks<PtUnit, &PtUnit::enter_stepped>(),
          .leave_filter = on_block<PtUnit, &PtUnit::leave_filter>,
          .make_off = [] -> void* { return new PtUnit; }};
}

template <class Unit>
UnitCallbacks walk_callbacks() {
  using Walk = unit::BranchWalk<Unit>;
  return {.enter = block_callbacks<Walk, &Walk::enter>(),
          .enter_counting = block_callbacks<Walk, &Walk::enter>(),
          .enter_stepped = block_callbacks<Walk, &Walk::enter_stepped>(),
          .leave_filter = on_block<Walk, &Walk::leave_filter>,
          .make_off = [] -> void* { return new Walk; }};
}

}  // namespace

UnitCallbacks callbacks_of(std::string_view unit) {
  if (unit == "bts") return walk_callbacks<unit::BtsUnit>();
  if (unit == "lbr") return walk_callbacks<unit::LbrUnit>();
  return pt_callbacks();
}

}  // namespace hodo::plugin
