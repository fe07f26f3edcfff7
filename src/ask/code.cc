#include "hodo/ask/code.h"

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

std::uint8_t Code::length_at(std::uint32_t space, std::uint64_t address, std::uint64_t time) {
  const Key key{space, session_.names().generation(space, time), address};
  if (auto it = lengths_.find(key); it != lengths_.end()) return it->second;
  const auto insn = decode(space, address, time);
  if (lengths_.size() == kMostKept) lengths_.clear();
  return lengths_[key] = insn ? insn->length : std::uint8_t{0};
}

std::vector<Instruction> Code::line(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                    std::uint64_t count) {
  std::vector<Instruction> out;
  while (out.size() < count) {
    const std::uint8_t length = length_at(space, address, time);
    if (length == 0) break;
    out.push_back({address, length});
    address += length;
  }
  return out;
}

std::uint64_t Code::distance(std::uint32_t space, std::uint64_t address, std::uint64_t to,
                             std::uint64_t time, std::uint64_t most) {
  for (std::uint64_t n = 0; n < most; ++n) {
    if (address == to) return n;
    const std::uint8_t length = length_at(space, address, time);
    if (length == 0 || address > to) return most;
    address += length;
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
