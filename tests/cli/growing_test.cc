// A recording that is read while it is written.
#include "hodo/session/growing.h"

#include <gmock/gmock.h>

#include <map>

#include "recording_fixture.h"

namespace hodo::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class CountsThreads final : public session::BranchSink {
 public:
  bool branches(const session::Context& who, std::span<const Branch> batch) override {
    counts[who.tid] += batch.size();
    return true;
  }
  std::map<std::int32_t, std::size_t> counts;
};

// A thread that began first may fill its first buffer last.
TEST(Growing, AThreadsTraceMayComeBehindThatOfALaterOne) {
  const std::string path = testing::TempDir() + "growing.data";
  const FixtureThread later{42, 42, sample_trace().bytes(), 1};
  const FixtureThread first{42, 43, sample_trace().bytes(), 0};
  write_recording(path, {.threads = {later}, .finish = false});
  auto growing = session::Growing::open(path);
  ASSERT_TRUE(growing) << growing.error().message;
  CountsThreads sink;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE((*growing)->refresh());
  ASSERT_TRUE((*growing)->decode(sink));
  EXPECT_EQ(sink.counts.size(), 1U);

  write_recording(path, {.threads = {later, first}});
  ASSERT_TRUE((*growing)->refresh());
  ASSERT_TRUE((*growing)->decode(sink));
  ASSERT_TRUE((*growing)->finish(sink));
  EXPECT_THAT(sink.counts, ElementsAre(Pair(42, sink.counts[42]), Pair(43, sink.counts[42])));
  EXPECT_THAT((*growing)->losses(), testing::IsEmpty());
}

}  // namespace
}  // namespace hodo::cli
