#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "fixture.h"
#include "hodo/view/hot.h"

namespace hodo::view {
namespace {

using analyze::Edge;
using analyze::Profile;

flow::RunCount taken(std::uint64_t from, std::uint64_t to, BranchKind kind, std::uint32_t insns) {
  return {.edge = {.from = from, .to = to, .count = 1, .kind = kind}, .insns = insns};
}

Edge edge_of(const session::Home& ends, std::uint64_t count, BranchKind kind,
             std::uint64_t insns = 0) {
  return {{ends, count, kind}, insns};
}

TEST(Profile, CountsEdgesAndTasks) {
  TableNames names;
  Profile profile(names);
  const std::vector<flow::RunCount> batch{
      taken(0, 0x10, BranchKind::begin, 0), taken(0x12, 0x20, BranchKind::call, 3),
      taken(0x24, 0x14, BranchKind::ret, 5), taken(0x12, 0x20, BranchKind::call, 4)};
  profile.runs({.pid = 1, .tid = 2}, batch);
  profile.runs({.pid = 1, .tid = 3}, batch);
  ASSERT_EQ(profile.edges().size(), 2u);
  for (const Edge& edge : profile.edges()) {
    EXPECT_EQ(edge.count, edge.kind == BranchKind::call ? 4u : 2u);
    EXPECT_EQ(edge.insns, edge.kind == BranchKind::call ? 14u : 10u);
  }
  EXPECT_EQ((profile.tasks().at({1, 3}).instructions), 12u);
  EXPECT_EQ((profile.tasks().at({1, 3}).branches), 3u) << "begin is no branch";
}

// What lies before it was executed, and is the function's that it lies in.
TEST(Profile, ABranchThatFellThroughIsNoEdgeOfTheReport) {
  TableNames names;
  names.places[0x12] = {.symbol = "f", .object = "a"};
  names.places[0x18] = {.symbol = "f", .object = "a"};
  names.places[0x20] = {.symbol = "g", .object = "a"};
  Profile profile(names);
  flow::RunCount fell_through = taken(0x12, 0x14, BranchKind::cond, 3);
  fell_through.edge.flags = kNotTaken;
  fell_through.edge.count = 10;
  const std::vector<flow::RunCount> batch{fell_through, taken(0x18, 0x20, BranchKind::cond, 2)};
  profile.runs({.pid = 1, .tid = 1}, batch);
  EXPECT_EQ((profile.tasks().at({1, 1}).instructions), 32u);
  EXPECT_EQ((profile.tasks().at({1, 1}).branches), 1u);
  const auto functions = hot_places(profile.edges(), names, 10).functions;
  ASSERT_FALSE(functions.empty());
  EXPECT_EQ(functions[0].name, "f");
  EXPECT_EQ(functions[0].instructions, 32u);
  const auto edges = hot_places(profile.edges(), names, 10).edges;
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_EQ(edges[0].count, 1u);
}

TEST(Profile, KeepsItsCountsWhenItGrows) {
  TableNames names;
  Profile profile(names);
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
      const flow::RunCount run = taken(i, i * 7, BranchKind::jmp, 1);
      profile.runs({}, std::span(&run, 1));
    }
  }
  ASSERT_EQ(profile.edges().size(), 20'000u);
  for (const Edge& edge : profile.edges()) ASSERT_EQ(edge.count, 2u);
}

TEST(Profile, CountsWhatFindsNoRoom) {
  TableNames names;
  Profile profile(names, 2);
  for (std::uint64_t from : {1, 2, 3, 1}) {
    const flow::RunCount run = taken(from, 9, BranchKind::jmp, 1);
    profile.runs({}, std::span(&run, 1));
  }
  EXPECT_EQ(profile.edges().size(), 2u);
  EXPECT_EQ(profile.dropped(), 1u);
}

TEST(HotTables, AddUpByNameAcrossProcesses) {
  TableNames names;
  names.places[0x1010] = {.symbol = "main", .offset = 0x10, .object = "/bin/a"};
  names.places[0x5010] = {.symbol = "main", .offset = 0x10, .object = "/bin/a"};
  names.places[0x2000] = {.symbol = "work", .offset = 0, .object = "/lib/w"};
  const std::vector<Edge> edges{
      edge_of({.from = 0x1010, .to = 0x2000}, 5, BranchKind::call, 50),
      edge_of({.from = 0x5010, .to = 0x2000, .space = 1}, 2, BranchKind::call, 7),
      edge_of({.from = 0x2000, .to = 0x1010}, 6, BranchKind::ret, 90)};
  auto [functions, hottest] = hot_places(edges, names, 1);
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "work");
  EXPECT_EQ(functions[0].instructions, 90u);
  EXPECT_EQ(functions[0].calls, 7u);
  EXPECT_EQ(functions[1].name, "main");
  EXPECT_EQ(functions[1].object, "a");
  EXPECT_EQ(functions[1].instructions, 57u);
  ASSERT_EQ(hottest.size(), 1u);
  EXPECT_EQ(hottest[0].from, "main+0x10");
  EXPECT_EQ(hottest[0].to, "work+0x0");
  EXPECT_EQ(hottest[0].count, 7u);
}

// Names are written once for all of a function; which edges are listed is by what is written.
TEST(HotTables, OfEdgesAsFrequentTheFirstByNameAreListed) {
  TableNames names;
  names.places[0x10] = {.symbol = "b", .offset = 0x10, .object = "prog"};
  names.places[0x14] = {.symbol = "b", .offset = 0x9, .object = "prog"};
  names.places[0x20] = {.symbol = "a", .offset = 0x1, .object = "prog"};
  names.places[0x30] = {.offset = 0x30, .object = "/bin/bare"};
  const std::vector<Edge> edges{
      edge_of({.from = 0x10, .to = 0x20}, 5, BranchKind::jmp),
      edge_of({.from = 0x20, .to = 0x14}, 7, BranchKind::ijmp),
      edge_of({.from = 0x20, .to = 0x10}, 5, BranchKind::jmp),
      edge_of({.from = 0x30, .to = 0x99}, 5, BranchKind::jmp),
      edge_of({.from = 0x14, .to = 0x20}, 4, BranchKind::jmp),
  };
  const auto listed = [&](std::size_t top) {
    std::vector<std::string> out;
    for (const HotEdge& e : hot_places(edges, names, top).edges) {
      out.push_back(e.from + " " + e.to + " " + std::to_string(e.count));
    }
    return out;
  };
  const std::vector<std::string> all{"a+0x1 b+0x9 7", "[bare+0x30] 0x99 5", "a+0x1 b+0x10 5",
                                     "b+0x10 a+0x1 5", "b+0x9 a+0x1 4"};
  for (std::size_t top = 0; top <= 6; ++top) {
    const auto size = static_cast<std::ptrdiff_t>(std::min(top, all.size()));
    EXPECT_EQ(listed(top), std::vector(all.begin(), all.begin() + size)) << top;
  }
}

// main calls f@plt three times: the first goes through the resolver, the others straight on.
TEST(HotTables, CallsThroughStubsAreTheFunctions) {
  TableNames names;
  names.places[0x10] = {.symbol = "main", .offset = 0x10, .object = "prog"};
  names.places[0x20] = {.symbol = "f@plt", .object = "prog", .stub = true};
  names.places[0x30] = {.symbol = "_dl_runtime_resolve_xsave", .offset = 9, .object = "ld.so"};
  names.places[0x40] = {.symbol = "f", .object = "lib"};
  const std::vector<Edge> edges{
      edge_of({.from = 0x10, .to = 0x20}, 3, BranchKind::call),
      edge_of({.from = 0x20, .to = 0x40}, 2, BranchKind::ijmp),
      edge_of({.from = 0x30, .to = 0x40}, 1, BranchKind::ijmp),
  };
  for (const HotFunction& f : hot_places(edges, names, 10).functions) {
    EXPECT_EQ(f.calls, f.name == "f" ? 3u : 0u) << f.name;
  }
}

TEST(SourceText, LinesAndInlinedFunctions) {
  const std::vector<symbol::SourceFrame> plain{{"main", "/src/a.c", 7, false}};
  const std::vector<symbol::SourceFrame> inlined{{"in\033ner", "/src/b.h", 3, true},
                                                 {"main", "/src/a.c", 8, false}};
  EXPECT_EQ(source_text(plain, {.line = true}), "a.c:7");
  EXPECT_EQ(source_text(plain, {.inlined = true}), "");
  EXPECT_EQ(source_text(plain, {.line = true, .inlined = true}), "a.c:7");
  EXPECT_EQ(source_text(inlined, {.line = true}), "b.h:3");
  EXPECT_EQ(source_text(inlined, {.inlined = true}), "in\\x1bner in main");
  EXPECT_EQ(source_text(inlined, {.line = true, .inlined = true}),
            "in\\x1bner b.h:3 in main a.c:8");
  EXPECT_EQ(source_text({}, {.line = true, .inlined = true}), "");
}

}  // namespace
}  // namespace hodo::view
