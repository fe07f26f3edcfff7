#include "system_crossings.h"

#include "interrupt_frame.h"
#include "system_recorder.h"

namespace hodo::plugin {

using unit::Block;
using unit::PtUnit;

namespace {

// What took control at `handler`, a block that a gate leads to, or may lead to.
std::optional<InterruptFrame> event_at(const Vcpu& vcpu, const Block& handler) {
  if ((handler.flags & Block::kHandler) == 0) return std::nullopt;
  return interrupt_frame(recorder->machine, vcpu.cpu());
}

// Did the instruction that the frame points to raise the event? Without a known gate: after an
// interrupt the last block was executed to its end, also where it leads to itself.
bool faulted(const InterruptFrame& frame, const Block& handler, const Block* last) {
  const guest::KernelEntries* entries = recorder->entries();
  const auto vector = entries != nullptr ? entries->vector(handler.start) : std::nullopt;
  if (vector) return guest::is_fault(*vector);
  const bool follows = last != nullptr && (frame.ip == last->taken || frame.ip == last->other);
  return frame.has_error_code || !follows;
}

void leave_recorded_user(Vcpu& vcpu, const Block& entered) {
  PtUnit& unit = vcpu.unit();
  const Block* last = unit.current();
  if (last == nullptr) return;
  const auto frame = event_at(vcpu, entered);
  const bool by_event = frame && frame->from_user;
  const bool by_call =
      last->cls == isa::InsnClass::syscall && !(by_event && last->contains(frame->ip));
  if (by_call || !by_event) return unit.leave_context();
  unit.interrupt(frame->ip, faulted(*frame, entered, last));
}

}  // namespace

void choose_kernel(Vcpu& vcpu) {
  const bool recorded = vcpu.traces_kernel() && vcpu.space != 0 && recorder->entries() != nullptr;
  if (!recorded) {
    vcpu.kernel_epoch = 0;
  } else if (vcpu.kernel_epoch == 0) {
    vcpu.kernel_epoch = recorder->kernel_code.epoch();
  }
}

void enter_user(Vcpu& vcpu) {
  const std::uint64_t cr3 = recorder->machine.read(vcpu.cpu(), Register::cr3);
  if (recorder->introspection.update(vcpu.cpu(), cr3, recorder->kernel_text, vcpu.running)) {
    recorder->spaces.enter(vcpu);
    if (vcpu.space != 0) recorder->met = true;
    adapt_coverage();
  }
  choose_kernel(vcpu);
  const bool recorded = vcpu.space != 0 && vcpu.traces_user();
  vcpu.where = recorded ? Vcpu::Where::user : Vcpu::Where::ignored;
  if (!recorded) vcpu.unit().leave_context();  // if its kernel part was recorded
}

void leave_user(Vcpu& vcpu, const Block& entered) {
  const bool goes_on = vcpu.kernel_epoch != 0;
  if (vcpu.where == Vcpu::Where::user && !goes_on) leave_recorded_user(vcpu, entered);
  vcpu.where = Vcpu::Where::kernel;
}

bool interrupted(void* self, const Block& handler, std::uint64_t& ip, bool& by_fault) {
  const auto frame = event_at(*static_cast<const Vcpu*>(self), handler);
  if (!frame) return false;
  ip = frame->ip;
  by_fault = faulted(*frame, handler, nullptr);
  return true;
}

std::uint64_t cr3_of(void* self) {
  return recorder->machine.read(static_cast<const Vcpu*>(self)->cpu(), Register::cr3);
}

}  // namespace hodo::plugin
