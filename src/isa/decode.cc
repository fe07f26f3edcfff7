#include <Zydis/Mnemonic.h>

#include <algorithm>

#include "common_insns.h"
#include "hodo/isa/insn.h"
#include "zydis_decoder.h"

namespace hodo::isa {
namespace {

InsnClass by_operand(const ZydisDecodedInstruction& insn, InsnClass direct, InsnClass indirect,
                     InsnClass far) {
  if (insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) return far;
  return insn.raw.imm[0].is_relative ? direct : indirect;
}

// MOV CR3, reg: 0F 22 /3. The register field is all that tells the control registers apart, and
// REX.R would make it CR11, which does not exist.
bool writes_cr3(const ZydisDecodedInstruction& insn) {
  return insn.opcode_map == ZYDIS_OPCODE_MAP_0F && insn.opcode == 0x22 && insn.raw.modrm.reg == 3;
}

InsnClass classify(const ZydisDecodedInstruction& insn) {
  switch (insn.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
      return by_operand(insn, InsnClass::jmp, InsnClass::ijmp, InsnClass::far_jmp);
    case ZYDIS_MNEMONIC_CALL:
      return by_operand(insn, InsnClass::call, InsnClass::icall, InsnClass::far_call);
    case ZYDIS_MNEMONIC_RET:
      return insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? InsnClass::far_ret : InsnClass::ret;
    case ZYDIS_MNEMONIC_SYSCALL:
    case ZYDIS_MNEMONIC_SYSENTER:
      return InsnClass::syscall;
    case ZYDIS_MNEMONIC_SYSRET:
    case ZYDIS_MNEMONIC_SYSEXIT:
      return InsnClass::sysret;
    case ZYDIS_MNEMONIC_INT:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_INTO:
    case ZYDIS_MNEMONIC_INT1:
      return InsnClass::int_;
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UIRET:
      return InsnClass::iret;
    case ZYDIS_MNEMONIC_XBEGIN:  // Zydis counts it among the conditional branches
      return InsnClass::xbegin;
    case ZYDIS_MNEMONIC_XABORT:
      return InsnClass::xabort;
    case ZYDIS_MNEMONIC_VMLAUNCH:
    case ZYDIS_MNEMONIC_VMRESUME:
      return InsnClass::vmentry;
    case ZYDIS_MNEMONIC_VMCALL:
      return InsnClass::vmexit;
    case ZYDIS_MNEMONIC_PTWRITE:
      return InsnClass::ptwrite;
    case ZYDIS_MNEMONIC_MOV:
      return writes_cr3(insn) ? InsnClass::mov_cr3 : InsnClass::other;
    default:
      // The displacement tells branches from XEND, which is in the category too.
      return insn.meta.category == ZYDIS_CATEGORY_COND_BR && insn.raw.imm[0].is_relative
                 ? InsnClass::cond
                 : InsnClass::other;
  }
}

// Traces carry linear addresses. Outside 64-bit mode these have 32 bits, in 16-bit code too: there
// the segment's base is part of them, so that cutting to 16 bits would lose it. (The 16-bit wrap of
// IP itself is not modelled, as in libipt and perf.)
std::uint64_t target_of(const ZydisDecodedInstruction& insn, std::uint64_t ip, Mode mode) {
  const auto displacement = static_cast<std::uint64_t>(insn.raw.imm[0].value.s);
  const std::uint64_t target = ip + insn.length + displacement;
  return mode == Mode::bits64 ? target : target & 0xffffffffu;
}

// What Zydis 4 does not know: ERETS and ERETU (FRED: F2 and F3 0F 01 CA), and JMPABS (APX: D5 00 A1
// and 8 bytes of address), which has a TIP packet like an indirect jump.
std::optional<Insn> decode_newer(std::span<const std::uint8_t> bytes, Mode mode) {
  if (mode != Mode::bits64 || bytes.size() < 4) return std::nullopt;
  constexpr std::uint8_t kJmpabsSize = 11;
  constexpr std::uint8_t kRex2MapOrW = 0x88;
  if (bytes[0] == 0xd5 && (bytes[1] & kRex2MapOrW) == 0 && bytes[2] == 0xa1) {
    if (bytes.size() < kJmpabsSize) return std::nullopt;
    return Insn{.length = kJmpabsSize, .cls = InsnClass::ijmp};
  }
  if (bytes[0] != 0xf2 && bytes[0] != 0xf3) return std::nullopt;
  const bool rex = bytes[1] >> 4 == 4;
  const auto rest = bytes.subspan(rex ? 2 : 1);
  if (rest.size() < 3 || rest[0] != 0x0f || rest[1] != 0x01 || rest[2] != 0xca) return std::nullopt;
  return Insn{.length = static_cast<std::uint8_t>(rex ? 5 : 4), .cls = InsnClass::iret};
}

}  // namespace

bool decode_zydis(std::span<const std::uint8_t> bytes, Mode mode, ZydisDecodedInstruction& insn) {
  const auto size = std::min<std::size_t>(bytes.size(), ZYDIS_MAX_INSTRUCTION_LENGTH);
  return ZYAN_SUCCESS(
      ZydisDecoderDecodeInstruction(&zydis_decoder(mode), nullptr, bytes.data(), size, &insn));
}

Insn describe(const ZydisDecodedInstruction& insn, std::uint64_t ip, Mode mode) {
  Insn out{.length = insn.length, .cls = classify(insn)};
  if (has_direct_target(out.cls)) out.target = target_of(insn, ip, mode);
  return out;
}

std::optional<Insn> decode_by_zydis(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                    Mode mode) {
  ZydisDecodedInstruction insn;
  if (!decode_zydis(bytes, mode, insn)) return std::nullopt;
  return describe(insn, ip, mode);
}

std::optional<Insn> decode(std::span<const std::uint8_t> bytes, std::uint64_t ip, Mode mode) {
  auto insn = decode_common(bytes, ip, mode);
  if (!insn) insn = decode_newer(bytes, mode);
  if (!insn) insn = decode_by_zydis(bytes, ip, mode);
  return insn;
}

}  // namespace hodo::isa
