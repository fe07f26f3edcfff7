// How much memory may be locked for buffers.
#include "perf/perf_event_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "fake_sysfs.h"
#include "hodo/base/result.h"

namespace hodo::capture {
namespace {

constexpr std::size_t kKiB = 1024;

using ::testing::HasSubstr;

TEST(MemoryLimitsTest, ComeFromTheKernelsFiles) {
  FakeSystem system;
  system.write("kernel/perf_event_mlock_kb", "1000");
  EXPECT_EQ(read_memory_limits(system.paths()).per_cpu, 1000 * kKiB);
  std::filesystem::remove(system.paths().sys_kernel + "/perf_event_mlock_kb");
  EXPECT_EQ(read_memory_limits(system.paths()).per_cpu, 516 * kKiB);
  system.write("kernel/perf_event_paranoid", "-1");
  EXPECT_TRUE(read_memory_limits(system.paths()).unlimited);
}

constexpr MemoryLimits kDebian{.unlimited = false, .per_cpu = 516 * kKiB, .shared = 8192 * kKiB};

TEST(PlanBuffersTest, Privileged) {
  const auto plan = plan_buffers(0, {.unlimited = true}, 8, 4096);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->data, 512 * kKiB);
  EXPECT_EQ(plan->aux, 4096 * kKiB);
}
TEST(PlanBuffersTest, UnprivilegedTakesItsShareOfBothLimits) {
  EXPECT_EQ(plan_buffers(0, kDebian, 2, 4096)->aux, 4096 * kKiB);    // 516 + 4096 KiB each
  EXPECT_EQ(plan_buffers(0, kDebian, 8, 4096)->aux, 1024 * kKiB);    // 516 + 1024
  EXPECT_EQ(plan_buffers(0, kDebian, 1024, 4096)->aux, 256 * kKiB);  // 516 + 8
  EXPECT_EQ(plan_buffers(0, kDebian, 1024, 4096)->data, 128 * kKiB);
}
TEST(PlanBuffersTest, RequestsAreRoundedUpToAPowerOfTwo) {
  EXPECT_EQ(plan_buffers(100'000, kDebian, 2, 4096)->aux, 128 * kKiB);
  EXPECT_EQ(plan_buffers(1, kDebian, 2, 4096)->aux, kMinAux);
}
TEST(PlanBuffersTest, RequestsOverTheLimitAreRefusedWithTheRemedy) {
  const auto plan = plan_buffers(8192 * kKiB, kDebian, 2, 4096);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::not_permitted);
  EXPECT_THAT(plan.error().message, HasSubstr("sysctl kernel.perf_event_mlock_kb=8324"));
}
TEST(PlanBuffersTest, LimitsTooSmallForAnythingAreRefused) {
  EXPECT_FALSE(plan_buffers(0, {.per_cpu = 64 * kKiB, .shared = 0}, 1, 4096));
}
TEST(PlanBuffersTest, NonsenseIsAUsageError) {
  EXPECT_EQ(plan_buffers(~std::uint64_t{0}, {.unlimited = true}, 1, 4096).error().code,
            ErrorCode::usage);
}

}  // namespace
}  // namespace hodo::capture
