#include "range_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace hodo::symbol {
namespace {

Candidate function(std::string_view name, std::uint64_t start, std::uint64_t size) {
  return {.symbol = {.name = name, .start = start, .size = size, .global = true},
          .origin = {.section_end = 1000}};
}

// One letter per address from 0 on, the first letter of the symbol that has it; '.' for none.
std::string drawn(std::vector<Candidate> candidates, std::size_t width) {
  const RangeMap map(candidates);
  std::string text;
  for (std::size_t a = 0; a < width; ++a) {
    const auto index = map.at(a);
    text += index ? candidates[*index].symbol.name[0] : '.';
  }
  return text;
}

TEST(RangeMap, GapsBelongToNobody) {
  EXPECT_EQ(drawn({function("a", 2, 3), function("b", 6, 2)}, 10), "..aaa.bb..");
  EXPECT_EQ(drawn({}, 3), "...");
}

TEST(RangeMap, InnerSymbolsWin) {
  EXPECT_EQ(drawn({function("a", 0, 9), function("b", 2, 4), function("c", 3, 1)}, 10),
            "aabcbbaaa.");
}

TEST(RangeMap, OverlappingSymbolsEndWhereTheNextBegins) {
  EXPECT_EQ(drawn({function("a", 0, 5), function("b", 3, 5)}, 10), "aaabbbbb..");
  EXPECT_EQ(drawn({function("a", 0, 9), function("b", 2, 3), function("c", 4, 3)}, 10),
            "aabbcccaa.");
}

TEST(RangeMap, WithoutASizeUpToTheNextSymbolOrTheSectionsEnd) {
  EXPECT_EQ(drawn({function("a", 1, 0), function("b", 4, 2)}, 8), ".aaabb..");
  auto last = function("z", 5, 0);
  last.origin.section_end = 7;
  EXPECT_EQ(drawn({function("a", 1, 2), last}, 9), ".aa..zz..");
  last.origin.section_end = 3;  // lies
  EXPECT_EQ(drawn({function("a", 1, 2), last}, 9), ".aa......");
}

TEST(RangeMap, AMarkInsideAFunctionIsNoSymbol) {
  EXPECT_EQ(drawn({function("a", 0, 6), function("m", 3, 0), function("b", 6, 1)}, 8), "aaaaaab.");
}

TEST(RangeMap, FillsInTheExtent) {
  std::vector<Candidate> candidates = {function("a", 1, 0), function("b", 4, 2)};
  const RangeMap map(candidates);
  EXPECT_EQ(candidates[0].symbol.size, 3u);
}

TEST(RangeMap, AnAliasLendsItsSize) {
  auto chosen = function("b", 2, 0);
  auto other = function("_a", 2, 3);
  EXPECT_EQ(drawn({other, chosen}, 7), "..bbb..");
}

TEST(RangeMap, ReachesTheEndOfTheAddressSpace) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  std::vector<Candidate> candidates = {function("a", kEnd - 9, 100)};
  const RangeMap map(candidates);
  EXPECT_TRUE(map.at(kEnd - 1));
  EXPECT_FALSE(map.at(kEnd - 10));
}

TEST(BetterName, Order) {
  const auto make = [](std::string_view name, SymbolKind kind, bool global, bool weak) {
    return Candidate{.symbol = {.name = name, .kind = kind, .global = global, .weak = weak},
                     .origin = {}};
  };
  using enum SymbolKind;
  const Candidate order[] = {make("longer_write@plt", plt, false, false),
                             make("write", function, true, false),
                             make("write", function, true, true),
                             make("longer_write", function, true, true),
                             make("_write", function, true, false),
                             make("__write", function, true, false),
                             make("a", function, false, false),
                             make("_a", function, false, false),
                             make("a", label, true, false)};
  for (std::size_t i = 0; i < std::size(order); ++i) {
    for (std::size_t j = 0; j < std::size(order); ++j) {
      EXPECT_EQ(better_name(order[i], order[j]), i < j) << i << ' ' << j;
    }
  }
}

// Of the symbols that cover an address, the one that starts last, found by looking at all.
TEST(RangeMap, AgreesWithLookingAtEverySymbol) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Candidate> candidates;
    std::vector<std::uint64_t> starts;
    for (std::uint64_t a = 0; a < 60; ++a) {
      if (random() % 3 == 0) starts.push_back(a);
    }
    for (const auto s : starts) candidates.push_back(function("f", s, 1 + random() % 20));
    const RangeMap map(candidates);
    for (std::uint64_t a = 0; a < 90; ++a) {
      std::optional<std::size_t> want;
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        const auto& s = candidates[i].symbol;
        if (a - s.start < s.size) want = i;
      }
      ASSERT_EQ(map.at(a), want) << round << ' ' << a;
    }
  }
}

}  // namespace
}  // namespace hodo::symbol
