#include "function_code.h"

#include <algorithm>

namespace hodo::analyze {
namespace {

struct Place {
  std::uint64_t address;
  std::uint8_t length;
  isa::InsnClass cls;
  bool padding;
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
  std::vector<Place> places;
  std::vector<std::uint64_t> leaders(entries.begin(), entries.end());
  leaders.push_back(address);
  FunctionCode out;
  std::size_t at = 0;
  while (at < code.size()) {
    std::uint64_t ip = address + at;
    auto insn = isa::decode(code.subspan(at), ip, mode);
    if (!insn) break;
    places.push_back({ip, insn->length, insn->cls, is_padding(code.subspan(at, insn->length))});
    at += insn->length;
    if (isa::has_direct_target(insn->cls) && insn->target - address < code.size()) {
      leaders.push_back(insn->target);
    }
    if (isa::is_branch(insn->cls)) leaders.push_back(address + at);
    if (insn->cls == isa::InsnClass::cond) out.conditionals.push_back(ip);
  }
  std::ranges::sort(leaders);
  bool useful = false;  // more than padding in the last block
  for (const Place& place : places) {
    if (std::ranges::binary_search(leaders, place.address)) {
      if (!out.blocks.empty() && !useful) out.blocks.pop_back();
      out.blocks.push_back({.address = place.address});
      useful = false;
    }
    out.blocks.back().size += place.length;
    useful = useful || !place.padding;
  }
  if (!out.blocks.empty() && !useful) out.blocks.pop_back();
  return out;
}

}  // namespace hodo::analyze
