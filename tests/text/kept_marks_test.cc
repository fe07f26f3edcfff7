// Marks that are kept are those that were given, and what is read back is only what was kept.
#include "kept_marks.h"

#include <gtest/gtest.h>

#include <random>

namespace hodo::text {
namespace {

// Most without marks, some with the common ones, some with any.
std::vector<Marks> some_marks(std::size_t size) {
  std::mt19937 random(7);
  std::vector<Marks> out(size);
  for (Marks& marks : out) {
    const auto kind = random() % 8;
    if (kind < 3) marks = KeptMarks::kCommon;
    if (kind == 3) marks = static_cast<Marks>(random());
  }
  return out;
}

std::vector<KeptMarks::Row> rows_of(const KeptMarks& kept) {
  return {kept.rows().begin(), kept.rows().end()};
}
std::vector<Marks> rare_of(const KeptMarks& kept) {
  return {kept.rare().begin(), kept.rare().end()};
}

TEST(KeptMarks, AreWhatWasGiven) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
                                 std::size_t{1000}, std::size_t{4096}}) {
    const std::vector<Marks> marks = some_marks(size);
    const KeptMarks kept(marks);
    const auto again = KeptMarks::restore(size, rows_of(kept), rare_of(kept));
    ASSERT_TRUE(again) << size;
    for (std::size_t i = 0; i < size; ++i) {
      ASSERT_EQ(kept.at(i), marks[i]) << i << " of " << size;
      ASSERT_EQ(again->at(i), marks[i]) << i << " of " << size;
    }
  }
}

TEST(KeptMarks, OfNothing) {
  EXPECT_TRUE(KeptMarks::restore(0, {}, {}));
  EXPECT_FALSE(KeptMarks::restore(0, {{}}, {}));
}

TEST(KeptMarks, RestoreRefusesWhatWasNotKept) {
  constexpr std::size_t kSize = 200;
  const KeptMarks kept(some_marks(kSize));
  const auto refused = [&](std::size_t size, auto change) {
    auto rows = rows_of(kept);
    auto rare = rare_of(kept);
    change(rows, rare);
    return !KeptMarks::restore(size, std::move(rows), std::move(rare));
  };
  const auto nothing = [](auto&, auto&) {};
  EXPECT_FALSE(refused(kSize, nothing));
  EXPECT_TRUE(refused(kSize + 64, nothing));
  EXPECT_TRUE(refused(kSize - 64, nothing));
  EXPECT_TRUE(refused(kSize, [](auto&, auto& rare) { rare.pop_back(); }));
  EXPECT_TRUE(refused(kSize, [](auto&, auto& rare) { rare.push_back(1); }));
  EXPECT_TRUE(refused(kSize, [](auto& rows, auto&) { ++rows[2].before; }));
  EXPECT_TRUE(refused(kSize, [](auto& rows, auto&) { rows[1].rare = ~std::uint64_t{0}; }));
  EXPECT_TRUE(refused(kSize, [](auto& rows, auto&) { rows[3].some |= std::uint64_t{1} << 8; }))
      << "behind the text";
}

}  // namespace
}  // namespace hodo::text
