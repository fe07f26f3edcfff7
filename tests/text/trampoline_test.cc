// GCC's trampolines of nested functions, byte by byte.
#include "hodo/text/trampoline.h"

#include <gtest/gtest.h>

#include <vector>

namespace hodo::text {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint64_t kPlace = 0xff801000;

std::optional<std::uint64_t> target64(std::span<const std::uint8_t> code) {
  return trampoline_target(code, kPlace, isa::Mode::bits64);
}
std::optional<std::uint64_t> target32(std::span<const std::uint8_t> code) {
  return trampoline_target(code, kPlace, isa::Mode::bits32);
}

// movabs r11, 0x1122334455667788; movabs r10, frame; jmp r11
const Bytes kWide = {0x49, 0xbb, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x49, 0xba,
                     1,    2,    3,    4,    5,    6,    7,    8,    0x49, 0xff, 0xe3};
// mov r11d, 0x11223344; ...
const Bytes kShort = {0x41, 0xbb, 0x44, 0x33, 0x22, 0x11, 0x49, 0xba, 1,   2,
                      3,    4,    5,    6,    7,    8,    0x49, 0xff, 0xe3};

TEST(Trampoline, LeadsToItsFunction) {
  EXPECT_EQ(target64(kWide), 0x1122334455667788u);
  EXPECT_EQ(target64(kShort), 0x11223344u);
  Bytes for_cet = {0xf3, 0x0f, 0x1e, 0xfa};
  for_cet.insert(for_cet.end(), kWide.begin(), kWide.end());
  EXPECT_EQ(for_cet.size(), kLongestTrampoline);
  EXPECT_EQ(target64(for_cet), 0x1122334455667788u);
}

TEST(Trampoline, IsNotWhatDiffersInOneByteOrEndsEarly) {
  for (const std::size_t at : {0, 1, 10, 11, 20, 21, 22}) {
    Bytes other = kWide;
    other[at] ^= 0x10;
    EXPECT_EQ(target64(other), std::nullopt) << at;
  }
  for (std::size_t size = 0; size < kWide.size(); ++size) {
    EXPECT_EQ(target64(std::span(kWide).first(size)), std::nullopt) << size;
  }
}

// mov ecx, frame; jmp function
const Bytes kNarrow = {0xb9, 1, 2, 3, 4, 0xe9, 0xf6, 0x0f, 0, 0x10};

TEST(Trampoline, Of32BitCodeJumpsByADistance) {
  EXPECT_EQ(target32(kNarrow), 0x0f802000u);  // passes the end of memory
  Bytes for_cet = {0xf3, 0x0f, 0x1e, 0xfb};
  for_cet.insert(for_cet.end(), kNarrow.begin(), kNarrow.end());
  EXPECT_EQ(target32(for_cet), 0x0f802004u);
  EXPECT_EQ(target64(kNarrow), std::nullopt);
  EXPECT_EQ(target32(kWide), std::nullopt);
  for (const std::size_t at : {0, 5}) {
    Bytes other = kNarrow;
    other[at] ^= 0x10;
    EXPECT_EQ(target32(other), std::nullopt) << at;
  }
  for (std::size_t size = 0; size < kNarrow.size(); ++size) {
    EXPECT_EQ(target32(std::span(kNarrow).first(size)), std::nullopt) << size;
  }
}

// endbr64; lea r10, [rip - 11]; jmp [rip + 7]
const Bytes kClosure = {0xf3, 0x0f, 0x1e, 0xfa, 0x4c, 0x8d, 0x15, 0xf5, 0xff,
                        0xff, 0xff, 0xff, 0x25, 0x07, 0,    0,    0};
// lea r10, [rip - 7]; jmp [rip + 3]
const Bytes kOldClosure = {0x4c, 0x8d, 0x15, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x25, 3, 0, 0, 0};

TEST(Trampoline, AClosureLeadsToWhatStandsBehindIt) {
  EXPECT_TRUE(is_closure(kClosure));
  EXPECT_TRUE(is_closure(kOldClosure));
  EXPECT_EQ(kClosure.size(), kLongestClosure);
}

TEST(Trampoline, NoClosureIsWhatDiffersInOneByteOrEndsEarly) {
  for (const Bytes& closure : {kClosure, kOldClosure}) {
    for (std::size_t at = 0; at < closure.size(); ++at) {
      Bytes other = closure;
      other[at] ^= 0x10;
      EXPECT_FALSE(is_closure(other)) << at;
      EXPECT_FALSE(is_closure(std::span(closure).first(at))) << at;
    }
  }
}

}  // namespace
}  // namespace hodo::text
