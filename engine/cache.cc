#include "cache.h"

#include <cstring>
#include <iterator>

#include "area_code.h"
#include "arena.h"
#include "emitter.h"
#include "glue.h"
#include "key_table.h"
#include "low_memory.h"
#include "map.h"
#include "sys.h"

namespace hodo::engine {
namespace {

// By the arena's number and the fragment's in it, from 1 on.
struct Fragments {
  static constexpr unsigned kInArena = 20;
  static constexpr unsigned kBits = 8 + kInArena;
  static_assert(kMostArenaBytes / kBytesPerFragment < (1U << kInArena) - 1);

  static std::uint32_t number(const Arena& arena, std::uint32_t at) {
    return std::uint32_t{number_of(arena)} << kInArena | (at + 1);
  }
  static const Arena& arena(std::uint32_t number) {
    return arena_by_number(static_cast<std::uint8_t>(number >> kInArena));
  }
  static const FragmentPlace& place(std::uint32_t number) {
    return arena(number).fragments[(number & ((1U << kInArena) - 1)) - 1];
  }
  static std::uint64_t key(std::uint32_t number) { return place(number).ip(); }
};
KeyTable<Fragments> fragments;

// By their addresses.
struct CallSites {
  static constexpr unsigned kAlignment = 3;
  static constexpr unsigned kBits = 31 - kAlignment;

  static std::uint32_t number(const CallSite* site) { return low(site) >> kAlignment; }
  static CallSite* at(std::uint32_t number) {
    return reinterpret_cast<CallSite*>(std::uint64_t{number} << kAlignment);
  }
  static std::uint64_t key(std::uint32_t number) { return at(number)->return_address; }
};
KeyTable<CallSites> call_sites;

// Where dropped translations of an address lead.
struct Detour {
  Exit exit;
  std::uint8_t* jump = nullptr;  // its displacement
  std::uint8_t* stub = nullptr;
};
Map<Detour*> detours;

std::uint32_t crc32c(std::uint64_t value) {
  std::uint64_t crc = 0;
  asm("crc32q %1, %0" : "+r"(crc) : "r"(value));
  return static_cast<std::uint32_t>(crc);
}

}  // namespace

IndirectTarget* indirect_targets;
std::uint64_t* first_landings;
// In the image, and so below 2 GB.
alignas(16) static CallSite nobody;
CallSite* const no_call = &nobody;

std::uint8_t* find_fragment(std::uint64_t ip) {
  const std::uint32_t found = fragments.find(ip);
  return found == 0 ? nullptr : Fragments::arena(found).base + Fragments::place(found).begin;
}

void add_fragment(std::uint64_t ip, const Arena& arena, std::uint32_t at) {
  fragments.put(ip, Fragments::number(arena, at));
}

std::uint8_t* link_place(const Exit& exit) {
  return exit.place == 0 ? nullptr : arena_by_number(exit.arena).base + exit.place;
}

void set_link_place(Exit& exit, const Arena& arena, const std::uint8_t* displacement) {
  exit.arena = number_of(arena);
  exit.place = static_cast<std::uint32_t>(displacement - arena.base);
}

CallSite* call_site(std::uint64_t return_address) {
  if (const std::uint32_t found = call_sites.find(return_address)) return CallSites::at(found);
  auto* site = static_cast<CallSite*>(allocate_low(sizeof(CallSite)));
  site->landing = reinterpret_cast<std::uint64_t>(&glue_return);
  site->return_address = return_address;
  call_sites.put(return_address, CallSites::number(site));
  return site;
}

void add_indirect_target(std::uint64_t target, std::uint8_t* landing) {
  std::uint64_t i = crc32c(target) & (kIndirectTargets - 1);
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    IndirectTarget& entry = indirect_targets[i + probe];
    if (entry.negated != 0) continue;
    entry.landing = reinterpret_cast<std::uint64_t>(landing);
    __atomic_store_n(&entry.negated, 0 - target, __ATOMIC_RELEASE);
    first_landings[i] = entry.landing;
    return;
  }
  // All taken, by targets that others may be looking up: this one stays with the slow way.
}

bool is_seldom_target(std::uint64_t target) {
  // Of all targets that hash alike: a landing that is made early does no harm.
  constexpr std::uint8_t kSeldom = 4;
  static std::uint8_t times[1 << 13];
  std::uint8_t& known = times[crc32c(target) % std::size(times)];
  if (known == kSeldom) return false;
  ++known;
  return true;
}

namespace {

// Dropped fragments jump here; from here it is one jump to the newest one. Null: there is no room.
Detour* detour_of(std::uint64_t ip, const std::uint8_t* near) {
  if (Detour** found = detours.find(ip)) return *found;
  constexpr std::size_t kDetourBytes = 64;
  Arena& arena = *arena_of_code(near);
  if (cold_room(arena) < kDetourBytes || !low_is_ready() || !detours.reserve(1)) return nullptr;
  auto* detour = new (allocate_low(sizeof(Detour))) Detour;
  Exit* exit = &detour->exit;
  exit->target = ip;
  Emitter out(arena.cold);
  while ((reinterpret_cast<std::uint64_t>(out.at()) + 1) % 64 > 60) out.byte(0x90);
  detour->jump = out.jump(nullptr);
  detour->stub = out.at();
  out.store(offsetof(ThreadArea, spill), rax);
  out.move(rax, static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(exit)));
  out.jump(arena.glue(kGlueExit));
  arena.cold = out.at();
  detours.put(ip, detour);
  return detour;
}

// One store where nobody can be half way through (make_patchable()).
void redirect(std::uint8_t* head, const std::uint8_t* to) {
  std::uint8_t jump[8];
  const auto at = reinterpret_cast<std::uint64_t>(head);
  const bool whole = at % 8 <= 3;
  std::memcpy(jump, whole ? head - at % 8 : head, 8);
  Emitter out(whole ? jump + at % 8 : jump);
  out.byte(0xe9);
  out.word(static_cast<std::uint32_t>(to - (head + 5)));
  if (whole) {
    std::uint64_t value = 0;
    std::memcpy(&value, jump, 8);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(head - at % 8), value, __ATOMIC_RELEASE);
  } else {
    std::memcpy(head, jump, 5);
  }
}

void forget_landings(std::uint64_t ip) {
  if (const std::uint32_t site = call_sites.find(ip)) {
    CallSites::at(site)->landing = reinterpret_cast<std::uint64_t>(&glue_return);
  }
  const std::uint64_t first = crc32c(ip) & (kIndirectTargets - 1);
  // A thread may put the old one back right away: it leads to the newest code, too.
  first_landings[first] = reinterpret_cast<std::uint64_t>(&glue_miss);
  for (unsigned probe = 0; probe < kProbes; ++probe) {
    IndirectTarget& entry = indirect_targets[first + probe];
    if (entry.negated != 0 - ip) continue;
    // Who has compared already jumps to 0, which the handler of that fault knows.
    __atomic_store_n(&entry.landing, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&entry.negated, 0, __ATOMIC_RELEASE);
  }
}

}  // namespace

void drop_fragment(std::uint64_t ip, std::uint8_t* head) {
  const bool is_newest = find_fragment(ip) == head;
  if (is_newest) {
    fragments.take_out(ip);
    forget_landings(ip);
  }
  Detour* detour = detour_of(ip, head);
  if (detour == nullptr || !Emitter::reaches(head + 1, detour->jump - 1)) return trap_head(head);
  // It may lead to this one also where there is a newer one that stays: then to that, the next
  // time.
  Emitter::point(detour->jump, detour->stub);
  set_link_place(detour->exit, *arena_of_code(detour->jump), detour->jump);
  redirect(head, detour->jump - 1);
}

void begin_tables() {
  nobody.landing = reinterpret_cast<std::uint64_t>(&glue_miss);
  indirect_targets = static_cast<IndirectTarget*>(
      allocate_low((kIndirectTargets + kProbes) * sizeof(IndirectTarget), 4096));
  first_landings =
      static_cast<std::uint64_t*>(allocate_low(kIndirectTargets * sizeof(std::uint64_t), 4096));
  for (std::uint64_t i = 0; i < kIndirectTargets; ++i) {
    first_landings[i] = reinterpret_cast<std::uint64_t>(&glue_miss);
  }
}

std::uint64_t cache_table_bytes() {
  return fragments.bytes() + call_sites.bytes() + detours.bytes();
}

bool cache_tables_are_ready() {
  return fragments.reserve(2) && call_sites.reserve(2 * ThreadArea::kCalls);
}

void forget_cache() {
  fragments.clear();
  call_sites.clear();
  detours.clear();
}

void abandon_cache() {
  fragments.abandon();
  call_sites.abandon();
  detours.abandon();
}

}  // namespace hodo::engine
