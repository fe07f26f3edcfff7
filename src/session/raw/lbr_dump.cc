#include "lbr_dump.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace hodo::session {
namespace {

// Far more than any stack has; bounds what a hostile dump can ask for.
constexpr std::uint64_t kMaxDepth = 4096;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

std::optional<hw::LbrFormat> parse_format(std::string_view text) {
  if (const auto number = parse_lbr_number(text)) {
    return *number < 64 ? hw::lbr_format(static_cast<unsigned>(*number)) : std::nullopt;
  }
  for (unsigned number = 0; number <= static_cast<unsigned>(hw::LbrFormat::amd_v2); ++number) {
    const auto format = static_cast<hw::LbrFormat>(number);
    if (name(format) == text) return format;
  }
  return std::nullopt;
}

// As people say it, and as CPUID does. Hygon's processors are AMD's design.
std::optional<hw::Vendor> parse_vendor(std::string_view text) {
  if (text == "intel" || text == "genuineintel") return hw::Vendor::intel;
  for (const std::string_view amd : {"amd", "authenticamd", "hygon", "hygongenuine"}) {
    if (text == amd) return hw::Vendor::amd;
  }
  return std::nullopt;
}

// A number that is said of the stack, and what it can be. SDM, CPUID.1:EAX: the family has 4 bits
// and 8 more to add, the model 8, the stepping 4.
struct Fact {
  std::string_view name;
  std::optional<std::uint64_t> LbrDump::* member;
  std::uint64_t least, most;
};
constexpr Fact kFacts[] = {{"family", &LbrDump::family, 0, 15 + 255},
                           {"model", &LbrDump::model, 0, 255},
                           {"stepping", &LbrDump::stepping, 0, 15},
                           {"depth", &LbrDump::depth, 1, kMaxDepth},
                           {"tos", &LbrDump::tos, 0, kMaxDepth - 1}};

// "from3", "from[3]", "from 3": the number behind `word`.
std::optional<std::uint64_t> numbered(std::string_view name, std::string_view word) {
  if (!name.starts_with(word)) return std::nullopt;
  name = trimmed(name.substr(word.size()));
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return parse_lbr_number(name);
}

std::unexpected<Error> not_understood(std::string_view what) {
  return fail(ErrorCode::malformed,
              fmt::format("'{}' is nothing that a dump of LBR registers has; see 'hodo branches "
                          "--help'",
                          what));
}

Status set_register(LbrDump& dump, const std::string& name, std::uint64_t value) {
  using Member = std::map<std::uint64_t, std::uint64_t> LbrDump::*;
  constexpr std::pair<std::string_view, Member> kRegisters[] = {
      {"from", &LbrDump::from}, {"to", &LbrDump::to}, {"info", &LbrDump::info}};
  for (const auto& [word, member] : kRegisters) {
    const auto number = numbered(name, word);
    if (!number) continue;
    if (*number >= kMaxDepth) return fail(ErrorCode::no_space, name + ": no stack is that deep");
    (dump.*member)[*number] = value;
    return {};
  }
  const auto msr = parse_lbr_number(name);
  if (!msr) return not_understood(name);
  if (dump.msrs.size() >= kMaxDepth) return fail(ErrorCode::no_space, "too many registers");
  dump.msrs[*msr] = value;
  return {};
}

// One line: name and value, with a blank, ':' or '=' between.
Status take_line(LbrDump& dump, std::string_view line) {
  std::size_t value = line.find_last_of(" \t:=");
  if (value == line.npos) return not_understood(line);
  std::string_view name = line.substr(0, value);
  while (!name.empty() && std::string_view(" \t:=").contains(name.back())) name.remove_suffix(1);
  return set_in_lbr_dump(dump, name, line.substr(value + 1));
}

// What the processor's layout makes of MSRs.
void take_msrs(LbrDump& dump, const hw::LbrLayout& layout) {
  const auto take = [&](std::uint32_t msr, auto put) {
    const auto at = dump.msrs.find(msr);
    if (msr != 0 && at != dump.msrs.end()) put(at->second);
  };
  for (unsigned n = 0; n < layout.depth; ++n) {
    if (layout.packed) {
      take(layout.from_msr(n), [&](std::uint64_t value) {
        const hw::LbrRegisters record = hw::unpack_lbr(value);
        dump.from[n] = record.from;
        dump.to[n] = record.to;
      });
      continue;
    }
    take(layout.from_msr(n), [&](std::uint64_t value) { dump.from[n] = value; });
    take(layout.to_msr(n), [&](std::uint64_t value) { dump.to[n] = value; });
    if (layout.info != 0) {
      take(layout.info_msr(n), [&](std::uint64_t value) { dump.info[n] = value; });
    }
  }
  take(layout.tos, [&](std::uint64_t value) { dump.tos = value; });
}

// Whether record 0 is the newest, without a TOS that says so.
bool has_no_tos(hw::LbrFormat format) {
  return format == hw::LbrFormat::arch || format == hw::LbrFormat::amd_v2;
}

// The processor's stack, unless the registers were written down by another one's format.
std::optional<hw::LbrLayout> layout_of_processor(const LbrDump& dump) {
  if (!dump.family || !dump.model) return std::nullopt;
  auto layout =
      hw::lbr_layout_by_model({.vendor = dump.vendor.value_or(hw::Vendor::intel),
                               .family = static_cast<std::uint16_t>(*dump.family),
                               .model = static_cast<std::uint16_t>(*dump.model),
                               .stepping = static_cast<std::uint8_t>(dump.stepping.value_or(0))});
  if (layout && dump.format && has_no_tos(*dump.format) != has_no_tos(layout->format)) {
    return std::nullopt;
  }
  return layout;
}

// How many records the stack has. Without a processor: as many as were given.
std::uint64_t size_of(const LbrDump& dump, const std::optional<hw::LbrLayout>& processor,
                      std::uint64_t given) {
  if (!processor) return dump.depth.value_or(given);
  return std::min<std::uint64_t>(processor->depth, dump.depth.value_or(processor->depth));
}

// A processor that does not record types (CPUID.1CH:ECX[2]), and a dump without INFO, have 0 there,
// which is also what conditional branches have.
void drop_types_never_recorded(std::vector<hw::LbrEntry>& stack) {
  if (std::ranges::any_of(stack, [](const hw::LbrEntry& entry) {
        return entry.type && entry.type != hw::BranchClass::cond;
      })) {
    return;
  }
  for (hw::LbrEntry& entry : stack) entry.type.reset();
}

std::unexpected<Error> no_records(const std::optional<hw::LbrLayout>& layout) {
  if (!layout) {
    return fail(ErrorCode::malformed,
                "which registers are FROM and TO is not known: say 'family' and 'model', or call "
                "them from0, to0, ...");
  }
  return fail(ErrorCode::malformed,
              fmt::format("none of the registers is FROM or TO of this stack, which has them from "
                          "{:#x} and {:#x} on",
                          layout->from, layout->to));
}

std::uint64_t value_of(const std::map<std::uint64_t, std::uint64_t>& registers, std::uint64_t n) {
  const auto at = registers.find(n);
  return at == registers.end() ? 0 : at->second;
}

}  // namespace

std::optional<std::uint64_t> parse_lbr_number(std::string_view text) {
  int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Status set_in_lbr_dump(LbrDump& dump, std::string_view what, std::string_view value) {
  const std::string name = lower(trimmed(what));
  value = trimmed(value);
  if (name == "vendor") {
    dump.vendor = parse_vendor(lower(value));
    if (dump.vendor) return {};
    return fail(ErrorCode::malformed,
                fmt::format("'{}' is no vendor of processors with LBR: intel, amd or hygon, or as "
                            "CPUID spells it (GenuineIntel)",
                            value));
  }
  if (name == "format" || name == "lbr_fmt") {
    dump.format = parse_format(lower(value));
    if (dump.format) return {};
    return fail(ErrorCode::malformed,
                fmt::format("'{}' is no LBR format: 0 to 7, arch or amd_v2", value));
  }
  const auto number = parse_lbr_number(value);
  if (!number) return fail(ErrorCode::malformed, fmt::format("{}: '{}' is no number", name, value));
  if (name == "depth" && *number > kMaxDepth) {
    return fail(ErrorCode::no_space, fmt::format("depth {}: no stack is that deep", value));
  }
  for (const Fact& fact : kFacts) {
    if (name != fact.name) continue;
    if (*number < fact.least || *number > fact.most) {
      return fail(ErrorCode::malformed,
                  fmt::format("{} {}: it is {} to {}", name, value, fact.least, fact.most));
    }
    dump.*fact.member = number;
    return {};
  }
  return set_register(dump, name, *number);
}

Status parse_lbr_dump(std::string_view text, const LbrDumpSink& sink) {
  LbrDump now;
  const auto finish = [&]() -> Status {
    if (!now.has_registers()) return {};
    Status taken = sink(now);
    now.from.clear(), now.to.clear(), now.info.clear(), now.msrs.clear();
    now.tos.reset();
    return taken;
  };
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool comment = line.find('#') != line.npos;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) {
      if (comment) continue;
      if (Status status = finish(); !status) return status;
      continue;
    }
    if (Status status = take_line(now, line); !status) {
      return fail(status.error().code, fmt::format("line {}: {}", number, status.error().message));
    }
  }
  return finish();
}

Result<std::vector<hw::LbrEntry>> newest_first(LbrDump dump) {
  const std::optional<hw::LbrLayout> processor = layout_of_processor(dump);
  const std::optional<hw::LbrLayout> layout =
      processor || !dump.format ? processor : hw::lbr_layout_by_format(*dump.format);
  if (!dump.format && layout) dump.format = layout->format;
  if (!dump.format) {
    return fail(ErrorCode::malformed,
                "how to read the registers is not known: say 'format' (LBR_FMT of "
                "IA32_PERF_CAPABILITIES), or 'family' and 'model' of a processor with LBR");
  }
  if (layout) take_msrs(dump, *layout);
  std::uint64_t given = 0;
  for (const auto* registers : {&dump.from, &dump.to}) {
    if (!registers->empty()) given = std::max(given, registers->rbegin()->first + 1);
  }
  if (given == 0) return no_records(layout);
  // TOS counts through all records of the stack, even if not all were dumped.
  const std::uint64_t size = size_of(dump, processor, given);
  const bool has_tos = layout ? layout->tos != 0 : size > 1;
  if (has_tos && !dump.tos && std::min(given, size) > 1) {
    return fail(ErrorCode::malformed, "which record is the newest is not known: say 'tos'");
  }
  const std::uint64_t tos = has_tos ? dump.tos.value_or(0) : 0;
  if (tos >= size) {
    return fail(ErrorCode::malformed, fmt::format("tos is {} in a stack of {}", tos, size));
  }
  std::vector<hw::LbrEntry> out;
  for (std::uint64_t i = 0; i < size; ++i) {
    const std::uint64_t n = has_tos ? (tos + size - i) % size : i;
    const auto entry = hw::decode_lbr(
        {value_of(dump.from, n), value_of(dump.to, n), value_of(dump.info, n)}, *dump.format);
    if (entry) out.push_back(*entry);
  }
  drop_types_never_recorded(out);
  return out;
}

}  // namespace hodo::session
