// Which code of the program has been translated, and to where.
#pragma once

#include <cstdint>

#include "arena.h"
#include "thread_area.h"
#include "translate.h"

namespace hodo::engine {

// The head of the fragment for `ip`; null: there is none.
std::uint8_t* find_fragment(std::uint64_t ip);
// The one whose place in its arena is number `at` there. An older one stays, and is dropped with
// it.
void add_fragment(std::uint64_t ip, const Arena& arena, std::uint32_t at);
// The fragment stands no longer for what is at `ip`: whoever comes to its head gets to a newer one.
// Changes nothing if that has been done.
void drop_fragment(std::uint64_t ip, std::uint8_t* head);

// The displacement of the branch that leads to the exit's stub; null: it leads further already.
std::uint8_t* link_place(const Exit& exit);
void set_link_place(Exit& exit, const Arena& arena, const std::uint8_t* displacement);

// Of the call whose return address this is; made on first need.
CallSite* call_site(std::uint64_t return_address);

// Stands for "no call": no return goes there.
extern CallSite* const no_call;

// Targets of indirect branches that have a landing, in the current edition. Code in the cache jumps
// to where `first_landings` says, by the low half of the target's CRC-32C; a landing looks whether
// it is the target's own. If not, glue_miss looks here: by the same number, then along.
struct IndirectTarget {
  std::uint64_t negated = 0;
  std::uint64_t landing = 0;
};
inline constexpr std::uint64_t kIndirectTargets = 1 << 16;
inline constexpr unsigned kProbes = 16;
inline constexpr std::uint64_t kTargetTableBytes =
    (kIndirectTargets + kProbes) * sizeof(IndirectTarget) +
    kIndirectTargets * sizeof(std::uint64_t);
extern IndirectTarget* indirect_targets;
extern std::uint64_t* first_landings;
void add_indirect_target(std::uint64_t target, std::uint8_t* landing);
// Whether so few branches have led to it that it does not need a landing yet; counts this one.
bool is_seldom_target(std::uint64_t target);

// The tables of targets of an edition that begins.
void begin_tables();
// What the others take.
std::uint64_t cache_table_bytes();
// False: there is no memory for what one fragment adds to them.
bool cache_tables_are_ready();
// The edition is closed: nothing has been translated.
void forget_cache();
// The same where whoever changed it was killed half way.
void abandon_cache();

}  // namespace hodo::engine
