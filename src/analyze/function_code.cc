#include "function_code.h"

#include <algorithm>

namespace hodo::analyze {
namespace {

// An instruction, if one begins at that byte.
struct Place {
  std::uint8_t length = 0;
  bool leads = false;  // a block begins here, if an instruction does
};

}  // namespace

// Compilers and linkers fill gaps with them.
bool is_padding(std::span<const std::uint8_t> insn) {
  while (!insn.empty() && (insn[0] == 0x66 || insn[0] == 0x2e)) insn = insn.subspan(1);
  if (insn.size() == 1) return insn[0] == 0x90 || insn[0] == 0xcc;
  return insn.size() >= 2 && insn[0] == 0x0f && insn[1] == 0x1f;
}

FunctionCode take_apart(std::span<const std::uint8_t> code, std::uint64_t address, isa::Mode mode,
                        std::span<const std::uint64_t> entries) {
  FunctionCode out;
  std::vector<Place> places(code.size());
  const auto lead_at = [&](std::uint64_t ip) {
    if (ip - address < code.size()) places[static_cast<std::size_t>(ip - address)].leads = true;
  };
  std::ranges::for_each(entries, lead_at);
  lead_at(address);
  std::size_t end = 0;
  while (end < code.size()) {
    const std::uint64_t ip = address + end;
    const auto insn = isa::decode(code.subspan(end), ip, mode);
    if (!insn) break;
    places[end].length = insn->length;
    end += insn->length;
    if (isa::has_direct_target(insn->cls)) lead_at(insn->target);
    if (isa::is_branch(insn->cls)) lead_at(address + end);
    if (insn->cls == isa::InsnClass::cond) out.conditionals.push_back(ip);
  }
  bool useful = false;  // more than padding in the last block
  for (std::size_t at = 0; at < end; at += places[at].length) {
    if (places[at].leads) {
      if (!out.blocks.empty() && !useful) out.blocks.pop_back();
      out.blocks.push_back({.address = address + at});
      useful = false;
    }
    out.blocks.back().size += places[at].length;
    useful = useful || !is_padding(code.subspan(at, places[at].length));
  }
  if (!out.blocks.empty() && !useful) out.blocks.pop_back();
  return out;
}

}  // namespace hodo::analyze
