#include "alternatives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace hodo::kernelcheck {
namespace {

using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr std::uint64_t kTable = 0xffff'ffff'8300'0000, kCode = 0xffff'ffff'8100'0000;
constexpr std::uint64_t kCodeSize = 0x100'0000;

bool is_code(std::uint64_t address) { return address - kCode < kCodeSize; }

// A table as the kernel has it: `bytes` for each entry, instrlen at `length_at`.
std::vector<std::uint8_t> table(const std::vector<Alternative>& sites, std::size_t bytes,
                                std::size_t length_at) {
  std::vector<std::uint8_t> out;
  for (const Alternative& site : sites) {
    std::vector<std::uint8_t> entry(bytes, 0x11);
    const auto offset = static_cast<std::int32_t>(site.address - kTable - out.size());
    std::memcpy(entry.data(), &offset, sizeof(offset));
    entry[length_at] = static_cast<std::uint8_t>(site.size);
    out.insert(out.end(), entry.begin(), entry.end());
  }
  return out;
}

// The last of Linux 6.12's __switch_to_asm: a table whose sites are 43 bytes long.
const std::vector<Alternative> kSites = {
    {kCode + 0x81e0, 43}, {kCode + 0x81e0, 43}, {kCode + 0x9000, 9}, {kCode + 0xff'0000, 5}};

TEST(Alternatives, OfBothLayoutsOfTheTable) {
  EXPECT_THAT(alternatives(table(kSites, 12, 10), kTable, is_code), ElementsAreArray(kSites));
  EXPECT_THAT(alternatives(table(kSites, 14, 12), kTable, is_code), ElementsAreArray(kSites));
}

TEST(Alternatives, WhatIsNoTableHasNone) {
  EXPECT_THAT(alternatives({}, kTable, is_code), IsEmpty());
  const std::vector<std::uint8_t> zeros(100);
  EXPECT_THAT(alternatives(zeros, kTable, is_code), IsEmpty());
}

}  // namespace
}  // namespace hodo::kernelcheck
