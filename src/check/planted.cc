#include "planted.h"

#include <span>

#include "hodo/base/byte_reader.h"
#include "hodo/isa/operands.h"

namespace hodo::check {
namespace {

struct Sum {
  unsigned reg = 0;
  std::uint64_t distance = 0;
  std::uint64_t length = 0;
};

// ADD REG, NUMBER: REX.W 81 /0 with 32 bits, 83 /0 with 8, 05 for RAX (SDM, "ADD").
std::optional<Sum> sum_at(std::span<const std::uint8_t> code) {
  ByteReader reader(code);
  const auto rex = reader.read<std::uint8_t>();
  const auto opcode = reader.read<std::uint8_t>();
  if (!opcode || (*rex & 0xfe) != 0x48) return std::nullopt;
  Sum out;
  std::optional<std::int32_t> number;
  if (*opcode == 0x81 || *opcode == 0x83) {
    const auto modrm = reader.read<std::uint8_t>();
    if (!modrm || (*modrm & 0xf8) != 0xc0) return std::nullopt;
    out.reg = (*modrm & 7u) | (*rex & 1u) << 3;
    if (*opcode == 0x81) {
      number = reader.read<std::int32_t>();
    } else {
      number = reader.read<std::int8_t>();
    }
  } else if (*opcode == 0x05 && *rex == 0x48) {
    number = reader.read<std::int32_t>();
  }
  if (!number || *number <= 0) return std::nullopt;
  out.distance = static_cast<std::uint64_t>(*number);
  out.length = code.size() - reader.remaining();
  return out;
}

// PUSH REG: 50+r. 0: another instruction.
std::uint64_t push_length(std::span<const std::uint8_t> code, unsigned reg) {
  const std::size_t prefix = reg >= 8 ? 1 : 0;
  if (code.size() <= prefix || (prefix != 0 && code[0] != 0x41)) return 0;
  return code[prefix] == (0x50u | (reg & 7u)) ? prefix + 1 : 0;
}

// POP REG and POP [MEMORY]: 58+r, 8F /0.
bool pops(std::span<const std::uint8_t> code) {
  const std::size_t at = !code.empty() && (code[0] & 0xf0) == 0x40 ? 1 : 0;
  return code.size() > at && ((code[at] & 0xf8) == 0x58 || code[at] == 0x8f);
}

// The text goes straight on from `at` to `end`, leaves the stack alone, and nothing leads between.
bool keeps_stack(const text::Module& module, std::uint64_t at, std::uint64_t end) {
  while (at < end) {
    const auto code = module.bytes(at);
    const auto insn = isa::decode_operands(code, at, module.mode());
    if (!insn || isa::is_branch(insn->insn.cls)) return false;
    if (insn->stack != isa::StackUse::other || pops(code)) return false;
    if (module.has(at, text::kLeader)) return false;
    at += insn->insn.length;
  }
  return at == end && !module.has(end, text::kLeader);
}

}  // namespace

std::optional<std::uint64_t> planted_distance(const End& jump) {
  constexpr std::uint64_t kReach = 64;
  if (!jump.known() || jump.module->mode() != isa::Mode::bits64) return std::nullopt;
  const text::Module& module = *jump.module;
  for (std::uint64_t back = 1; back <= std::min(kReach, jump.vaddr); ++back) {
    const std::uint64_t at = jump.vaddr - back;
    if (!module.has(at, text::kInsn)) continue;
    const auto sum = sum_at(module.bytes(at));
    if (!sum) continue;
    const std::uint64_t push = at + sum->length;
    const std::uint64_t length = push_length(module.bytes(push), sum->reg);
    if (length == 0 || module.has(push, text::kLeader)) continue;
    if (keeps_stack(module, push + length, jump.vaddr)) return sum->distance;
  }
  return std::nullopt;
}

bool is_planted(const End& to, std::uint64_t distance) {
  return to.has(text::kReturnSite) && distance <= to.vaddr &&
         to.module->has(to.vaddr - distance, text::kStart);
}

bool returns_to_pushed(const End& from) {
  constexpr std::uint64_t kReach = 64;
  if (!from.known() || from.module->mode() != isa::Mode::bits64) return false;
  const text::Module& module = *from.module;
  for (std::uint64_t back = 1; back <= std::min(kReach, from.vaddr); ++back) {
    const std::uint64_t at = from.vaddr - back;
    if (!module.has(at, text::kInsn)) continue;
    const auto insn = isa::decode_operands(module.bytes(at), at, module.mode());
    if (!insn || insn->stack != isa::StackUse::push) continue;
    return keeps_stack(module, at + insn->insn.length, from.vaddr);
  }
  return false;
}

}  // namespace hodo::check
