// The code bytes that have been reported.
#include "known_code.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hodo::plugin {
namespace {

using News = KnownCode::News;
using Bytes = std::vector<std::uint8_t>;

std::vector<std::pair<std::uint64_t, Bytes>> pieces(const KnownCode& code, std::uint64_t address,
                                                    std::uint64_t size) {
  std::vector<std::pair<std::uint64_t, Bytes>> out;
  for (const KnownCode::Piece& p : code.pieces(address, size)) {
    out.emplace_back(p.address, Bytes(p.bytes.begin(), p.bytes.end()));
  }
  std::ranges::sort(out);
  return out;
}

TEST(KnownCode, TellsNewFromChanged) {
  KnownCode code;
  EXPECT_EQ(code.learn(0x1000, Bytes{1, 2}), News::fresh);
  EXPECT_EQ(code.learn(0x1000, Bytes{1, 2}), News::none);
  EXPECT_EQ(code.learn(0x1001, Bytes{2, 3}), News::fresh);
  EXPECT_EQ(code.learn(0x1001, Bytes{9}), News::changed);
}

//   0xffe  0xfff | 0x1000      0x1002
//   1      2     | 3      -    5
TEST(KnownCode, GivesWhatItKnowsInPieces) {
  KnownCode code;
  code.learn(0xffe, Bytes{1, 2, 3});
  code.learn(0x1002, Bytes{5});
  const auto all = pieces(code, 0, 0x2000);
  const decltype(all) expected = {{0xffe, {1, 2}}, {0x1000, {3}}, {0x1002, {5}}};
  EXPECT_EQ(all, expected);
  const auto inner = pieces(code, 0xfff, 3);
  const decltype(inner) cut = {{0xfff, {2}}, {0x1000, {3}}};
  EXPECT_EQ(inner, cut);
  code.forget(0x1000, 0x1000);
  const auto left = pieces(code, 0, 0x2000);
  const decltype(left) first = {{0xffe, {1, 2}}};
  EXPECT_EQ(left, first);
}

}  // namespace
}  // namespace hodo::plugin
