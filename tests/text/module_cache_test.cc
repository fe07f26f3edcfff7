// Analyses that are kept: the same as fresh ones, and nobody else's.
#include "hodo/text/module_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "hodo/text/module.h"
#include "hodo/text/parts_file.h"
#include "sha256.h"

namespace hodo::text {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibc = "/lib/x86_64-linux-gnu/libc.so.6";
constexpr std::array<std::uint8_t, 4> kMaker = {1, 2, 3, 4};
using Bytes = std::vector<std::uint8_t>;

std::string hex(const Digest& digest) {
  std::string out;
  for (const std::uint8_t byte : digest) {
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789abcdef"[byte & 15];
  }
  return out;
}

// In parts of `step` bytes.
std::string sha256(const std::string& text, std::size_t step) {
  Sha256 sum;
  for (std::size_t at = 0; at < text.size(); at += step) {
    const auto part = text.substr(at, step);
    sum.add({reinterpret_cast<const std::uint8_t*>(part.data()), part.size()});
  }
  return hex(sum.finish());
}

// FIPS 180-4's examples.
TEST(Sha256, HasTheKnownSums) {
  EXPECT_EQ(sha256("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc", 2), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a'), 1000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

class Cache : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hodo-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    folder_ = top_ / "modules";
  }
  void TearDown() override { fs::remove_all(top_); }

  std::optional<ModuleCache> open(std::span<const std::uint8_t> maker = kMaker) const {
    return ModuleCache::in(folder_.string(), maker);
  }
  fs::path only_file() const {
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
    return *fs::directory_iterator(folder_);
  }

  fs::path top_, folder_;
  const ModuleCache::Key key_ = {7};
  const Bytes analysis_ = Bytes(1000, 42);
};

TEST_F(Cache, GivesBackWhatItKept) {
  const auto cache = open();
  ASSERT_TRUE(cache);
  EXPECT_EQ(cache->load(key_), std::nullopt);
  cache->store(key_, analysis_);
  EXPECT_EQ(cache->load(key_), analysis_);
  EXPECT_EQ(cache->load({8}), std::nullopt);
  EXPECT_EQ(open()->load(key_), analysis_) << "opened again";
  EXPECT_EQ(fs::status(only_file()).permissions() & fs::perms::all,
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Cache, OfAnotherBuildIsNotUsed) {
  open()->store(key_, analysis_);
  EXPECT_EQ(open(std::array<std::uint8_t, 1>{9})->load(key_), std::nullopt);
}

TEST_F(Cache, ThatOthersMayWriteToIsNotUsed) {
  ASSERT_TRUE(open());
  for (const mode_t mode : {0720, 0702, 0777}) {
    ASSERT_EQ(::chmod(folder_.c_str(), mode), 0);
    EXPECT_FALSE(open()) << std::oct << mode;
  }
}

TEST_F(Cache, ThatIsALinkIsNotUsed) {
  fs::create_directory(top_ / "elsewhere");
  fs::create_directory_symlink(top_ / "elsewhere", folder_);
  EXPECT_FALSE(open());
}

TEST_F(Cache, ThatBelongsToAnotherUserIsNotUsed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  ASSERT_TRUE(open());
  ASSERT_EQ(::chown(folder_.c_str(), 65534, 65534), 0);
  EXPECT_FALSE(open());
}

TEST_F(Cache, DoesNotReadWhatOthersMayHavePutThere) {
  const auto cache = open();
  cache->store(key_, analysis_);
  const fs::path file = only_file();
  ASSERT_EQ(::chmod(file.c_str(), 0622), 0);
  EXPECT_EQ(cache->load(key_), std::nullopt) << "others may write to it";
  fs::rename(file, top_ / "moved");
  fs::permissions(top_ / "moved", fs::perms::owner_all);
  fs::create_symlink(top_ / "moved", file);
  EXPECT_EQ(cache->load(key_), std::nullopt) << "a link";
  fs::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(cache->load(key_), std::nullopt) << "a pipe, which nobody writes to";
}

TEST_F(Cache, NoticesDamage) {
  const Bytes good = wrap(analysis_, key_);
  ASSERT_EQ(unwrap(good, key_), analysis_);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_EQ(unwrap(std::span(good).first(size), key_), std::nullopt) << size << " bytes";
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] ^= 0x10;
    const auto read = unwrap(bad, key_);
    EXPECT_TRUE(!read || *read == analysis_) << "byte " << at;
  }
}

TEST_F(Cache, TakesNoMoreMemoryThanAFrameSays) {
  Bytes lies = wrap(analysis_, key_);
  const std::uint64_t huge = ModuleCache::kLargest;
  constexpr std::size_t kSizeAt = 8 + 32;
  std::copy_n(reinterpret_cast<const std::uint8_t*>(&huge), 8, lies.begin() + kSizeAt);
  EXPECT_EQ(unwrap(lies, key_), std::nullopt);
}

TEST_F(Cache, GivesBackParts) {
  const auto cache = open();
  const Bytes other(1000, 7);
  EXPECT_EQ(cache->open_parts(key_), nullptr);
  const auto writer = cache->write_parts(key_);
  const auto first = writer->add(analysis_);
  const auto second = writer->add(other);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(cache->open_parts(key_), nullptr) << "it is not finished";
  ASSERT_TRUE(writer->finish(std::span(analysis_).first(3)));
  EXPECT_EQ(cache->open_parts({8}), nullptr);
  const auto reader = cache->open_parts(key_);
  ASSERT_NE(reader, nullptr);
  EXPECT_TRUE(std::ranges::equal(reader->head(), std::span(analysis_).first(3)));
  EXPECT_EQ(reader->part(*second), other);
  EXPECT_EQ(reader->part(*first), analysis_);
  EXPECT_EQ(cache->load(key_), std::nullopt);
  cache->forget(key_);
  EXPECT_EQ(cache->open_parts(key_), nullptr);
}

TEST_F(Cache, HasNothingOfPartsThatWereNotFinished) {
  const auto cache = open();
  ASSERT_TRUE(cache->write_parts(key_)->add(analysis_));
  EXPECT_EQ(cache->open_parts(key_), nullptr);
  EXPECT_TRUE(fs::is_empty(folder_));
}

// Where a part is, is input, too.
TEST_F(Cache, RefusesPartsThatAreNotThere) {
  const auto cache = open();
  const auto writer = cache->write_parts(key_);
  const auto part = writer->add(analysis_);
  ASSERT_TRUE(writer->finish({}));
  const auto reader = cache->open_parts(key_);
  ASSERT_NE(reader, nullptr);
  const std::uint64_t end = reader->bytes();
  const std::uint64_t none = ~std::uint64_t{0};
  for (const FilePart& bad :
       {FilePart{part->offset, part->packed, part->size + 1},
        FilePart{part->offset, part->packed - 1, part->size},
        FilePart{part->offset + 1, part->packed, part->size},
        FilePart{part->offset, part->packed, none}, FilePart{part->offset, none, part->size},
        FilePart{none, part->packed, part->size}, FilePart{end, 0, 0}, FilePart{end + 1, 0, 0}}) {
    EXPECT_EQ(reader->part(bad), std::nullopt)
        << bad.offset << " " << bad.packed << " " << bad.size;
  }
}

// A file with a hole may be larger than memory.
TEST_F(Cache, TakesNoMoreMemoryForAPartThanItsFrameCanHave) {
  const auto cache = open();
  const auto writer = cache->write_parts(key_);
  const auto part = writer->add(analysis_);
  ASSERT_TRUE(writer->finish({}));
  fs::resize_file(only_file(), std::uintmax_t{1} << 40);
  const std::uint64_t huge = std::uint64_t{1} << 39;
  EXPECT_EQ(cache->open_parts(key_)->part({part->offset, huge, part->size}), std::nullopt);
  constexpr std::streamoff kPackedSizeOfHeadAt = 8 + 32 + 8;
  std::fstream file(only_file(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(kPackedSizeOfHeadAt).write(reinterpret_cast<const char*>(&huge), sizeof huge);
  file.close();
  EXPECT_EQ(cache->open_parts(key_), nullptr);
}

class LimitedCache : public Cache {
 protected:
  // Which of the keys 0 to 9 are there when they were stored in turn and key 0 was asked for again
  // before each but the first.
  std::string kept(CacheLimits limits) {
    const auto cache = ModuleCache::in(folder_.string(), kMaker, limits);
    const auto key = [](int i) { return ModuleCache::Key{static_cast<std::uint8_t>(i)}; };
    for (int i = 0; i < 10; ++i) {
      cache->load(key(0));
      cache->store(key(i), std::span(analysis_).first(10));
      std::this_thread::sleep_for(
          std::chrono::milliseconds(20));  // more than a tick of the file system's
    }
    std::string out;
    for (int i = 0; i < 10; ++i) {
      if (cache->size_of(key(i)) != 0) out += std::to_string(i);
    }
    return out;
  }
  std::uint64_t size_of_one() {
    const auto cache = open();
    cache->store({}, std::span(analysis_).first(10));
    return cache->size_of({});
  }
};

TEST_F(LimitedCache, KeepsSoManyFilesOfThoseThatAreAskedFor) {
  EXPECT_EQ(kept({.files = 3}), "089");
}

TEST_F(LimitedCache, KeepsSoManyBytes) { EXPECT_EQ(kept({.bytes = 4 * size_of_one()}), "0789"); }

TEST_F(LimitedCache, KeepsTheLastWhateverItsSize) { EXPECT_EQ(kept({.bytes = 1}), "9"); }

std::shared_ptr<const Module> analyze(const std::string& path, const ModuleCache* cache) {
  auto module = Module::analyze(path, cache);
  if (!module) ADD_FAILURE() << module.error().message;
  return module.value_or(nullptr);
}

void expect_same(const Module& a, const Module& b) {
  const auto same = [](const auto& x, const auto& y, auto fields) {
    return std::ranges::equal(x, y, {}, fields, fields);
  };
  EXPECT_EQ(a.complete(), b.complete());
  EXPECT_TRUE(same(a.functions(), b.functions(),
                   [](const Function& f) { return std::pair(f.begin, f.end); }));
  EXPECT_TRUE(same(a.landings(), b.landings(),
                   [](const LandingPad& l) { return std::tuple(l.begin, l.end, l.pad); }));
  EXPECT_TRUE(
      same(a.slots(), b.slots(), [](const Slot& s) { return std::pair(s.address, s.name); }));
  std::size_t different = 0;
  for (const image::Segment& s : a.elf().segments) {
    if (!s.executable) continue;
    for (std::uint64_t at = s.vaddr; at < s.vaddr + s.file_size; ++at) {
      const Slot* one = a.slot_of(at);
      const Slot* other = b.slot_of(at);
      const bool slots =
          (one == nullptr) == (other == nullptr) && (one == nullptr || one->name == other->name);
      different += a.marks(at) != b.marks(at) || !slots;
    }
  }
  EXPECT_EQ(different, 0u) << "bytes with other marks or slots";
  for (std::size_t i = 1; i < a.functions().size(); ++i) {
    const std::uint64_t one = a.functions()[i - 1].begin;
    const std::uint64_t other = a.functions()[i].begin;
    ASSERT_EQ(a.same_function(one, other), b.same_function(one, other));
  }
}

TEST_F(Cache, HasAnAnalysisAsItWas) {
  const auto cache = open();
  const auto fresh = analyze(kLibc, nullptr);
  const auto stored = analyze(kLibc, &*cache);
  const auto kept = analyze(kLibc, &*cache);
  only_file();
  ASSERT_TRUE(fresh && stored && kept);
  expect_same(*fresh, *stored);
  expect_same(*fresh, *kept);
}

// What a build-id says of a file is nothing that its maker could not have made up.
TEST_F(Cache, KnowsAFileByItsContent) {
  const auto cache = open();
  const auto good = analyze(kLibc, &*cache);
  const std::string changed = (top_ / "libc.so.6").string();
  fs::copy_file(kLibc, changed);
  fs::permissions(changed, fs::perms::owner_all);
  const Function& first = good->functions()[100];
  const auto offset = good->elf().offset_of(first.begin);
  ASSERT_TRUE(offset);
  std::fstream file(changed, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(*offset));
  file.write("\xff\xd0\xff\xd0", 4);  // call rax, twice
  file.close();
  const auto other = analyze(changed, &*cache);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->elf().build_id, good->elf().build_id);
  EXPECT_TRUE(other->has(first.begin + 2, kReturnSite));
}

// Whatever a file of the cache holds, there is an analysis.
TEST_F(Cache, WithAnotherAnalysisUnderTheKeyIsNotBelieved) {
  const auto cache = open();
  const auto fresh = analyze(kLibc, &*cache);
  const fs::path file = only_file();
  std::ifstream in(file, std::ios::binary);
  const Bytes whole(std::istreambuf_iterator<char>(in), {});
  ModuleCache::Key key{};
  std::copy_n(whole.begin() + 8, key.size(), key.begin());
  Bytes analysis = *unwrap(whole, key);
  analysis.pop_back();
  const Bytes shorter = wrap(analysis, key);
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(shorter.data()),
             static_cast<std::streamsize>(shorter.size()));
  const auto again = analyze(kLibc, &*cache);
  ASSERT_TRUE(again);
  expect_same(*fresh, *again);
}

}  // namespace
}  // namespace hodo::text
