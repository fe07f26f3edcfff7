// Functions that were found once are found again without looking.
#include "kept_functions.h"

#include <gtest/gtest.h>

#include <limits>

namespace hodo::symbol {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

class OneThing final : public LineStore {
 public:
  std::optional<Bytes> load(std::span<const std::uint8_t> key) override {
    return Bytes(key.begin(), key.end()) == of ? kept : std::nullopt;
  }
  void store(std::span<const std::uint8_t> key, std::span<const std::uint8_t> bytes) override {
    of.assign(key.begin(), key.end());
    kept.emplace(bytes.begin(), bytes.end());
  }
  Bytes of;
  std::optional<Bytes> kept;
};

const std::vector<SyntheticFunction> kFunctions = {
    {.start = 0, .size = 0, .section_end = 0x100},
    {.start = 0x40, .size = 0x20, .section_end = 0x100},
    {.start = kLargest, .size = 0, .section_end = kLargest}};

bool same(const std::vector<SyntheticFunction>& a, const std::vector<SyntheticFunction>& b) {
  return std::ranges::equal(a, b, [](const SyntheticFunction& x, const SyntheticFunction& y) {
    return x.start == y.start && x.size == y.size && x.section_end == y.section_end;
  });
}

class KeptFunctions : public testing::Test {
 protected:
  std::vector<SyntheticFunction> ask() {
    return kept_functions(
        store_, [this] { return key_; },
        [this] {
          ++looked_;
          return kFunctions;
        });
  }
  OneThing store_;
  FilesKey key_{.bytes = {1, 2, 3}};
  int looked_ = 0;
};

TEST_F(KeptFunctions, AreLookedForOnce) {
  EXPECT_TRUE(same(ask(), kFunctions));
  EXPECT_TRUE(same(ask(), kFunctions));
  EXPECT_EQ(looked_, 1);
  key_.bytes[2] = 4;
  EXPECT_TRUE(same(ask(), kFunctions));
  EXPECT_EQ(looked_, 2) << "another file";
}

TEST_F(KeptFunctions, OfAFileThatWasJustWrittenAreNotKept) {
  key_.settled = false;
  ask();
  EXPECT_FALSE(store_.kept);
}

TEST_F(KeptFunctions, ThatAreDamagedAreLookedForAnew) {
  ask();
  store_.kept->pop_back();
  EXPECT_TRUE(same(ask(), kFunctions));
  EXPECT_EQ(looked_, 2);
}

// By start, each once, and none goes on behind the last address.
TEST_F(KeptFunctions, BytesThatLie) {
  const Bytes whole = write_functions(kFunctions);
  ASSERT_TRUE(read_functions(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(read_functions(std::span(whole).first(size))) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes bad = whole;
      bad[at] = static_cast<std::uint8_t>(value);
      const auto read = read_functions(bad);
      if (!read) continue;
      for (std::size_t i = 0; i < read->size(); ++i) {
        EXPECT_LE((*read)[i].size, ~(*read)[i].start);
        if (i > 0) {
          EXPECT_LT((*read)[i - 1].start, (*read)[i].start);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hodo::symbol
