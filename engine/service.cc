#include "service.h"

#include <algorithm>
#include <cstring>

#include "arena.h"
#include "block_calls.h"
#include "cache.h"
#include "code_pages.h"
#include "code_report.h"
#include "edition.h"
#include "emitter.h"
#include "glue.h"
#include "hodo/isa/encoding.h"
#include "insn_map.h"
#include "lock.h"
#include "native_insn.h"
#include "program_memory.h"
#include "sys.h"
#include "tracing.h"
#include "translate.h"

namespace hodo::engine {
namespace {

// With 48 bits, bits 63 to 48 are those of bit 47 (SDM vol. 1, "Canonical Addressing").
bool is_canonical(std::uint64_t ip) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 47;
  return ip + kHalf < 2 * kHalf;
}

std::uint8_t* fragment(std::uint64_t ip) {
  std::uint8_t* head = find_fragment(ip);
  return head != nullptr ? head : translate(ip, Entry::direct).head;
}

// With a fragment of its own behind it, even if there is one: a jump to that would be one more
// taken branch, and processors predict indirect ones by those before. Where code is checked the
// older fragment would find changes that are no news.
std::uint8_t* landing_of(std::uint64_t ip, Entry entry) {
  std::uint8_t* head = find_fragment(ip);
  const bool there_is_one = head != nullptr && is_checked(ip);
  return there_is_one ? make_landing(ip, entry, head) : translate(ip, entry).landing;
}

// Code that the recorder was told of since counts from then on: the packets have to say that this
// thread is past that time before they lead there. Execution stands in front of a branch.
void pass_reports(ThreadArea& area) {
  if (by_blocks || area.reports_seen == reports()) return;
  area.reports_seen = reports();
  area.unit.pass_time(area.outcomes);
  area.outcomes = unit::InlinePt::kNoOutcomes;
}

// The same where execution stands at `ip`.
void pass_reports_at(ThreadArea& area, std::uint64_t ip) {
  if (by_blocks || area.reports_seen == reports()) return;
  area.reports_seen = reports();
  area.unit.interrupt_after(area.outcomes, ip);
  area.outcomes = unit::InlinePt::kNoOutcomes;
  area.unit.enter_at(ip);
  forget_calls(area);
}

void link(Exit& exit, std::uint8_t* head) {
  std::uint8_t* const displacement = link_place(exit);
  if (displacement == nullptr) return;
  if (Emitter::reaches(displacement, head)) {
    Emitter::point(displacement, head);
  } else {
    std::uint8_t* far = far_jump(address(displacement), address(head));
    if (far == nullptr) return;
    Emitter::point(displacement, far);
  }
  exit.place = 0;
}

// The head of the fragment for the exit's target. From now on the branch leads there by itself.
std::uint8_t* lead_on(Exit& exit) {
  if (exit.place == 0 || exit.kind == Exit::direct) {
    std::uint8_t* head = fragment(exit.target);
    link(exit, head);
    return head;
  }
  if (std::uint8_t* head = find_fragment(exit.target)) {
    link(exit, make_way(exit, head));
    return head;
  }
  const Fragment made = translate_behind(exit);
  link(exit, made.landing);
  return made.head;
}

// Execution stands at `ip`.
void flush(ThreadArea& area, std::uint64_t ip) {
  area.unit.flush_at(area.outcomes, ip);
  area.outcomes = unit::InlinePt::kNoOutcomes;
  pass_reports_at(area, ip);
  forget_calls(area);
}

// The fragment at `target` is the next one. The unit writes the TIP, and asks for room if that is
// due.
void branch_by_unit(ThreadArea& area, std::uint64_t target) {
  pass_reports(area);
  trace_branch(area, target);
  forget_calls(area);
}

// A landing is some 330 bytes and a fragment, and to most of its targets a program of short life
// goes once or twice: the unit writes the first TIPs. False: the target has had them.
bool go_to_seldom_target(ThreadArea& area, std::uint64_t target) {
  {
    const Entering entering(area, target);
    if (by_blocks || !is_seldom_target(target)) return false;
    area.next = address(fragment(target));
  }
  branch_by_unit(area, target);
  return true;
}

// Nothing is there, or half an instruction: the next time there may be more.
void forget_half_insn(ThreadArea& area, std::uint64_t ip) {
  const Locked locked;
  const OpenKeys keys;
  const unsigned bytes = readable_bytes(ip);
  if (bytes == kLongestInsn) return;
  if (bytes == 0) report_probes(area, ip);
  if (bytes != 0 &&
      isa::decode_encoding(reinterpret_cast<const std::uint8_t*>(ip), bytes).length != 0)
    return;
  if (std::uint8_t* head = find_fragment(ip)) drop_fragment(ip, head);
}

// Code that its thread may not read (keys.h) has not been compared.
bool is_unchanged(CodeCheck& check) {
  std::uint8_t now[64];
  for (std::uint64_t at = 0; at < check.bytes; at += sizeof now) {
    const std::size_t bytes = std::min<std::uint64_t>(check.bytes - at, sizeof now);
    if (!read_program(now, check.ip + at, bytes)) return false;
    if (std::memcmp(now, check.copy() + at, bytes) != 0) return false;
  }
  return true;
}

}  // namespace

void forget_calls(ThreadArea& area) {
  if (area.unit.calls_forgotten() == area.calls_forgotten) return;
  area.calls_forgotten = area.unit.calls_forgotten();
  for (std::uint32_t& call : area.calls) call = static_cast<std::uint32_t>(address(no_call));
}

void go_on_at(ThreadArea& area, std::uint64_t ip) {
  const Entering entering(area, ip);
  area.next = address(fragment(ip));
}

void go_on_traced(ThreadArea& area, std::uint64_t ip) {
  go_on_at(area, ip);
  pass_reports_at(area, ip);
}

void enter_at(ThreadArea& area, std::uint64_t ip) {
  go_on_at(area, ip);  // first: what it tells the recorder is older than the packets then
  trace_from(area, ip);
}

extern "C" {

void engine_exit(ThreadArea* area, Exit* exit) {
  switch (exit->kind) {
    case Exit::branch:
      area->outcomes = area->outcomes << (exit->zeros + 1) | 1;
      [[fallthrough]];
    case Exit::direct: {
      const std::uint64_t target = exit->target;
      {
        const Entering entering(*area, target);
        area->next = address(entering.stayed() ? lead_on(*exit) : fragment(target));
      }
      return pass_reports_at(*area, target);
    }
    case Exit::syscall:
      return system_call(*area, exit->target - exit->length, exit->target);
    case Exit::interrupt: {
      const std::uint64_t behind = exit->target + exit->length;
      if (interrupt_call(*area, exit->target, behind)) return;
      if (call_by_interrupt(*area, exit->target, behind)) return;
      run_interrupt(*area, exit->target, behind);
    }
    case Exit::native:
      run_in_block(*area, exit->target);
    default:
      if (interrupt_call(*area, exit->target, exit->target)) return;
      if (call_by_interrupt(*area, exit->target, exit->target)) return;
      forget_half_insn(*area, exit->target);
      run_native(*area, exit->target);
  }
}

void engine_changed(ThreadArea* area, CodeCheck* check) {
  const std::uint64_t ip = check->ip;
  {
    const Entering entering(*area, ip);
    if (entering.stayed() && is_unchanged(*check)) {
      area->next = check->resume;
    } else {
      if (std::uint8_t* head = find_fragment(ip)) drop_fragment(ip, head);
      area->next = address(fragment(ip));
    }
  }
  pass_reports_at(*area, ip);
}

void engine_flush(ThreadArea* area, const Flush* at) {
  flush(*area, at->ip);
  area->next = at->resume;
}

void engine_flush_head(ThreadArea* area) {
  InsnPlace place;
  {
    const Locked locked;
    if (!find_insn(area->next, place)) die("outcomes are written for no fragment", area->next);
  }
  flush(*area, place.ip);
}

void engine_miss(ThreadArea* area, std::uint64_t target) {
  if (!is_canonical(target)) refuse_branch(*area);
  if (go_to_seldom_target(*area, target)) return;
  {
    const Entering entering(*area, target);
    std::uint8_t* landing = landing_of(target, Entry::by_tip);
    if (target != 0) add_indirect_target(target, landing);
    area->next = address(landing);
    area->registers.rax = target;  // the program's own is still in its spill slot
  }
  pass_reports(*area);
}

void engine_return(ThreadArea* area, std::uint64_t target, CallSite* site) {
  const std::uint64_t expected = site->return_address;
  std::uint64_t landing = 0;
  {
    const Entering entering(*area, expected);
    landing = address(landing_of(expected, Entry::by_return));
    if (entering.stayed()) site->landing = landing;
  }
  pass_reports(*area);
  // What is written in front of returns may be all that is written: no landing of one looks for
  // room.
  if (target == expected && !by_blocks && area->unit.is_due()) {
    {
      const Entering entering(*area, target);
      area->next = address(fragment(target));
    }
    return branch_by_unit(*area, target);
  }
  area->next = landing;
  area->registers.rax = target;  // as in engine_miss()
}

}  // extern "C"

}  // namespace hodo::engine
