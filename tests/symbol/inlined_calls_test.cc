// Calls that were inlined: where they are, by DWARF and as they are kept.
#include "inlined_calls.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fixture.h"
#include "shelf.h"

namespace hodo::symbol {
namespace {

using Bytes = std::vector<std::uint8_t>;

bool has(const InlinedCall& call, std::uint64_t vaddr) {
  return std::ranges::any_of(call.ranges, [vaddr](const InlinedCall::Range& range) {
    return vaddr >= range.begin && vaddr < range.end;
  });
}

bool same(const std::vector<InlinedCall>& a, const std::vector<InlinedCall>& b) {
  return std::ranges::equal(a, b, [](const InlinedCall& x, const InlinedCall& y) {
    return x.function == y.function && x.entries == y.entries &&
           std::ranges::equal(x.ranges, y.ranges,
                              [](const InlinedCall::Range& r, const InlinedCall::Range& s) {
                                return r.begin == s.begin && r.end == s.end;
                              });
  });
}

// What source() says of every address of the function around.
TEST(InlinedCalls, LieWhereTheirSourceIs) {
  const auto table = test::open(HODO_FIXTURE);
  const auto calls = table->inlined_calls("fixture::inner");
  ASSERT_EQ(calls.size(), 1u);
  const InlinedCall& call = calls.front();
  EXPECT_EQ(call.function, "_ZN7fixture5innerEi");
  for (const std::uint64_t entry : call.entries) EXPECT_TRUE(has(call, entry));
  EXPECT_TRUE(std::ranges::is_sorted(call.ranges, {}, &InlinedCall::Range::begin));
  const Symbol outer = table->named("fixture::outer").at(0);
  bool any_apart = false;
  for (auto a = outer.start; a < outer.start + outer.size; ++a) {
    const auto frames = table->source(a);
    ASSERT_FALSE(frames.empty());
    EXPECT_EQ(frames.front().inlined, has(call, a)) << std::hex << a;
    any_apart |= !frames.front().inlined;
  }
  EXPECT_TRUE(any_apart) << "some of it is the function's own";
}

TEST(InlinedCalls, AreFoundAsPeopleWriteThem) {
  const auto table = test::open(HODO_FIXTURE);
  EXPECT_EQ(table->inlined_calls("fixture::inner(int)").size(), 1u);
  EXPECT_TRUE(table->inlined_calls("fixture::outer").empty());
  EXPECT_TRUE(table->inlined_calls("").empty());
}

TEST(InlinedCalls, OfANameAreLookedForOnce) {
  const auto shelf = std::make_shared<test::Shelf>();
  const auto first = SymbolTable::open(HODO_FIXTURE, {}, shelf);
  ASSERT_TRUE(first);
  EXPECT_EQ((*first)->inlined_calls("fixture::inner").size(), 1u);
  ASSERT_EQ(shelf->stored, 1);
  for (auto& [key, bytes] : shelf->kept) {
    bytes = write_inlined_calls({{.function = "kept", .entries = {1}, .ranges = {{1, 2}}}});
  }
  const auto second = SymbolTable::open(HODO_FIXTURE, {}, shelf);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->inlined_calls("fixture::inner").at(0).function, "kept");
  EXPECT_TRUE((*second)->inlined_calls("fixture::outer").empty()) << "another name";
}

std::vector<InlinedCall> some_calls() {
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  return {{.function = "a", .entries = {0x12, 0x30}, .ranges = {{0x10, 0x20}, {0x30, 0x31}}},
          {.function = "", .ranges = {{0, 1}, {kLast - 1, kLast}}}};
}

TEST(InlinedCalls, AsBytes) {
  const auto read = read_inlined_calls(write_inlined_calls(some_calls()));
  ASSERT_TRUE(read);
  EXPECT_TRUE(same(*read, some_calls()));
}

// Pieces are apart and by address, and a call begins somewhere.
TEST(InlinedCalls, BytesThatLie) {
  const Bytes whole = write_inlined_calls(some_calls());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_inlined_calls(std::span(whole).first(size))) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes bad = whole;
      bad[at] = static_cast<std::uint8_t>(value);
      const auto read = read_inlined_calls(bad);
      if (!read) continue;
      for (const InlinedCall& call : *read) {
        EXPECT_FALSE(call.ranges.empty());
        EXPECT_TRUE(std::ranges::is_sorted(call.entries));
        std::uint64_t last = 0;
        for (const InlinedCall::Range& range : call.ranges) {
          EXPECT_GE(range.begin, last);
          EXPECT_GE(range.end, range.begin);
          last = range.end;
        }
      }
    }
  }
}

}  // namespace
}  // namespace hodo::symbol
