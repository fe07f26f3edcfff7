// Dumps of LBR registers, as a debugger, a crash handler or a driver may write them: text or JSON.
// The format is described in docs/formats/lbr-dump.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/hw/lbr.h"

namespace hodo::session {

// One stack as dumped: what was said of the processor, and registers.
struct LbrDump {
  std::optional<hw::Vendor> vendor;
  std::optional<std::uint64_t> family, model, stepping, depth, tos;
  std::optional<hw::LbrFormat> format;
  // FROM, TO and INFO by number; and MSRs by theirs, which the processor's layout gives a meaning.
  std::map<std::uint64_t, std::uint64_t> from, to, info, msrs;

  bool has_registers() const { return !from.empty() || !to.empty() || !msrs.empty(); }
};

// Takes one stack after the other; an error ends the reading.
using LbrDumpSink = std::function<Status(LbrDump)>;

// The stacks of a dump in their order. What is said of the processor holds for the stacks behind
// it in text. Errors: those of the sink; malformed: with the line or member that cannot be
// understood; no_space: more than 4096 records in a stack. Stacks before it were handed on.
Status parse_lbr_dump(std::string_view text, const LbrDumpSink& sink);
Status parse_lbr_json(std::string_view text, const LbrDumpSink& sink);

// A number, decimal or hexadecimal with 0x; of a format also its name ("info", "eip_flags2").
std::optional<std::uint64_t> parse_lbr_number(std::string_view text);
// Sets what `what` stands for: "tos", "from3", "FROM[3]", "0x680". malformed: what is none of them.
Status set_in_lbr_dump(LbrDump& dump, std::string_view what, std::string_view value);

// The branches of a stack, newest first, those of a wrong path among them. malformed: the format or
// the order cannot be known from what was said; the message names what is missing.
Result<std::vector<hw::LbrEntry>> newest_first(LbrDump dump);

}  // namespace hodo::session
