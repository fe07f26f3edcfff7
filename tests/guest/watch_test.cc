#include "hodo/guest/watch.h"

#include <gtest/gtest.h>

namespace hodo::guest {
namespace {

TEST(WatchList, WantsWhoIsNamed) {
  WatchList list;
  EXPECT_FALSE(list.wants(1, "init", 0x1000));
  ASSERT_TRUE(parse_watch("process=a-name-longer-than-15", list));
  ASSERT_TRUE(parse_watch("pid=7", list));
  ASSERT_TRUE(parse_watch("cr3=0x2a000", list));
  EXPECT_TRUE(list.wants(1, "a-name-longer-t", 0x1000));  // as the kernel cuts it
  EXPECT_FALSE(list.wants(1, "a-name-longer", 0x1000));
  EXPECT_TRUE(list.wants(7, "init", 0x1000));
  EXPECT_TRUE(list.wants(1, "init", 0x2a000));
  EXPECT_FALSE(list.wants(1, "init", 0x1000));
  ASSERT_TRUE(parse_watch("process=all", list));
  ASSERT_TRUE(parse_watch("children", list));
  EXPECT_TRUE(list.wants(1, "init", 0x1000));
}

TEST(WatchList, GoesThroughWordsAndBack) {
  WatchList list, again;
  list.everyone = true;
  list.names = {"sh", "a b,c"};
  list.pids = {1, 4194304};
  list.cr3s = {0xffffffff000};
  for (const auto& word : watch_words(list)) EXPECT_TRUE(parse_watch(word, again)) << word;
  EXPECT_TRUE(again.everyone);
  EXPECT_EQ(again.names, list.names);
  EXPECT_EQ(again.pids, list.pids);
  EXPECT_EQ(again.cr3s, list.cr3s);
}

TEST(WatchList, RefusesWordsThatNameNobody) {
  WatchList list;
  for (const char* word : {"", "process=", "pid=", "pid=0", "pid=-1", "pid=1x", "pid=4294967296",
                           "cr3=", "cr3=0", "cr3=0x", "cr3=12g", "cr3=1ffffffffffffffff", "x=1"}) {
    EXPECT_FALSE(parse_watch(word, list)) << word;
  }
}

}  // namespace
}  // namespace hodo::guest
