// When an address came to belong to another file.
#include "code/replaced_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hodo::session {
namespace {

using perfdata::Mapping;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr perfdata::TimeConversion kTicks{.shift = 0, .mult = 1, .zero = 0, .valid = true};

// Of file `file` from its offset 0 on.
Mapping file(std::uint32_t file, std::uint64_t address, std::uint64_t size, std::uint64_t from,
             std::uint64_t until = perfdata::kForever) {
  return {.address = address, .size = size, .from = from, .until = until, .file = file};
}

const std::vector<perfdata::File>& files() {
  static const auto kFiles = [] {
    std::vector<perfdata::File> out;
    for (const char* path : {"/bin/zero", "/lib/one.so", "//anon", "[heap]", "/dev/zero (deleted)"})
      out.push_back({.path = path, .build_id = {}});
    return out;
  }();
  return kFiles;
}
constexpr std::uint32_t kAnon = 2, kHeap = 3, kShared = 4;

std::vector<std::uint64_t> times(const std::vector<Mapping>& mappings) {
  return replacements(mappings, files(), kTicks).files;
}

std::vector<std::uint64_t> renamed(const std::vector<Mapping>& mappings) {
  return replacements(mappings, files(), kTicks).names;
}

Mapping kept(std::uint32_t file, std::uint64_t address, std::uint64_t size, std::uint64_t from,
             std::uint64_t until = perfdata::kForever) {
  return {.address = address,
          .size = size,
          .file_offset = address - 0x1000,
          .from = from,
          .until = until,
          .file = file,
          .kept = 0};
}

TEST(ReplacedFiles, AreNoneWhereFilesLieBesideEachOther) {
  EXPECT_THAT(times({file(0, 0x1000, 0x1000, 5), file(1, 0x2000, 0x1000, 6)}), IsEmpty());
  EXPECT_THAT(times({file(0, 0x1000, 0x1000, 5), file(0, 0x1000, 0x1000, 6)}), IsEmpty());
}

TEST(ReplacedFiles, CountFromWhenTheNewOneIsMapped) {
  EXPECT_THAT(times({file(0, 0x1000, 0x3000, 5), file(1, 0x2000, 0x1000, 8)}), ElementsAre(8));
  EXPECT_THAT(
      times({file(0, 0x1000, 0x3000, 5), file(1, 0x2000, 0x1000, 8), file(0, 0x1000, 0x3000, 9)}),
      ElementsAre(8, 9));
  Mapping later_part = file(0, 0x1000, 0x1000, 6);
  later_part.file_offset = 0x4000;
  EXPECT_THAT(times({file(0, 0x1000, 0x1000, 5), later_part}), ElementsAre(6));
}

TEST(ReplacedFiles, CountFromTheExecThatEndedTheOldOnes) {
  EXPECT_THAT(times({file(0, 0x1000, 0x1000, 5, 20), file(2, 0x8000, 0x1000, 5, 20),
                     file(1, 0x1000, 0x1000, 22), file(2, 0x8000, 0x1000, 23)}),
              ElementsAre(20));
}

TEST(ReplacedFiles, LeaveOutWhatIsNoFile) {
  Mapping kept = file(0, 0x1000, 0x1000, 6);
  kept.kept = 3;
  Mapping anonymous = file(perfdata::kNone, 0x1000, 0x1000, 7);
  EXPECT_THAT(times({file(0, 0x1000, 0x2000, 5), kept, anonymous}), IsEmpty());
}

TEST(ReplacedFiles, MayReachTheEndOfTheAddresses) {
  const std::uint64_t high = ~std::uint64_t{0} - 0xfff;
  EXPECT_THAT(times({file(0, high, 0x1000, 5), file(1, high, ~std::uint64_t{0}, 6)}),
              ElementsAre(6));
}

TEST(ReplacedFiles, AreNotKnownWithoutAClock) {
  const auto found = replacements({file(0, 0x1000, 0x1000, 5), file(1, 0x1000, 0x1000, 6)}, files(),
                                  {.valid = false});
  EXPECT_THAT(found.files, IsEmpty());
  EXPECT_THAT(found.names, IsEmpty());
}

// Code that was changed cuts what it lies in.
TEST(ReplacedFiles, CountFromWhereTheNewOneIsMappedAlsoOverChangedCode) {
  Mapping rest = file(0, 0x1900, 0x700, 6, 9);
  rest.file_offset = 0x900;
  EXPECT_THAT(times({file(0, 0x1000, 0x1000, 5, 6), file(0, 0x1000, 0x800, 6, 9), rest,
                     kept(0, 0x1800, 0x100, 6, 9), file(1, 0x1000, 0x1000, 9)}),
              ElementsAre(9));
}

TEST(RenamedCode, IsNoneOfWhatIsMappedWhereNothingWas) {
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5), file(1, 0x4000, 0x1000, 6),
                       file(kHeap, 0x8000, 0x1000, 7)}),
              IsEmpty());
}

TEST(RenamedCode, IsWhatGaveWayToSomethingElse) {
  EXPECT_THAT(renamed({file(0, 0x1000, 0x3000, 5), file(1, 0x2000, 0x1000, 8)}), ElementsAre(8));
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5), file(kAnon, 0x1000, 0x1000, 7)}),
              ElementsAre(7));
  EXPECT_THAT(renamed({file(kShared, 0x1000, 0x2000, 5), file(kShared, 0x2000, 0x1000, 7)}),
              ElementsAre(7));
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5, 6), file(1, 0x1000, 0x1000, 8)}), ElementsAre(6));
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5, 6), file(0, 0x1000, 0x1000, 8)}), IsEmpty());
}

// That was mapped at the same time, and of whose mapping nothing is left.
TEST(RenamedCode, IsWhatGaveWayToAFileThatWasKept) {
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5, 6), kept(1, 0x1000, 0x1000, 8)}), ElementsAre(6));
}

TEST(RenamedCode, IsWhatGaveWayToNothing) {
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5, 6), file(1, 0x4000, 0x1000, 5, 7)}),
              ElementsAre(6, 7));
}

// The address alone tells one byte of it from another.
TEST(RenamedCode, IsNoneOfMemoryThatIsMappedAnewAsMemory) {
  EXPECT_THAT(renamed({file(kAnon, 0x1000, 0x2000, 5), file(kAnon, 0x2000, 0x1000, 7),
                       file(perfdata::kNone, 0x1000, 0x3000, 8)}),
              IsEmpty());
  EXPECT_THAT(renamed({file(kAnon, 0x1000, 0x2000, 5), file(kHeap, 0x2000, 0x1000, 7)}),
              ElementsAre(7));
}

// What it cuts goes on beside it.
TEST(RenamedCode, IsNoneOfCodeThatWasChanged) {
  Mapping rest = file(0, 0x1900, 0x700, 6);
  rest.file_offset = 0x900;
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5, 6), file(0, 0x1000, 0x800, 6), rest,
                       kept(0, 0x1800, 0x100, 6, 9), kept(0, 0x1800, 0x200, 9)}),
              IsEmpty());
  const auto made = [](std::uint64_t size, std::uint64_t from, std::uint64_t until) {
    return kept(perfdata::kNone, 0x1000, size, from, until);
  };
  EXPECT_THAT(renamed({file(kAnon, 0x1000, 0x1000, 5), made(0x100, 6, 7), made(0x80, 7, 9)}),
              ElementsAre(7, 9));
  EXPECT_THAT(renamed({file(kAnon, 0x1000, 0x1000, 5), made(0x100, 6, 7),
                       made(0x200, 7, perfdata::kForever)}),
              IsEmpty());
  EXPECT_THAT(renamed({file(0, 0x1000, 0x1000, 5, 6), kept(0, 0x1000, 0x1000, 6, 9),
                       file(1, 0x1000, 0x1000, 9)}),
              ElementsAre(9));
}

TEST(RenamedCode, KeepsItsNameWhereChangedCodeReachesOverItsEnds) {
  const auto with = [](Mapping last) {
    return renamed({file(0, 0x1000, 0x1000, 5), file(1, 0x3000, 0x1000, 5),
                    kept(perfdata::kNone, 0x1800, 0x2000, 6), last});
  };
  EXPECT_THAT(with(file(0, 0x1000, 0x1000, 8)), IsEmpty());
  Mapping behind = file(1, 0x3000, 0x1000, 8);
  EXPECT_THAT(with(behind), IsEmpty());
  EXPECT_THAT(with(file(kAnon, 0x2000, 0x1000, 8)), ElementsAre(8));
  EXPECT_THAT(with(file(1, 0x2000, 0x1000, 8)), ElementsAre(8));
}

}  // namespace
}  // namespace hodo::session
