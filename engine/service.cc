#include "service.h"

#include "cache.h"
#include "code_pages.h"
#include "emitter.h"
#include "glue.h"
#include "lock.h"
#include "memory.h"
#include "signals.h"
#include "translate.h"

namespace hodo::engine {
namespace {

std::uint64_t address(const void* of) { return reinterpret_cast<std::uint64_t>(of); }

std::uint8_t* fragment(std::uint64_t ip) {
  std::uint8_t* head = find_fragment(ip);
  return head != nullptr ? head : translate(ip, Entry::direct).head;
}

void link(Exit& exit, std::uint8_t* head) {
  if (exit.displacement == nullptr) return;
  if (Emitter::reaches(exit.displacement, head)) {
    Emitter::point(exit.displacement, head);
  } else {
    std::uint8_t* far = far_jump(address(exit.displacement), address(head));
    if (far == nullptr) return;
    Emitter::point(exit.displacement, far);
  }
  exit.displacement = nullptr;
}

}  // namespace

void forget_calls(ThreadArea& area, std::uint64_t before) {
  if (area.unit.calls_forgotten() == before) return;
  for (std::uint32_t& call : area.calls) call = static_cast<std::uint32_t>(address(no_call));
}

void go_on_at(ThreadArea& area, std::uint64_t ip) {
  const Locked locked;
  area.next = address(fragment(ip));
}

extern "C" {

void engine_exit(ThreadArea* area, Exit* exit) {
  switch (exit->kind) {
    case Exit::direct: {
      const Locked locked;
      std::uint8_t* head = fragment(exit->target);
      link(*exit, head);
      area->next = address(head);
      return;
    }
    case Exit::syscall:
      return system_call(*area, exit->resume, exit->target);
    default:
      run_native(*area, exit->target);
  }
}

void engine_changed(ThreadArea* area, CodeCheck* check) {
  const Locked locked;
  if (std::uint8_t* head = find_fragment(check->ip)) drop_fragment(check->ip, head);
  area->next = address(fragment(check->ip));
}

void engine_flush(ThreadArea* area, Exit* exit) {
  const std::uint64_t before = area->unit.calls_forgotten();
  area->unit.flush_at(area->outcomes, exit->target);
  area->outcomes = unit::InlinePt::kNoOutcomes;
  forget_calls(*area, before);
  area->next = exit->resume;
}

void engine_miss(ThreadArea* area, std::uint64_t target) {
  const Locked locked;
  std::uint8_t* head = find_fragment(target);
  std::uint8_t* landing = head != nullptr ? make_landing(target, Entry::by_tip, head)
                                          : translate(target, Entry::by_tip).landing;
  if (target != 0) add_indirect_target(target, landing);
  area->next = address(landing);
}

void engine_return(ThreadArea* area, CallSite* site) {
  const std::uint64_t ip = 0 - site->negated_return;
  const Locked locked;
  std::uint8_t* head = find_fragment(ip);
  std::uint8_t* landing = head != nullptr ? make_landing(ip, Entry::by_return, head)
                                          : translate(ip, Entry::by_return).landing;
  site->landing = address(landing);
  area->next = site->landing;
}

}  // extern "C"

}  // namespace hodo::engine
