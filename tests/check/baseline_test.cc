// Baselines: what is learned is known, and files that are not as they should be are refused.
#include "hodo/check/baseline.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hodo::check {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Edge = Baseline::Edge;

const Bytes kA = {0xaa, 1};
const Bytes kB = {0xbb};

Baseline of(const std::vector<Edge>& edges) {
  Baseline out;
  for (const Edge& edge : edges) EXPECT_TRUE(out.add(edge));
  return out;
}

TEST(Baseline, KnowsWhatItLearned) {
  const Baseline baseline = of({{kA, 0x10, kB, 0x20}, {kA, 0x10, kA, 0x30}});
  EXPECT_TRUE(baseline.contains({kA, 0x10, kB, 0x20}));
  EXPECT_FALSE(baseline.contains({kB, 0x10, kA, 0x20}));
  EXPECT_FALSE(baseline.contains({kA, 0x10, kB, 0x30}));
  EXPECT_FALSE(baseline.contains({kA, 0x10, {0xcc}, 0x20}));
  EXPECT_TRUE(baseline.knows(kB));
  EXPECT_FALSE(baseline.knows({0xcc}));
}

TEST(Baseline, TakesNoEdgeTwiceAndNoFileWithoutId) {
  Baseline baseline = of({{kA, 1, kB, 2}});
  EXPECT_FALSE(baseline.add({kA, 1, kB, 2}));
  EXPECT_FALSE(baseline.add({{}, 1, kB, 2}));
  EXPECT_FALSE(baseline.add({kA, 1, Bytes(65), 2}));
  EXPECT_EQ(baseline.edges(), 1u);
  EXPECT_EQ(baseline.modules(), 2u);
}

// magic, version 1, 2 modules, 3 edges; then
const Bytes kBody = {
    2,  0xaa, 1,          // module 0
    1,  0xbb,             // module 1
    0,  0,    1, 16, 48,  // 0 -> 0, one edge: 0x10 -> 0x30
    0,  1,    2,          // 0 -> 1, two edges:
    16, 0xa0, 2,          //   0x10 -> 0x120
    0,  0xa1, 2,          //   0x10 -> 0x121
};

Bytes file(const Bytes& body, std::uint32_t modules = 2, std::uint8_t edges = 3) {
  Bytes out = {'h', 'o', 'd', 'o', 'b', 'a', 's', 'e', 1, 0, 0, 0};
  for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<std::uint8_t>(modules >> (8 * i)));
  out.push_back(edges);
  out.resize(out.size() + 7);
  out.insert(out.end(), body.begin(), body.end());
  return out;
}

TEST(Baseline, HasOneFormForEqualSets) {
  const Edge one{kA, 0x10, kA, 0x30};
  const Edge two{kA, 0x10, kB, 0x120};
  const Edge three{kA, 0x10, kB, 0x121};
  EXPECT_EQ(of({one, two, three}).bytes(), file(kBody));
  EXPECT_EQ(of({three, two, one}).bytes(), file(kBody));
  const auto read = Baseline::parse(file(kBody));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->edges(), 3u);
  EXPECT_TRUE(read->contains(three));
  EXPECT_EQ(Baseline().bytes(), file({}, 0, 0));
}

TEST(Baseline, EndsWhereItMust) {
  const Bytes whole = file(kBody);
  for (std::size_t size = 8; size < whole.size(); ++size) {
    const auto read = Baseline::parse(std::span(whole).first(size));
    ASSERT_FALSE(read) << size;
    EXPECT_EQ(read.error().code, ErrorCode::truncated) << size;
  }
  Bytes longer = whole;
  longer.push_back(0);
  const auto read = Baseline::parse(longer);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::malformed);
  EXPECT_EQ(read.error().offset, whole.size());
}

TEST(Baseline, RefusesWhatItWouldNotWrite) {
  const auto error = [](const Bytes& bytes) {
    const auto read = Baseline::parse(bytes);
    return read ? std::string("read") : read.error().message;
  };
  const auto changed = [](std::size_t at, std::uint8_t value) {
    Bytes body = kBody;
    body[at] = value;
    return file(body);
  };
  EXPECT_NE(error({}).find("no baseline"), std::string::npos);
  EXPECT_NE(error(changed(0, 0)).find("a build-id of that size"), std::string::npos);
  EXPECT_NE(error(changed(1, 0xcc)).find("modules are out of order"), std::string::npos);
  EXPECT_NE(error(changed(5, 2)).find("no such module"), std::string::npos);
  EXPECT_NE(error(changed(7, 0)).find("a group of that size"), std::string::npos);
  EXPECT_NE(error(changed(7, 9)).find("a group of that size"), std::string::npos);
  EXPECT_NE(error(changed(11, 0)).find("groups are out of order"), std::string::npos);
  EXPECT_NE(error(changed(17, 0xa0)).find("edges are out of order"), std::string::npos);
  EXPECT_NE(error(changed(18, 0x00)).find("longer than it has to be"), std::string::npos);
  Bytes wide = file(kBody);
  wide[8] = 2;
  EXPECT_NE(error(wide).find("version 2"), std::string::npos);
  EXPECT_NE(error(file(kBody, 65537)).find("more than 65536 modules"), std::string::npos);
  EXPECT_NE(error(file({2, 0xaa, 1, 1, 0xbb, 0, 0, 1, 16, 48}, 2, 1)).find("without edges"),
            std::string::npos);
}

TEST(Baseline, IsReplacedAtOnce) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "baseline_test";
  std::filesystem::create_directories(folder);
  const std::string path = folder / "base";
  std::ofstream(path) << "something else";
  ASSERT_TRUE(of({{kA, 1, kB, 2}}).save(path));
  const auto read = Baseline::load(path);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->contains({kA, 1, kB, 2}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  const auto nowhere = of({}).save("/nonexistent/base");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ErrorCode::io);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hodo::check
