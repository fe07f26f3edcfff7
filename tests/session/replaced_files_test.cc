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

std::vector<std::uint64_t> times(const std::vector<Mapping>& mappings) {
  return replacement_times(mappings, kTicks);
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
  EXPECT_THAT(times({file(0, 0x1000, 0x1000, 5, 20), file(7, 0x8000, 0x1000, 5, 20),
                     file(1, 0x1000, 0x1000, 22), file(7, 0x8000, 0x1000, 23)}),
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
  EXPECT_THAT(
      replacement_times({file(0, 0x1000, 0x1000, 5), file(1, 0x1000, 0x1000, 6)}, {.valid = false}),
      IsEmpty());
}

}  // namespace
}  // namespace hodo::session
