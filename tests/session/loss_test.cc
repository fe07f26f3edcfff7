#include "hodo/session/loss.h"

#include <gtest/gtest.h>

namespace hodo::session {
namespace {

TEST(LossTally, AddsUpByCauseAndKeepsTheFirstPlaces) {
  LossTally tally;
  for (std::uint64_t i = 0; i < 2 * LossTally::kSites; ++i) {
    tally.add("overflow", {.offset = i}, 10);
  }
  tally.add(causes::kLostRecords, {}, 0, 7);
  auto lines = tally.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].cause, "overflow");
  EXPECT_EQ(lines[0].count, 2 * LossTally::kSites);
  EXPECT_EQ(lines[0].bytes, 20 * LossTally::kSites);
  ASSERT_EQ(lines[0].sites.size(), LossTally::kSites);
  EXPECT_EQ(lines[0].sites.back().offset, LossTally::kSites - 1);
  EXPECT_EQ(lines[1].count, 7u);
}

TEST(Remedy, EveryCauseHasOne) {
  for (int c = 0; c < flow::kLossCauses; ++c) {
    std::string_view cause = flow::name(static_cast<flow::LossCause>(c));
    EXPECT_FALSE(remedy(cause).empty()) << cause;
  }
  for (auto cause :
       {causes::kFileMissing, causes::kFileChanged, causes::kKernelCode, causes::kUnfinished,
        causes::kDamaged, causes::kAuxTruncated, causes::kLostRecords}) {
    EXPECT_FALSE(remedy(cause).empty()) << cause;
  }
  EXPECT_TRUE(remedy("nothing known").empty());
}

}  // namespace
}  // namespace hodo::session
