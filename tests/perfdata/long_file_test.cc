// Files longer than what goes through the page cache (see OutputFile).
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "output_file.h"
#include "temp_dir.h"

namespace hodo::perfdata {
namespace {

class LongFile : public testing::Test {
 protected:
  static constexpr std::uint64_t kOdd = 40'008;  // bytes of an append(); no part of a piece

  std::unique_ptr<OutputFile> create() {
    auto file = OutputFile::create(dir_.file("long"), false);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(*file);
  }
  // Bytes that tell where in the file they are.
  static std::vector<std::uint64_t> words(std::uint64_t offset, std::uint64_t bytes) {
    std::vector<std::uint64_t> out(bytes / sizeof(std::uint64_t));
    for (auto& word : out) word = std::exchange(offset, offset + sizeof(word));
    return out;
  }
  static Status append(OutputFile& file, std::uint64_t bytes) {
    const auto data = words(file.size(), bytes);
    const std::span block(reinterpret_cast<const std::uint8_t*>(data.data()), bytes);
    return file.append({&block, 1});
  }
  // How many bytes of the file, from its beginning, are as words() has them.
  std::uint64_t good_bytes() const {
    std::ifstream in(dir_.file("long"), std::ios::binary);
    std::vector<std::uint64_t> found(OutputFile::kPiece / sizeof(std::uint64_t));
    for (std::uint64_t at = 0;; at += OutputFile::kPiece) {
      in.read(reinterpret_cast<char*>(found.data()), OutputFile::kPiece);
      const auto got = static_cast<std::uint64_t>(in.gcount());
      if (got == 0) return at;
      if (std::memcmp(found.data(), words(at, got).data(), got) != 0) return at;
      if (got < OutputFile::kPiece) return at + got;
    }
  }

  TempDir dir_;
};

TEST_F(LongFile, HasWhatWasAppendedInOrder) {
  const auto file = create();
  int count = 0;
  while (file->size() < OutputFile::kCached + 8 * OutputFile::kPiece) {
    ASSERT_TRUE(append(*file, kOdd));
    // Flushes leave pieces that begin in the middle, before and after the cache's share.
    if (++count % 300 == 0) {
      ASSERT_TRUE(file->flush());
    }
  }
  ASSERT_TRUE(file->flush());
  EXPECT_EQ(std::filesystem::file_size(dir_.file("long")), file->size());
  EXPECT_EQ(good_bytes(), file->size());
  ASSERT_TRUE(file->close());
}

TEST_F(LongFile, IsReadableToTheLastFlush) {
  const auto file = create();
  while (file->size() < OutputFile::kCached + 3 * OutputFile::kPiece / 2) {
    ASSERT_TRUE(append(*file, kOdd));
  }
  ASSERT_TRUE(file->flush());
  const std::uint64_t flushed = file->size();
  ASSERT_TRUE(append(*file, kOdd));
  EXPECT_EQ(good_bytes(), flushed);
}

// Files of at most `bytes`, as on a disk that fills up.
class Limit {
 public:
  explicit Limit(std::uint64_t bytes) : old_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    rlimit now = before_;
    now.rlim_cur = bytes;
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }

 private:
  void (*old_)(int);
  rlimit before_{};
};

TEST_F(LongFile, EndsBehindAWholeAppendWhereTheDiskIsFull) {
  const auto file = create();
  Status status;
  {
    const Limit limit(OutputFile::kCached + 5 * OutputFile::kPiece / 2);
    while (status && file->size() < 2 * OutputFile::kCached) status = append(*file, kOdd);
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::no_space);
  EXPECT_EQ(file->size() % kOdd, 0u);
  EXPECT_GT(file->size(), OutputFile::kCached + OutputFile::kPiece);
  EXPECT_EQ(std::filesystem::file_size(dir_.file("long")), file->size());
  EXPECT_EQ(good_bytes(), file->size());
}

TEST_F(LongFile, KeepsAnAppendThatEndedWithWhatWasWritten) {
  const auto file = create();
  Status status;
  {
    const Limit limit(OutputFile::kCached + 5 * OutputFile::kPiece / 2);
    while (status && file->size() < 2 * OutputFile::kCached) {
      status = append(*file, OutputFile::kPiece);
    }
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::no_space);
  EXPECT_EQ(file->size(), OutputFile::kCached + 2 * OutputFile::kPiece);
  EXPECT_EQ(std::filesystem::file_size(dir_.file("long")), file->size());
  EXPECT_EQ(good_bytes(), file->size());
}

}  // namespace
}  // namespace hodo::perfdata
