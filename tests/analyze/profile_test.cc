#include "hodo/analyze/profile.h"

#include <gtest/gtest.h>

#include <array>

#include "fixture.h"
#include "hodo/session/homes.h"

namespace hodo::analyze {
namespace {

constexpr std::uint64_t kKernel = 0xffff'ffff'8100'0000;

// A process executes another program at time 200, the kernel loads a module at 300.
class Changing final : public Program {
 public:
  session::Era era(std::uint32_t space, std::uint64_t time) const override {
    const std::uint64_t change = space == session::kKernelSpace ? 300 : 200;
    if (time < change) return {.number = 0, .from = 0, .until = change};
    return {.number = 1, .from = change};
  }
};

flow::RunCount run(std::uint64_t from, std::uint64_t to, std::uint64_t time, std::uint64_t count) {
  return {.edge = {.from = from, .to = to, .count = count, .kind = BranchKind::jmp},
          .begin = from,
          .time = time,
          .insns = 2};
}

const Edge* find(const std::vector<Edge>& edges, std::uint64_t from, std::uint32_t space,
                 std::uint32_t era) {
  for (const Edge& edge : edges) {
    if (edge.from == from && edge.space == space && edge.era == era) return &edge;
  }
  return nullptr;
}

TEST(Profile, TheKernelsBranchesAreOneWhoeverRunsThem) {
  const Changing names;
  Profile profile(names);
  for (const std::uint32_t space : {3u, 5u}) {
    const flow::RunCount batch[] = {run(kKernel, kKernel + 16, 250, 4), run(0x1000, 0x1100, 250, 2),
                                    run(0x1000, 0x1100, 150, 1)};
    profile.runs({.space = space}, batch);
  }
  const auto edges = profile.edges();
  ASSERT_EQ(edges.size(), 5u);
  const Edge* kernel = find(edges, kKernel, session::kKernelSpace, 0);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->count, 8u);
  EXPECT_EQ(kernel->insns, 16u);
  for (const std::uint32_t space : {3u, 5u}) {
    for (const std::uint32_t era : {0u, 1u}) {
      const Edge* user = find(edges, 0x1000, space, era);
      ASSERT_NE(user, nullptr) << space << " " << era;
      EXPECT_EQ(user->count, era + 1);
    }
  }
}

// /lib/a of two processes, at different places: 0x1000 bytes from offset 0x400 in the file, from
// time 100 on. In process 5 the bytes are not the file's from time 200 on.
class TwoProcesses final : public Program {
 public:
  static constexpr std::uint64_t kFirst = 0x7000'0000, kSecond = 0x9000'0000;

  session::FileAround file_around(std::uint32_t space, std::uint64_t address,
                                  std::uint64_t time) const override {
    const std::uint64_t start = space == 3 ? kFirst : kSecond;
    session::FileAround out{.first = start, .last = start + 0xfff, .from = 100, .start = start};
    if (address - start >= 0x1000 || time < 100) return {.first = 0, .last = start - 1};
    out.part = {.file = 1, .offset = 0x400, .size = 0x1000};
    if (space == 5 && time < 200) out.until = 200;
    if (space == 5 && time >= 200) {
      out.from = 200;
      out.part.bytes = 77;
    }
    return out;
  }
};

TEST(Profile, WhatRunsInAFileIsOneWhereverItIsMapped) {
  const TwoProcesses names;
  Profile profile(names);
  constexpr std::uint64_t kFirst = TwoProcesses::kFirst, kSecond = TwoProcesses::kSecond;
  const flow::RunCount first[] = {run(kFirst + 16, kFirst + 32, 150, 1),
                                  run(0x1000, kFirst, 150, 1)};
  const flow::RunCount second[] = {run(kSecond + 16, kSecond + 32, 160, 2),
                                   run(kSecond + 16, kSecond + 32, 250, 4),
                                   run(0x1000, kSecond, 160, 1)};
  profile.runs({.space = 3}, first);
  profile.runs({.space = 5}, second);
  const auto edges = profile.edges();
  ASSERT_EQ(edges.size(), 4u);
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> counts;
  for (const Edge& edge : edges) counts[{edge.from, edge.space}] += edge.count;
  EXPECT_EQ((counts[{kFirst + 16, 3}]), 3u);   // at the first one's place
  EXPECT_EQ((counts[{kSecond + 16, 5}]), 4u);  // other bytes
  EXPECT_EQ((counts[{0x1000, 3}]), 1u);        // from where nobody knows a file
  EXPECT_EQ((counts[{0x1000, 5}]), 1u);
}

TEST(Profile, ABranchBetweenTheKernelAndAProcessIsThatProcesss) {
  const Changing names;
  Profile profile(names);
  const flow::RunCount batch[] = {run(kKernel, 0x1000, 250, 1), run(0x1000, kKernel, 250, 1),
                                  run(kKernel, kKernel + 16, 310, 1),
                                  run(kKernel, kKernel + 16, 250, 1)};
  profile.runs({.space = 3}, batch);
  const auto edges = profile.edges();
  ASSERT_EQ(edges.size(), 4u);
  EXPECT_NE(find(edges, kKernel, 3, 1), nullptr);
  EXPECT_NE(find(edges, 0x1000, 3, 1), nullptr);
  EXPECT_NE(find(edges, kKernel, session::kKernelSpace, 1), nullptr);
  EXPECT_NE(find(edges, kKernel, session::kKernelSpace, 0), nullptr);
}

TEST(Homes, BeyondTheLimitOfPairsEachProcessIsItsOwn) {
  const TwoProcesses names;
  session::Homes homes(names, 0);
  constexpr std::uint64_t kSecond = TwoProcesses::kSecond;
  const session::Home home = homes.of(5, kSecond + 16, kSecond + 32, 160);
  EXPECT_EQ(home, (session::Home{kSecond + 16, kSecond + 32, 160, 5, 0}));
}

TEST(Profile, CountsWhatItHasNoRoomFor) {
  const Changing names;
  Profile profile(names, 1000);
  for (std::uint64_t i = 0; i < 1500; ++i) {
    const flow::RunCount batch[] = {run(0x1000 + 16 * i, 0x1000, 100, 3)};
    profile.runs({.space = static_cast<std::uint32_t>(i % 7)}, batch);
    profile.runs({.space = static_cast<std::uint32_t>(i % 7)}, batch);
  }
  EXPECT_EQ(profile.edges().size(), 1000u);
  EXPECT_EQ(profile.dropped(), 500u * 6);
  for (const Edge& edge : profile.edges()) EXPECT_EQ(edge.count, 6u);
}

// So that what is said of them does not hang on which thread decoded what.
TEST(Profile, EdgesAreInOrderWhateverOrderTheyComeIn) {
  constexpr std::uint64_t kMany = 10'000;
  const Changing names;
  Profile profile(names);
  for (std::uint64_t i = 0; i < 2 * kMany; ++i) {
    const std::uint64_t from = 0x1000 + i * 7919 % kMany * 16;
    profile.runs({.space = 3}, std::array{run(from, from + 4, 150, 1 + i / kMany)});
  }
  const auto edges = profile.edges();
  ASSERT_EQ(edges.size(), kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(edges[i].from, 0x1000 + i * 16);
    EXPECT_EQ(edges[i].count, 3u);
  }
}

}  // namespace
}  // namespace hodo::analyze
