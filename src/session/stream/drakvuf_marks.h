// What DRAKVUF's ipt plugin writes into the streams it records (docs/plugins/ipt.md of DRAKVUF): at
// each switch of address spaces PTWRITE packets of 8 bytes, which no program executed, with a
// command in the upper half and its value in the lower.
#pragma once

#include <cstdint>

#include "hodo/flow/decoder.h"
#include "hodo/session/sink.h"

namespace hodo::session {

inline constexpr std::uint32_t kDrakvufCr3 = 0xc300'0000;  // value: the low half of CR3
inline constexpr std::uint32_t kDrakvufTid = 0x1d00'0000;  // value: the guest's thread

// Says in `who` what the mark tells; other events change nothing. For streams of which nobody else
// says who ran.
inline void apply_drakvuf_mark(const flow::Event& event, Context& who) {
  if (event.kind != flow::EventKind::ptwrite || event.extra != 8) return;
  const auto command = static_cast<std::uint32_t>(event.payload >> 32);
  const auto value = static_cast<std::uint32_t>(event.payload);
  if (command == kDrakvufTid) who.tid = static_cast<std::int32_t>(value);
  if (command != kDrakvufCr3) return;
  // A PIP packet may have told all of it. Bits 11:0 are flags or a PCID, which PIPs have too.
  constexpr std::uint64_t kTable = 0xffff'f000;
  const bool known = who.cr3 && ((*who.cr3 ^ value) & kTable) == 0;
  if (!known) who.cr3 = value & kTable;
}

}  // namespace hodo::session
