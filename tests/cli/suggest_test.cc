#include "suggest.h"

#include <gtest/gtest.h>

#include "hodo/base/edit_distance.h"

namespace hodo::cli {
namespace {

const std::vector<std::string> kCommands{"record", "report", "branches", "packets", "stats"};

TEST(EditDistance, CountsSingleCharacterEdits) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("reprot", "report"), 1u);  // a swap is one slip of the fingers
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  EXPECT_EQ(edit_distance("abcd", "badc"), 2u);
}

TEST(NearestWord, FindsTyposAndBeginnings) {
  EXPECT_EQ(nearest_word("brnaches", kCommands), "branches");
  EXPECT_EQ(nearest_word("packet", kCommands), "packets");
  EXPECT_EQ(nearest_word("rec", kCommands), "record");
  EXPECT_EQ(nearest_word("brnch", kCommands), "branches");
  EXPECT_EQ(nearest_word("hcnarb", kCommands), "");
  EXPECT_EQ(nearest_word("statistics", kCommands), "");
  EXPECT_EQ(nearest_word("xyzzy", kCommands), "");
  EXPECT_EQ(nearest_word(std::string(100'000, 'a'), kCommands), "");
}

}  // namespace
}  // namespace hodo::cli
