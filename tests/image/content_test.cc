#include "hodo/image/content.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "temp_file.h"

namespace hodo::image {
namespace {

using test::Bytes;
using test::pattern;
using test::TempFile;
using testing::ElementsAreArray;
using testing::HasSubstr;

TEST(ContentStore, GivesAFilesBytesCutAtItsEnd) {
  const Bytes bytes = pattern(200000);
  const TempFile file(bytes);
  ContentStore store;
  const auto all = store.file(file.path());
  ASSERT_TRUE(all);
  EXPECT_THAT(all->bytes(), ElementsAreArray(bytes));
  const auto part = store.file(file.path(), 199990, 4096);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->length, 10u);
  EXPECT_EQ(part->bytes()[0], bytes[199990]);
  EXPECT_EQ(store.file(file.path(), 200000, 1)->length, 0u);
  EXPECT_EQ(store.file(file.path(), ~std::uint64_t{0}, 1)->length, 0u);
}

TEST(ContentStore, ReadsOnlyWhatIsAskedFor) {
  const TempFile file(pattern(1 << 20));
  ContentStore store(200000);  // the whole file would not fit
  EXPECT_TRUE(store.file(file.path(), 500000, 1000));
  EXPECT_FALSE(store.file(file.path()));
}

TEST(ContentStore, ReadsNothingTwice) {
  const TempFile file(pattern(100000));
  ContentStore store(150000);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(store.file(file.path()));
}

TEST(ContentStore, TheSameFileIsTheSameContent) {
  const TempFile file(pattern(100));
  ContentStore store;
  const auto a = store.file(file.path(), 0, 50);
  const auto b = store.file(file.path(), 20, 50);
  EXPECT_EQ(a->content->id(), b->content->id());
  EXPECT_NE(a->content->id(), 0u);
}

TEST(ContentStore, ARewrittenFileIsAnotherContentAndTheOldOneStays) {
  const TempFile file(pattern(100, 1));
  ContentStore store;
  const auto before = store.file(file.path());
  file.write(pattern(101, 2));
  const auto after = store.file(file.path());
  EXPECT_NE(before->content->id(), after->content->id());
  EXPECT_THAT(before->bytes(), ElementsAreArray(pattern(100, 1)));
  EXPECT_THAT(after->bytes(), ElementsAreArray(pattern(101, 2)));
}

TEST(ContentStore, AFileThatShrinksDoesNoHarm) {
  const TempFile file(pattern(1 << 20));
  ContentStore store;
  const auto whole = store.file(file.path());
  file.shrink(10);
  EXPECT_EQ(whole->bytes()[(1 << 20) - 1], pattern(1 << 20).back());
}

constexpr std::size_t kLong = 4 << 20;  // of which the rest is read later

TEST(ContentStore, ReadsOfLongRangesWhatSomebodyLooksAt) {
  const Bytes bytes = pattern(kLong);
  const TempFile file(bytes);
  ContentStore store(1 << 20);  // the whole file would not fit
  const auto slice = store.file(file.path(), 100, kLong);
  ASSERT_TRUE(slice);
  ASSERT_EQ(slice->length, kLong - 100);
  for (const std::uint64_t at :
       {0u, 16283u, 16284u, 65535u, 65536u, 3000000u, unsigned{kLong} - 101}) {
    const auto part = slice->around(at);
    ASSERT_LE(part.first, at);
    const std::uint64_t end = part.first + part.bytes.size();
    EXPECT_GE(end, std::min(at + Slice::kAhead, slice->length));
    EXPECT_THAT(part.bytes,
                ElementsAreArray(std::span(bytes).subspan(100 + part.first, end - part.first)));
  }
  EXPECT_EQ(slice->content->trouble(), "");
  EXPECT_TRUE(slice->bytes().empty());
  EXPECT_THAT(slice->content->trouble(), HasSubstr("larger than the limit"));
}

TEST(ContentStore, WhatIsReadLaterIsNotOfAFileThatWasWrittenMeanwhile) {
  const TempFile file(pattern(kLong, 1));
  ContentStore store;
  const auto slice = store.file(file.path());
  ASSERT_EQ(slice->around(0).bytes[7], pattern(8, 1)[7]);
  file.write(pattern(kLong, 2));
  std::filesystem::last_write_time(
      file.path(), std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  EXPECT_TRUE(slice->around(kLong / 2).bytes.empty());
  EXPECT_THAT(slice->content->trouble(), HasSubstr("was written to"));
  EXPECT_EQ(slice->around(0).bytes[7], pattern(8, 1)[7]);
}

TEST(ContentStore, WhatIsReadLaterMayHaveLostItsNameButNotItsBytes) {
  const TempFile gone(pattern(kLong)), shrunk(pattern(kLong));
  ContentStore store;
  const auto of_gone = store.file(gone.path());
  const auto of_shrunk = store.file(shrunk.path());
  std::filesystem::remove(gone.path());
  shrunk.shrink(10);
  EXPECT_THAT(of_gone->bytes(), ElementsAreArray(pattern(kLong)));
  EXPECT_TRUE(of_shrunk->around(kLong / 2).bytes.empty());
  EXPECT_THAT(of_shrunk->content->trouble(), HasSubstr("became shorter"));
}

TEST(ContentStore, DoesNotKeepAnyNumberOfFilesOpen) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = open_files();
  ContentStore store;
  std::vector<std::unique_ptr<TempFile>> files;
  for (std::size_t i = 0; i < 100; ++i) {
    files.push_back(std::make_unique<TempFile>(pattern(10)));
    std::filesystem::resize_file(files.back()->path(), (2 << 20) + 1);
    const auto slice = store.file(files.back()->path());
    ASSERT_TRUE(slice);
    EXPECT_EQ(slice->around(3).bytes[3], pattern(10)[3]);
  }
  EXPECT_LE(open_files() - before, 64);
}

TEST(ContentStore, EqualBytesAreTheSameContent) {
  ContentStore store;
  const auto a = store.memory(pattern(10, 1));
  const auto b = store.memory(pattern(10, 1));
  const auto c = store.memory(pattern(10, 2));
  const auto shorter = store.memory(pattern(9, 1));
  EXPECT_EQ(a->content->id(), b->content->id());
  EXPECT_NE(a->content->id(), c->content->id());
  EXPECT_NE(a->content->id(), shorter->content->id());
  EXPECT_EQ(store.memory({})->length, 0u);
}

TEST(ContentStore, IdsAreUniqueAcrossStores) {
  ContentStore one, two;
  EXPECT_NE(one.memory(pattern(10))->content->id(), two.memory(pattern(10))->content->id());
}

TEST(ContentStore, StopsAtItsLimit) {
  ContentStore store(2000);
  EXPECT_TRUE(store.memory(pattern(1000)));
  const auto more = store.memory(pattern(1000, 3));
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, ErrorCode::no_space);
  EXPECT_TRUE(store.memory(pattern(1000))) << "known bytes cost nothing";
}

TEST(ContentStore, ManySmallContentsAreNoManyMappings) {
  ContentStore store;
  for (std::uint32_t i = 0; i < 100000; ++i) {  // the kernel allows 65530 mappings
    const std::uint8_t bytes[4] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8),
                                   static_cast<std::uint8_t>(i >> 16), 0};
    ASSERT_TRUE(store.memory(bytes));
  }
}

TEST(ContentStore, SaysWhatIsWrongWithAFile) {
  ContentStore store;
  const auto missing = store.file("/nonexistent/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("/nonexistent/file"));
  EXPECT_EQ(store.file("/").error().code, ErrorCode::unsupported);
  EXPECT_EQ(store.file("/dev/zero").error().code, ErrorCode::unsupported);
  EXPECT_EQ(store.file("/etc/passwd/x").error().code, ErrorCode::not_found);
}

TEST(ContentStore, AFifoDoesNotBlock) {
  const std::string path = testing::TempDir() + "hodo-fifo-" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  ContentStore store;
  EXPECT_EQ(store.file(path).error().code, ErrorCode::unsupported);
  ::unlink(path.c_str());
}

TEST(ContentStore, ASparseFileOfAbsurdSizeIsRefused) {
  const TempFile file(pattern(10));
  std::filesystem::resize_file(file.path(), std::uint64_t{1} << 41);
  ContentStore store;
  EXPECT_EQ(store.file(file.path(), 0, 10).error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace hodo::image
