// The table of common instructions against Zydis: where it answers, it says the same, of operands
// too.
#include "common_insns.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "hex.h"
#include "operand_fields.h"

namespace hodo::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;
using View = std::span<const std::uint8_t>;

constexpr std::uint64_t kIp = 0x7fffffff0;

// What both say, and how often the table had an answer.
class Comparison {
 public:
  // The length of the instruction, or 1.
  std::size_t compare(View bytes, Mode mode) {
    const auto insn = decode_common(bytes, kIp, mode);
    const auto reference = decode_by_zydis(bytes, kIp, mode);
    if (reference) ++instructions_;
    if (insn) {
      ++answers_;
      if (!reference || insn->length != reference->length || insn->cls != reference->cls ||
          insn->target != reference->target) {
        differ(bytes, mode, *insn, reference);
      }
      const auto operands = decode_operands(bytes, kIp, mode);
      const auto operands_of_reference = decode_operands_by_zydis(bytes, kIp, mode);
      if (!operands || !operands_of_reference || !same(*operands, *operands_of_reference)) {
        differ(bytes, mode, "operands");
      }
    }
    return reference ? reference->length : 1;
  }
  double share() const {
    return static_cast<double>(answers_) / static_cast<double>(instructions_);
  }
  std::size_t instructions() const { return instructions_; }

 private:
  void differ(View bytes, Mode mode, const char* in_what) {
    if (++differences_ > 20) return;
    ADD_FAILURE() << hex(bytes) << "in mode " << static_cast<int>(mode) << ": " << in_what;
  }
  void differ(View bytes, Mode mode, const Insn& insn, const std::optional<Insn>& reference) {
    if (++differences_ > 20) return;
    ADD_FAILURE() << hex(bytes) << "in mode " << static_cast<int>(mode) << ": length "
                  << int{insn.length} << " class " << static_cast<int>(insn.cls) << ", Zydis "
                  << (reference ? int{reference->length} : 0) << " class "
                  << (reference ? static_cast<int>(reference->cls) : -1);
  }

  std::size_t instructions_ = 0;
  std::size_t answers_ = 0;
  int differences_ = 0;
};

// Each opcode of both maps with each ModRM, a SIB with and without base, behind all prefixes that
// mean something, alone and in pairs.
TEST(CommonInsns, EveryOpcodeAndModrmIsAsZydisSays) {
  const std::vector<Bytes> prefixes = {
      {},           {0x66},       {0xf3},       {0xf2},       {0x67},       {0x2e},
      {0x64},       {0x48},       {0x41},       {0x4f},       {0xf0},       {0x66, 0x48},
      {0xf3, 0x48}, {0xf2, 0x4c}, {0x66, 0x67}, {0x66, 0xf3}, {0xf2, 0x66}, {0xf3, 0xf2},
      {0x48, 0x66}, {0x66, 0x66}, {0x66, 0x2e}, {0x40, 0x48}, {0x3e, 0x67}, {0xf3, 0xf3}};
  Comparison comparison;
  for (const Bytes& prefix : prefixes) {
    for (unsigned opcode = 0; opcode < 0x200; ++opcode) {
      Bytes bytes = prefix;
      if (opcode >= 0x100) bytes.push_back(0x0f);
      bytes.push_back(static_cast<std::uint8_t>(opcode));
      const std::size_t modrm = bytes.size();
      bytes.insert(bytes.end(), {0, 0, 0x81, 0x92, 0xa3, 0xb4, 0xc5, 0xd6, 0xe7, 0xf8, 0x89, 0x9a});
      for (unsigned value = 0; value < 0x100; ++value) {
        bytes[modrm] = static_cast<std::uint8_t>(value);
        for (const std::uint8_t sib : Bytes{0x24, 0x85}) {
          bytes[modrm + 1] = sib;
          for (const Mode mode : {Mode::bits16, Mode::bits32, Mode::bits64}) {
            comparison.compare(bytes, mode);
          }
        }
      }
    }
  }
}

TEST(CommonInsns, RandomBytesAreAsZydisSays) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  Comparison comparison;
  for (int round = 0; round < 200'000; ++round) {
    Bytes bytes(16);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    for (const Mode mode : {Mode::bits16, Mode::bits32, Mode::bits64}) {
      comparison.compare(bytes, mode);
    }
  }
}

TEST(CommonInsns, CutOffAnywhereHasNoAnswer) {
  const std::vector<Bytes> insns = {{0x90},
                                    {0xf3, 0xc3},
                                    {0x48, 0x8b, 0x44, 0x24, 0x08},
                                    {0x81, 0x84, 0x24, 1, 2, 3, 4, 5, 6, 7, 8},
                                    {0x0f, 0x84, 1, 2, 3, 4},
                                    {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
                                    {0x66, 0x0f, 0x70, 0x05, 1, 2, 3, 4, 5}};
  for (const Bytes& insn : insns) {
    EXPECT_TRUE(decode_common(insn, kIp, Mode::bits64)) << hex(insn);
    for (std::size_t size = 0; size < insn.size(); ++size) {
      EXPECT_FALSE(decode_common(View(insn).first(size), kIp, Mode::bits64)) << hex(insn) << size;
    }
  }
}

// The file that `function` lies in.
Bytes file_of(const char* function) {
  Dl_info info{};
  const void* const address = dlsym(RTLD_DEFAULT, function);
  if (address == nullptr || dladdr(address, &info) == 0) return {};
  std::ifstream in(std::filesystem::canonical(info.dli_fname), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Whole files, as if all of them were code: text comes in instructions as compilers write them, at
// offsets that fall into step with them by themselves.
TEST(CommonInsns, LibrariesAreAsZydisSays) {
  for (const char* function : {"fopen", "__cxa_throw"}) {  // of libc and libstdc++
    const Bytes file = file_of(function);
    ASSERT_FALSE(file.empty()) << function;
    Comparison straight;
    for (std::size_t at = 0; at < file.size();) {
      at += straight.compare(View(file).subspan(at), Mode::bits64);
    }
    Comparison every_offset;
    for (std::size_t at = 0; at < file.size(); at += 7) {
      every_offset.compare(View(file).subspan(at), Mode::bits64);
      every_offset.compare(View(file).subspan(at), Mode::bits32);
    }
    // That it answers at all: most of the instructions.
    EXPECT_GT(straight.instructions(), 100'000u);
    EXPECT_GT(straight.share(), 0.8);
  }
}

}  // namespace
}  // namespace hodo::isa
