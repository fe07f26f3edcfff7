#include "hodo/hw/cpuid_dump.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "hodo/base/trimmed.h"

namespace hodo::hw {
namespace {

// Takes `prefix` and the hexadecimal number behind it off the front of `text`.
std::optional<std::uint32_t> take_hex(std::string_view& text, std::string_view prefix) {
  text = trimmed(text);
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  std::uint32_t value = 0;
  const char* const start = std::to_address(text.begin());
  const auto [next, problem] = std::from_chars(start, start + text.size(), value, 16);
  if (problem != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(next - start));
  return value;
}

}  // namespace

Status CpuidDump::add(std::string_view line) {
  const auto leaf = take_hex(line, "0x");
  const auto subleaf = leaf ? take_hex(line, "0x") : std::nullopt;
  const auto eax = subleaf ? take_hex(line, ": eax=0x") : std::nullopt;
  const auto ebx = eax ? take_hex(line, "ebx=0x") : std::nullopt;
  const auto ecx = ebx ? take_hex(line, "ecx=0x") : std::nullopt;
  const auto edx = ecx ? take_hex(line, "edx=0x") : std::nullopt;
  if (!edx || !trimmed(line).empty()) {
    return fail(ErrorCode::malformed,
                "is no line of cpuid -r, such as \"0x00000001 0x00: "
                "eax=0x000306c3 ebx=0x... ecx=0x... edx=0x...\"");
  }
  if (leaves_.size() == kMaxLeaves) return fail(ErrorCode::malformed, "is one leaf too many");
  leaves_.try_emplace({*leaf, *subleaf}, CpuidRegs{*eax, *ebx, *ecx, *edx});
  return {};
}

Result<CpuidDump> CpuidDump::parse(std::string_view text) {
  CpuidDump out;
  std::size_t number = 0;
  unsigned processors = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("CPU")) {
      if (++processors > 1) break;
      continue;
    }
    if (Status status = out.add(line); !status) {
      return fail(ErrorCode::malformed,
                  "line " + std::to_string(number) + " " + status.error().message);
    }
  }
  if (!out.leaves_.contains({0, 0}) || !out.leaves_.contains({1, 0})) {
    return fail(ErrorCode::malformed,
                "leaves 0 and 1 are missing; the text has to be the output of cpuid -r");
  }
  if (Status complete = out.check_complete(); !complete) {
    return std::unexpected(complete.error());
  }
  return out;
}

// The leaves that find_branch_features reads. cpuid -r prints every leaf up to the highest, also
// those that are all zero.
Status CpuidDump::check_complete() const {
  struct Promise {
    std::uint32_t leaf, subleaf, by;
    bool made;
  };
  const std::uint32_t highest = leaf(0).eax;
  const std::uint32_t extended = leaf(0x80000000).eax;
  const CpuidRegs features = leaf(7);
  const bool pt = (features.ebx >> 25 & 1) != 0 && highest >= 0x14;
  const bool arch_lbr = (features.edx >> 19 & 1) != 0 && highest >= 0x1c;
  for (const auto& [leaf, subleaf, by, made] :
       {Promise{7, 0, 0, highest >= 7}, Promise{0x14, 0, 7, pt},
        Promise{0x14, 1, 0x14, pt && this->leaf(0x14).eax >= 1}, Promise{0x1c, 0, 7, arch_lbr},
        Promise{0x80000008, 0, 0x80000000, extended >= 0x80000008},
        Promise{0x80000022, 0, 0x80000000, extended >= 0x80000022}}) {
    if (!made || leaves_.contains({leaf, subleaf})) continue;
    char message[112];
    std::snprintf(message, sizeof(message),
                  "the dump is not complete: leaf 0x%08x 0x%02x is missing, which leaf 0x%08x "
                  "promises",
                  leaf, subleaf, by);
    return fail(ErrorCode::malformed, message);
  }
  return {};
}

CpuidRegs CpuidDump::leaf(std::uint32_t leaf, std::uint32_t subleaf) const {
  const auto found = leaves_.find({leaf, subleaf});
  return found == leaves_.end() ? CpuidRegs{} : found->second;
}

}  // namespace hodo::hw
