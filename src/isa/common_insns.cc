// Source: Intel SDM vol. 2, appendix A (opcode maps) and section 2.1 (instruction format).
//
// In the table are legacy encodings of the one-byte map and the 0F map whose length and kind follow
// from prefixes, opcode and ModRM alone. Not in it, among others: LOCK, VEX, EVEX and XOP, the 0F38
// and 0F3A maps, x87, instructions that are invalid with some operands, 16-bit code, and all that
// seldom runs.
#include "common_insns.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

namespace hodo::isa {
namespace {

constexpr std::size_t kMostBytes = 15;

enum Operands : std::uint8_t {
  kModrm = 1 << 0,
  kMemory = 1 << 1,    // ModRM must name memory
  kRegister = 1 << 2,  // ModRM must name a register
  kImm8 = 1 << 3,
  kImmZ = 1 << 4,   // 16 bits with prefix 66, else 32
  kImmV = 1 << 5,   // as kImmZ, but 64 bits with REX.W
  kRel8 = 1 << 6,   // displacement of a branch
  kRel32 = 1 << 7,  // of a branch
  kMem = kModrm | kMemory,
  kReg = kModrm | kRegister,
};

// The one prefix that can select another instruction.
enum Selector : std::uint8_t {
  kNone = 1 << 0,
  k66 = 1 << 1,
  kF3 = 1 << 2,
  kF2 = 1 << 3,
  kAny = kNone | k66 | kF3 | kF2,
  kMmx = kNone | k66,           // also everything that is only widened or narrowed
  kBranch = kNone | kF3 | kF2,  // 66 cuts the target outside 64-bit mode
};

enum Modes : std::uint8_t { kIn32 = 1 << 0, kIn64 = 1 << 1, kInBoth = kIn32 | kIn64 };

struct Form {
  std::uint8_t selectors = 0;  // with which it is in the table; 0: it is not
  std::uint8_t operands = 0;
  std::uint8_t regs = 0xff;  // values of ModRM.reg with which it is in the table, by bit
  std::uint8_t modes = kInBoth;
  InsnClass cls = InsnClass::other;
};

struct Row {
  std::uint8_t first, last;  // opcodes
  Form form;
};
using Table = std::array<Form, 256>;

template <std::size_t N>
constexpr Table expand(const std::array<Row, N>& rows) {
  Table table{};
  for (const Row& row : rows) {
    for (unsigned opcode = row.first; opcode <= row.last; ++opcode) table[opcode] = row.form;
  }
  return table;
}

constexpr std::uint8_t reg_bits(std::initializer_list<int> regs) {
  unsigned bits = 0;
  for (const int reg : regs) bits |= 1u << reg;
  return static_cast<std::uint8_t>(bits);
}

constexpr auto kOneByteRows = std::to_array<Row>({
    {0x50, 0x5f, {kAny}},                                            // PUSH, POP
    {0x63, 0x63, {kAny, kModrm, 0xff, kIn64}},                       // MOVSXD
    {0x68, 0x68, {kAny, kImmZ}},                                     // PUSH
    {0x69, 0x69, {kAny, kModrm | kImmZ}},                            // IMUL
    {0x6a, 0x6a, {kAny, kImm8}},                                     // PUSH
    {0x6b, 0x6b, {kAny, kModrm | kImm8}},                            // IMUL
    {0x70, 0x7f, {kBranch, kRel8, 0xff, kInBoth, InsnClass::cond}},  // Jcc
    {0x80, 0x80, {kAny, kModrm | kImm8}},                            // ADD to CMP
    {0x81, 0x81, {kAny, kModrm | kImmZ}},
    {0x83, 0x83, {kAny, kModrm | kImm8}},
    {0x84, 0x8b, {kAny, kModrm}},          // TEST, XCHG, MOV
    {0x8d, 0x8d, {kAny, kMem}},            // LEA
    {0x90, 0x99, {kAny}},                  // NOP, PAUSE, XCHG, CWDE, CDQ
    {0xa4, 0xa7, {kAny}},                  // MOVS, CMPS
    {0xa8, 0xa8, {kAny, kImm8}},           // TEST
    {0xa9, 0xa9, {kAny, kImmZ}},           // TEST
    {0xaa, 0xaf, {kAny}},                  // STOS, LODS, SCAS
    {0xb0, 0xb7, {kAny, kImm8}},           // MOV
    {0xb8, 0xbf, {kAny, kImmV}},           // MOV
    {0xc0, 0xc1, {kAny, kModrm | kImm8}},  // shifts
    {0xc3, 0xc3, {kBranch, 0, 0xff, kInBoth, InsnClass::ret}},
    {0xc6, 0xc6, {kAny, kModrm | kImm8, reg_bits({0})}},  // MOV
    {0xc7, 0xc7, {kAny, kModrm | kImmZ, reg_bits({0})}},
    {0xc9, 0xc9, {kAny}},          // LEAVE
    {0xd0, 0xd3, {kAny, kModrm}},  // shifts
    {0xe8, 0xe8, {kBranch, kRel32, 0xff, kInBoth, InsnClass::call}},
    {0xe9, 0xe9, {kBranch, kRel32, 0xff, kInBoth, InsnClass::jmp}},
    {0xeb, 0xeb, {kBranch, kRel8, 0xff, kInBoth, InsnClass::jmp}},
    {0xf6, 0xf7, {kAny, kModrm, reg_bits({2, 3, 4, 5, 6, 7})}},  // NOT to IDIV
    {0xfe, 0xfe, {kAny, kModrm, reg_bits({0, 1})}},              // INC, DEC
    {0xff, 0xff, {kAny, kModrm, reg_bits({0, 1, 6})}},           // INC, DEC, PUSH
});

// What ModRM.reg makes of three opcodes: TEST instead of NOT to IDIV, CALL and JMP.
constexpr Form kTest8 = {kAny, kModrm | kImm8, reg_bits({0, 1})};
constexpr Form kTestZ = {kAny, kModrm | kImmZ, reg_bits({0, 1})};
constexpr Form kIndirectCall = {kBranch, kModrm, reg_bits({2}), kInBoth, InsnClass::icall};
constexpr Form kIndirectJump = {kBranch, kModrm, reg_bits({4}), kInBoth, InsnClass::ijmp};

constexpr Table make_one_byte() {
  Table table = expand(kOneByteRows);
  // ADD, OR, ADC, SBB, AND, SUB, XOR, CMP.
  for (unsigned first = 0x00; first < 0x40; first += 8) {
    for (unsigned i = 0; i < 4; ++i) table[first + i] = {kAny, kModrm};
    table[first + 4] = {kAny, kImm8};
    table[first + 5] = {kAny, kImmZ};
  }
  // INC and DEC; in 64-bit mode REX.
  for (unsigned opcode = 0x40; opcode < 0x50; ++opcode) table[opcode] = {kAny, 0, 0xff, kIn32};
  return table;
}

constexpr auto k0fRows = std::to_array<Row>({
    {0x05, 0x05, {kNone, 0, 0xff, kIn64, InsnClass::syscall}},
    {0x10, 0x11, {kAny, kModrm}},                                     // MOVUPS and its like
    {0x14, 0x15, {kMmx, kModrm}},                                     // UNPCKL, UNPCKH
    {0x1f, 0x1f, {kAny, kModrm}},                                     // NOP
    {0x28, 0x29, {kMmx, kModrm}},                                     // MOVAPS
    {0x2a, 0x2a, {kF3 | kF2, kModrm}},                                // CVTSI2SS
    {0x2c, 0x2d, {kF3 | kF2, kModrm}},                                // CVTTSS2SI
    {0x2e, 0x2f, {kMmx, kModrm}},                                     // UCOMISS
    {0x40, 0x4f, {kMmx, kModrm}},                                     // CMOVcc
    {0x51, 0x51, {kAny, kModrm}},                                     // SQRT
    {0x54, 0x57, {kMmx, kModrm}},                                     // AND, ANDN, OR, XOR
    {0x58, 0x5a, {kAny, kModrm}},                                     // ADD, MUL, CVT
    {0x5b, 0x5b, {kMmx | kF3, kModrm}},                               // CVT
    {0x5c, 0x5f, {kAny, kModrm}},                                     // SUB, MIN, DIV, MAX
    {0x60, 0x6b, {kMmx, kModrm}},                                     // PUNPCK, PACK, PCMPGT
    {0x6c, 0x6d, {k66, kModrm}},                                      // PUNPCKLQDQ, PUNPCKHQDQ
    {0x6e, 0x6e, {kMmx, kModrm}},                                     // MOVD, MOVQ
    {0x6f, 0x6f, {kMmx | kF3, kModrm}},                               // MOVQ, MOVDQA, MOVDQU
    {0x70, 0x70, {kAny, kModrm | kImm8}},                             // PSHUF
    {0x74, 0x76, {kMmx, kModrm}},                                     // PCMPEQ
    {0x7e, 0x7e, {kMmx | kF3, kModrm}},                               // MOVD, MOVQ
    {0x7f, 0x7f, {kMmx | kF3, kModrm}},                               // MOVQ, MOVDQA, MOVDQU
    {0x80, 0x8f, {kBranch, kRel32, 0xff, kInBoth, InsnClass::cond}},  // Jcc
    {0x90, 0x9f, {kNone, kModrm}},                                    // SETcc
    {0xa2, 0xa2, {kNone}},                                            // CPUID
    {0xa3, 0xa3, {kMmx, kModrm}},                                     // BT
    {0xa4, 0xa4, {kMmx, kModrm | kImm8}},                             // SHLD
    {0xa5, 0xa5, {kMmx, kModrm}},
    {0xab, 0xab, {kMmx, kModrm}},          // BTS
    {0xac, 0xac, {kMmx, kModrm | kImm8}},  // SHRD
    {0xad, 0xad, {kMmx, kModrm}},
    {0xaf, 0xb1, {kMmx, kModrm}},                                  // IMUL, CMPXCHG
    {0xb3, 0xb3, {kMmx, kModrm}},                                  // BTR
    {0xb6, 0xb7, {kMmx, kModrm}},                                  // MOVZX
    {0xb8, 0xb8, {kF3, kModrm}},                                   // POPCNT
    {0xba, 0xba, {kMmx, kModrm | kImm8, reg_bits({4, 5, 6, 7})}},  // BT, BTS, BTR, BTC
    {0xbb, 0xbb, {kMmx, kModrm}},                                  // BTC
    {0xbc, 0xbd, {kMmx | kF3, kModrm}},                            // BSF, TZCNT, BSR, LZCNT
    {0xbe, 0xbf, {kMmx, kModrm}},                                  // MOVSX
    {0xc0, 0xc1, {kMmx, kModrm}},                                  // XADD
    {0xc6, 0xc6, {kMmx, kModrm | kImm8}},                          // SHUFPS
    {0xc8, 0xcf, {kNone}},                                         // BSWAP
    {0xd1, 0xd5, {kMmx, kModrm}},                                  // from here on MMX and SSE
    {0xd6, 0xd6, {k66, kModrm}},                                   // MOVQ
    {0xd7, 0xd7, {kMmx, kReg}},                                    // PMOVMSKB
    {0xd8, 0xe5, {kMmx, kModrm}},
    {0xe6, 0xe6, {k66 | kF3 | kF2, kModrm}},
    {0xe7, 0xe7, {kMmx, kMem}},
    {0xe8, 0xef, {kMmx, kModrm}},
    {0xf1, 0xf6, {kMmx, kModrm}},
    {0xf8, 0xfe, {kMmx, kModrm}},
});

constexpr Table kOneByte = make_one_byte();
constexpr Table k0f = expand(k0fRows);

struct Prefixes {
  std::size_t count = 0;
  std::uint8_t selector = kNone;
  std::uint8_t rex = 0;
  std::uint8_t segment = 0;
  bool rex_w() const { return (rex & 8) != 0; }
};

// The form of an opcode, behind which `modrm` stands if it has one.
const Form& form_of(bool in_0f, std::uint8_t opcode, std::uint8_t modrm) {
  const Form& form = (in_0f ? k0f : kOneByte)[opcode];
  if (in_0f || opcode < 0xf6) return form;
  const unsigned reg = modrm >> 3 & 7u;
  if (opcode == 0xf6 && reg < 2) return kTest8;
  if (opcode == 0xf7 && reg < 2) return kTestZ;
  if (opcode == 0xff && reg == 2) return kIndirectCall;
  if (opcode == 0xff && reg == 4) return kIndirectJump;
  return form;
}

// Up to the opcode; nullopt: there are some that are not understood here.
std::optional<Prefixes> read_prefixes(std::span<const std::uint8_t> bytes, bool in64) {
  Prefixes out;
  const auto select = [&](Selector which) {
    if (out.selector != kNone && out.selector != which) return false;
    out.selector = which;
    return true;
  };
  for (; out.count < bytes.size(); ++out.count) {
    const std::uint8_t byte = bytes[out.count];
    bool known = true;
    switch (byte) {
      case 0x66:
        known = select(k66);
        break;
      case 0xf3:
        known = select(kF3);
        break;
      case 0xf2:
        known = select(kF2);
        break;
      case 0x67:  // in 64-bit mode, 32-bit addresses have the same form
        known = in64;
        break;
      case 0x26:
      case 0x2e:
      case 0x36:
      case 0x3e:
      case 0x64:
      case 0x65:
        known = out.segment == 0;
        out.segment = byte;
        break;
      default:
        if (!in64 || (byte & 0xf0) != 0x40) return out;
        out.rex = byte;
        continue;
    }
    if (!known || out.rex != 0) return std::nullopt;  // a REX before another prefix is ignored
  }
  return std::nullopt;
}

// Bytes of ModRM, SIB and displacement; 0: cut off.
std::size_t modrm_size(std::span<const std::uint8_t> bytes) {
  if (bytes.empty()) return 0;
  const unsigned mod = bytes[0] >> 6;
  const unsigned rm = bytes[0] & 7u;
  if (mod == 3) return 1;
  const bool has_sib = rm == 4;
  if (has_sib && bytes.size() < 2) return 0;
  const unsigned base = has_sib ? bytes[1] & 7u : rm;
  const std::size_t size = has_sib ? 2 : 1;
  if (mod == 1) return size + 1;
  return mod == 2 || base == 5 ? size + 4 : size;
}

std::size_t immediate_size(const Form& form, const Prefixes& prefixes) {
  const std::size_t full = prefixes.selector == k66 && !prefixes.rex_w() ? 2 : 4;
  if ((form.operands & (kImm8 | kRel8)) != 0) return 1;
  if ((form.operands & kImmZ) != 0) return full;
  if ((form.operands & kImmV) != 0) return prefixes.rex_w() ? 8 : full;
  return (form.operands & kRel32) != 0 ? 4 : 0;
}

bool takes(const Form& form, std::uint8_t modrm) {
  const bool is_register = modrm >> 6 == 3;
  return (form.regs >> (modrm >> 3 & 7) & 1) != 0 &&
         (form.operands & (is_register ? kMemory : kRegister)) == 0;
}

std::int64_t displacement(const std::uint8_t* at, std::size_t size) {
  if (size == 1) return static_cast<std::int8_t>(*at);
  std::int32_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

Insn describe(const CommonInsn& found, const std::uint8_t* bytes, std::uint64_t ip, Mode mode) {
  Insn insn{.length = found.length, .cls = found.cls};
  if (!has_direct_target(insn.cls)) return insn;
  const std::int64_t distance = displacement(bytes + found.imm_at, found.imm_size);
  const std::uint64_t target = ip + insn.length + static_cast<std::uint64_t>(distance);
  insn.target = mode == Mode::bits64 ? target : target & 0xffffffffu;
  return insn;
}

std::optional<CommonInsn> find_common(std::span<const std::uint8_t> bytes, Mode mode) {
  if (mode == Mode::bits16) return std::nullopt;
  bytes = bytes.first(std::min(bytes.size(), kMostBytes));
  const bool in64 = mode == Mode::bits64;
  const auto prefixes = read_prefixes(bytes, in64);
  if (!prefixes) return std::nullopt;
  std::size_t size = prefixes->count;
  const bool in_0f = bytes[size] == 0x0f;
  if (in_0f && ++size == bytes.size()) return std::nullopt;
  const std::uint8_t opcode = bytes[size++];
  const auto rest = bytes.subspan(size);
  const Form& form = form_of(in_0f, opcode, rest.empty() ? 0 : rest[0]);
  if ((form.selectors & prefixes->selector) == 0 || (form.modes & (in64 ? kIn64 : kIn32)) == 0) {
    return std::nullopt;
  }
  std::size_t modrm_at = 0;
  if ((form.operands & kModrm) != 0) {
    const std::size_t more = modrm_size(rest);
    if (more == 0 || !takes(form, rest[0])) return std::nullopt;
    modrm_at = size;
    size += more;
  }
  const std::size_t immediate = immediate_size(form, *prefixes);
  if (size > bytes.size() || bytes.size() - size < immediate) return std::nullopt;
  return CommonInsn{.length = static_cast<std::uint8_t>(size + immediate),
                    .cls = form.cls,
                    .in_0f = in_0f,
                    .opcode = opcode,
                    .operand16 = prefixes->selector == k66,
                    .rex = prefixes->rex,
                    .segment = prefixes->segment,
                    .modrm_at = static_cast<std::uint8_t>(modrm_at),
                    .imm_at = static_cast<std::uint8_t>(size),
                    .imm_size = static_cast<std::uint8_t>(immediate)};
}

std::optional<Insn> decode_common(std::span<const std::uint8_t> bytes, std::uint64_t ip,
                                  Mode mode) {
  const auto found = find_common(bytes, mode);
  if (!found) return std::nullopt;
  return describe(*found, bytes.data(), ip, mode);
}

}  // namespace hodo::isa
