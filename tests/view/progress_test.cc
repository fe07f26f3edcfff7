#include "hodo/view/progress.h"

#include <gtest/gtest.h>

namespace hodo::view {
namespace {

using std::chrono::duration;

TEST(ProgressLine, SaysShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line("decoding", 25 << 20, 100 << 20, duration<double>(5)),
            "decoding 25%  5.0 MiB/s  15 s left");
  EXPECT_EQ(progress_line("decoding", 1 << 20, 200 << 20, duration<double>(1)),
            "decoding 0%  1.0 MiB/s  3 min 19 s left");
}

TEST(ProgressLine, WithoutATotalSaysOnlyWhatItKnows) {
  EXPECT_EQ(progress_line("decoding", 4 << 20, 0, duration<double>(2)),
            "decoding 4.0 MiB  2.0 MiB/s");
  EXPECT_EQ(progress_line("decoding", 0, 10, duration<double>(0)), "decoding 0 B  0 B/s");
}

}  // namespace
}  // namespace hodo::view
