#include "hodo/ask/code.h"

#include <algorithm>
#include <array>

#include "hodo/isa/disasm.h"

namespace hodo::ask {
namespace {

constexpr std::size_t kLongest = 15;
constexpr std::size_t kMostRound = 4096;  // instructions of a way back

}  // namespace

std::optional<isa::Insn> Code::decode(std::uint32_t space, std::uint64_t address,
                                      std::uint64_t time) {
  std::array<std::uint8_t, kLongest> bytes{};
  const std::size_t size = session_.read_code(space, address, time, bytes);
  return isa::decode({bytes.data(), size}, address, session_.mode(space, time));
}

std::uint8_t Code::length_at(const PlaceKey& place, std::uint64_t time) {
  if (auto it = lengths_.find(place); it != lengths_.end()) return it->second;
  const auto insn = decode(place.space, place.place, time);
  if (lengths_.size() == kMostKept) lengths_.clear();
  return lengths_[place] = insn ? insn->length : std::uint8_t{0};
}

std::vector<Instruction> Code::line(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                    std::uint64_t count) {
  std::vector<Instruction> out;
  PlaceKey at{space, generation_.at(space, time), address};
  while (out.size() < count) {
    const std::uint8_t length = length_at(at, time);
    if (length == 0) break;
    out.push_back({at.place, length});
    at.place += length;
  }
  return out;
}

std::uint64_t Code::distance(std::uint32_t space, std::uint64_t address, std::uint64_t to,
                             std::uint64_t time, std::uint64_t most) {
  if (address == to) return 0;
  const PlaceKey from{space, generation_.at(space, time), address};
  Distance& kept = distances_[PlaceKey::Hash()({space, from.generation, address ^ to << 20}) %
                              distances_.size()];
  if (kept.to == to && kept.from == from) return std::min(kept.count, most);
  PlaceKey at = from;
  for (std::uint64_t n = 0; n < most; ++n) {
    if (at.place == to) {
      kept = {.from = from, .to = to, .count = n};
      return n;
    }
    const std::uint8_t length = length_at(at, time);
    if (length == 0 || at.place > to) return most;
    at.place += length;
  }
  return most;
}

bool Code::comes_back(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  std::uint64_t at = address;
  for (std::size_t n = 0; n < kMostRound; ++n) {
    const auto insn = decode(space, at, time);
    if (!insn) return false;
    if (insn->cls == isa::InsnClass::jmp || insn->cls == isa::InsnClass::call) {
      at = insn->target;
    } else if (isa::is_branch(insn->cls)) {
      return false;
    } else {
      at += insn->length;
    }
    if (at == address) return true;
  }
  return false;
}

std::string Code::disassemble(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  std::array<std::uint8_t, kLongest> bytes{};
  const std::size_t size = session_.read_code(space, address, time, bytes);
  if (size == 0) return "(unknown code)";
  return isa::disassemble({bytes.data(), size}, address, session_.mode(space, time));
}

}  // namespace hodo::ask
