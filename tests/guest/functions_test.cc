#include "hodo/guest/functions.h"

#include <gtest/gtest.h>

namespace hodo::guest {
namespace {

constexpr std::uint64_t kText = 0xffff'ffff'8100'0000;

TEST(KernelFunctions, ReachToTheNextSymbol) {
  const std::vector<KernelSymbol> symbols = {
      {kText + 0x100, 't', "later"}, {kText, 'T', "first"}, {kText + 0x180, 'D', "data"}};
  const KernelFunctions functions(symbols, kText + 0x200);
  const auto first = functions.at(kText + 0xff);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->name, "first");
  EXPECT_EQ(first->start, kText);
  EXPECT_EQ(first->size, 0x100u);
  const auto later = functions.at(kText + 0x1ff);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->name, "later");
  EXPECT_EQ(later->size, 0x100u);
  EXPECT_FALSE(functions.at(kText + 0x200));
  EXPECT_FALSE(functions.at(kText - 1));
}

TEST(KernelFunctions, OfSeveralNamesTheGlobalOneCounts) {
  const std::vector<KernelSymbol> symbols = {
      {kText, 't', "local"}, {kText, 'W', "weak"}, {kText, 'T', "global"}};
  const auto found = KernelFunctions(symbols, kText + 16).at(kText);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "global");
}

TEST(KernelFunctions, OffsetsOfPerCpuVariablesAreNone) {
  const std::vector<KernelSymbol> symbols = {{0x1000, 't', "offset"}};
  EXPECT_FALSE(KernelFunctions(symbols, kText).at(0x1000));
}

}  // namespace
}  // namespace hodo::guest
