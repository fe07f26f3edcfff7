// decode_encoding() against Zydis, on random bytes and on all code of the machine's libraries.
#include "hodo/isa/encoding.h"

#include <Zydis/Zydis.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "hex.h"
#include "hodo/isa/insn.h"

namespace hodo::isa {
namespace {

using View = std::span<const std::uint8_t>;

constexpr std::uint64_t kIp = 0x7ffff0000000;

struct Reference {
  ZydisDecodedInstruction insn;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

class ByZydis {
 public:
  ByZydis() { ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64); }
  bool decode(View bytes, Reference& to) const {
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, bytes.data(),
                                               std::min<std::size_t>(bytes.size(), 15), &to.insn,
                                               to.operands.data()));
  }

 private:
  ZydisDecoder decoder_;
};

// The number of a general-purpose register from R8 on, of any width; kNone for others: of those
// below, AH and its like have numbers of others.
std::uint8_t number(ZydisRegister reg) {
  const auto wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
  if (wide < ZYDIS_REGISTER_R8 || wide > ZYDIS_REGISTER_R15) return Encoding::kNone;
  return static_cast<std::uint8_t>(8 + wide - ZYDIS_REGISTER_R8);
}

std::optional<RegisterField> field_of(const ZydisDecodedOperand& operand) {
  switch (operand.encoding) {
    case ZYDIS_OPERAND_ENCODING_MODRM_REG:
      return RegisterField::reg;
    case ZYDIS_OPERAND_ENCODING_MODRM_RM:
      return RegisterField::rm;
    case ZYDIS_OPERAND_ENCODING_NDSNDD:
      return RegisterField::vvvv;
    case ZYDIS_OPERAND_ENCODING_OPCODE:
      return RegisterField::opcode;
    default:
      return std::nullopt;
  }
}

using Names = std::array<std::uint8_t, kRegisterFields>;

Names names(const Reference& r) {
  Names all;
  all.fill(Encoding::kNone);
  const auto name = [&](RegisterField field, ZydisRegister reg) {
    if (number(reg) != Encoding::kNone) all[static_cast<std::size_t>(field)] = number(reg);
  };
  for (unsigned i = 0; i < r.insn.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = r.operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY) {
      const bool by_reg = operand.encoding == ZYDIS_OPERAND_ENCODING_MODRM_REG;
      name(by_reg ? RegisterField::reg : RegisterField::base, operand.mem.base);
      name(RegisterField::index, operand.mem.index);
    } else if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER && field_of(operand)) {
      name(*field_of(operand), operand.reg.value);
    }
  }
  return all;
}

// With prefix 67, Zydis 4.0 takes REX.B for R13 as a base also where SIB says that there is none
// (SDM vol. 2, table 2-3: mod 0 and base 5).
bool has_phantom_base(const Encoding& e, const Reference& r) {
  return e.address32 && r.insn.raw.modrm.mod == 0 && e.sib_at != 0 && r.insn.raw.sib.base == 5;
}

Names names(const Encoding& e) {
  Names all;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = e.names[i] < 8 ? Encoding::kNone : e.names[i];
  }
  return all;
}

unsigned status_flags(ZyanU32 cpu_flags) {
  unsigned flags = 0;
  if (cpu_flags & ZYDIS_CPUFLAG_CF) flags |= kCf;
  if (cpu_flags & ZYDIS_CPUFLAG_PF) flags |= kPf;
  if (cpu_flags & ZYDIS_CPUFLAG_AF) flags |= kAf;
  if (cpu_flags & ZYDIS_CPUFLAG_ZF) flags |= kZf;
  if (cpu_flags & ZYDIS_CPUFLAG_SF) flags |= kSf;
  if (cpu_flags & ZYDIS_CPUFLAG_OF) flags |= kOf;
  return flags;
}

// What both say, and how often decode_encoding() knew the instruction.
class Comparison {
 public:
  // The length of the instruction, or 1.
  std::size_t compare(View bytes) {
    Reference r;
    if (!zydis_.decode(bytes, r)) return 1;
    ++instructions_;
    const Encoding e = decode_encoding(bytes.data(), bytes.size());
    if (e.length == 0) return r.insn.length;
    ++known_;
    if (e.length != r.insn.length) return differ("length", bytes, r, e.length, r.insn.length);
    // What a NOP names, it does not use.
    if (r.insn.mnemonic != ZYDIS_MNEMONIC_NOP && !has_phantom_base(e, r) && names(e) != names(r)) {
      return differ("registers", bytes, r, e.registers(), 0);
    }
    const bool rip =
        r.insn.attributes & ZYDIS_ATTRIB_IS_RELATIVE && r.insn.raw.imm[0].is_relative == 0;
    if (e.rip_relative != rip) return differ("rip", bytes, r, e.rip_relative, rip);
    if (e.disp_size * 8 != r.insn.raw.disp.size && !e.imm_at)
      return differ("disp", bytes, r, e.disp_size, r.insn.raw.disp.size);
    const auto insn = decode(bytes, kIp, Mode::bits64);
    if (insn && insn->cls != e.cls) {
      return differ("class", bytes, r, static_cast<unsigned>(e.cls),
                    static_cast<unsigned>(insn->cls));
    }
    if (insn && is_branch(e.cls) && has_direct_target(e.cls) &&
        insn->target != direct_target(e, bytes.data(), kIp)) {
      return differ("target", bytes, r, 0, 0);
    }
    const auto* flags = r.insn.cpu_flags;
    const unsigned read = flags != nullptr ? status_flags(flags->tested) : 0;
    const unsigned killed =
        flags != nullptr
            ? status_flags(flags->modified | flags->set_0 | flags->set_1 | flags->undefined)
            : 0;
    if (read & ~e.flags_read) return differ("flags read", bytes, r, e.flags_read, read);
    if (e.flags_killed & ~killed) return differ("flags killed", bytes, r, e.flags_killed, killed);
    return r.insn.length;
  }
  double share() const { return static_cast<double>(known_) / static_cast<double>(instructions_); }
  std::size_t instructions() const { return instructions_; }

 private:
  std::size_t differ(const char* what, View bytes, const Reference& r, unsigned ours,
                     unsigned theirs) {
    if (++differences_ <= 40) {
      ADD_FAILURE() << hex(bytes) << ZydisMnemonicGetString(r.insn.mnemonic) << ": " << what
                    << " is " << ours << ", Zydis says " << theirs;
    }
    return r.insn.length;
  }

  ByZydis zydis_;
  std::size_t instructions_ = 0, known_ = 0, differences_ = 0;
};

TEST(Encoding, EqualsZydisOnRandomBytes) {
  std::mt19937_64 random(1);
  Comparison comparison;
  for (int i = 0; i < 10'000'000; ++i) {
    std::array<std::uint8_t, 16> bytes;
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
      const std::uint64_t word = random();
      std::memcpy(&bytes[at], &word, 8);
    }
    // Every opcode map is as likely as the others, with REX more often than not.
    static constexpr std::array<std::array<std::uint8_t, 3>, 8> kMaps = {
        {{}, {0x0f}, {0x0f, 0x38}, {0x0f, 0x3a}, {0xc5}, {0xc4}, {0x62}, {}}};
    std::size_t at = 0;
    const auto& map = kMaps[random() % kMaps.size()];
    constexpr std::array<std::uint8_t, 4> kPrefixes = {0x66, 0xf2, 0xf3, 0x67};
    if (random() % 3 == 0) bytes[at++] = kPrefixes[random() % kPrefixes.size()];
    if (map[0] != 0xc5 && map[0] != 0xc4 && map[0] != 0x62 && random() % 2 == 0)
      bytes[at++] = static_cast<std::uint8_t>(0x40 | random() % 16);
    for (const std::uint8_t byte : map) {
      if (byte != 0) bytes[at++] = byte;
    }
    comparison.compare(bytes);
  }
  EXPECT_GT(comparison.instructions(), 3'000'000u);
  EXPECT_GT(comparison.share(), 0.9);
}

TEST(Encoding, EqualsZydisOnLibraries) {
  Comparison comparison;
  for (const char* name : {"libc.so.6", "libstdc++.so.6", "libcrypto.so.3", "libm.so.6"}) {
    std::ifstream file(std::string("/usr/lib/x86_64-linux-gnu/") + name, std::ios::binary);
    if (!file) continue;
    const std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(content.data());
    const View all(bytes, content.size());
    for (std::size_t at = 0; at < all.size();) at += comparison.compare(all.subspan(at));
  }
  EXPECT_GT(comparison.instructions(), 500'000u);
  EXPECT_GT(comparison.share(), 0.97);
}

// What the processor makes of them is its own matter: the engine has it run them.
TEST(Encoding, KnowsNoBranchThatProcessorsReadDifferently) {
  const std::vector<std::vector<std::uint8_t>> bytes = {
      {0xf0, 0xeb, 0},          {0xf0, 0x0f, 0x84, 0, 0, 0, 0},
      {0xf0, 0xff, 0xe0},       {0xf0, 0xc3},
      {0xf0, 0x0f, 0x05},       {0xf0, 0xcd, 0x80},
      {0x66, 0xeb, 0},          {0x66, 0x0f, 0x84, 0, 0, 0, 0},
      {0x66, 0xff, 0xe0},       {0x66, 0xc3},
      {0x66, 0xe8, 0, 0, 0, 0}, {0x66, 0xe2, 0},
      {0x66, 0xc2, 8, 0},       {0x66, 0xff, 0x10},
      {0x66, 0x74, 0}};
  for (const auto& insn : bytes)
    EXPECT_EQ(decode_encoding(insn.data(), insn.size()).length, 0) << hex(insn);
  const std::vector<std::uint8_t> wide = {0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0};
  EXPECT_EQ(decode_encoding(wide.data(), wide.size()).cls, InsnClass::call);
}

TEST(Encoding, CutOffAnywhereIsNoInstruction) {
  constexpr std::array<std::uint8_t, 12> kMov = {0x49, 0xc7, 0x84, 0xff, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(decode_encoding(kMov.data(), kMov.size()).length, 12);
  for (std::size_t size = 0; size < kMov.size(); ++size)
    EXPECT_EQ(decode_encoding(kMov.data(), size).length, 0) << size;
}

}  // namespace
}  // namespace hodo::isa
