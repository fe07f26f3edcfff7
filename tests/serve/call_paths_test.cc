// Call paths turned round: callers below what they called.
#include "call_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hodo::serve {
namespace {

using ::testing::UnorderedElementsAre;

// Names are letters; a node's place is its number.
CallPaths paths(std::string_view letters) {
  CallPaths out;
  for (const char letter : letters) out.names.push_back({std::string(1, letter), "prog"});
  return out;
}

std::uint32_t add(CallPaths& to, std::uint32_t parent, std::uint32_t name, std::uint64_t insns,
                  std::uint64_t calls) {
  to.nodes.push_back({.name = name, .parent = parent, .self = {insns, 0, calls}});
  to.nodes.back().total = to.nodes.back().self;
  const auto index = static_cast<std::uint32_t>(to.nodes.size() - 1);
  for (std::uint32_t n = index; n != 0;) {
    n = to.nodes[n].parent;
    to.nodes[n].total.instructions += insns;
  }
  return index;
}

// "b<a 70 self 0 calls 6": a node by its way outwards.
std::vector<std::string> lines(const CallPaths& is) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i < is.nodes.size(); ++i) {
    std::string way;
    for (std::size_t n = i; n != 0; n = is.nodes[n].parent) {
      way = (n == i ? "" : "<") + way;
      way = is.names[is.nodes[n].name].name + way;
    }
    out.push_back(way + " " + std::to_string(is.nodes[i].total.instructions) + " self " +
                  std::to_string(is.nodes[i].self.instructions) + " calls " +
                  std::to_string(is.nodes[i].total.calls));
  }
  return out;
}

//  a 10, 1 call          a calls b and c, which calls b, too
//    b 30, 2 calls
//    c 20, 1 call
//      b 40, 4 calls
CallPaths sample() {
  CallPaths out = paths("abc");
  const auto a = add(out, 0, 0, 10, 1);
  add(out, a, 1, 30, 2);
  const auto c = add(out, a, 2, 20, 1);
  add(out, c, 1, 40, 4);
  return out;
}

TEST(Inverted, HasTheCallersBelowEachFunction) {
  const CallPaths is = inverted(sample(), nullptr);
  EXPECT_EQ(is.nodes[0].total.instructions, 100u);
  EXPECT_THAT(lines(is), UnorderedElementsAre("a 10 self 10 calls 1", "b 70 self 0 calls 6",
                                              "b<a 30 self 30 calls 2", "b<c 40 self 0 calls 4",
                                              "b<c<a 40 self 40 calls 4", "c 20 self 0 calls 1",
                                              "c<a 20 self 20 calls 1"));
}

TEST(Inverted, OfOneFunctionTakesWhatItsOutermostCallsDid) {
  const CallPaths is = inverted(sample(), [](const SliceName& name) { return name.name == "c"; });
  EXPECT_THAT(lines(is), UnorderedElementsAre("c 60 self 0 calls 1", "c<a 60 self 60 calls 1"));
}

// Of a tree of 30,000 paths that are up to 300 deep there would be 4.5 million nodes.
TEST(Inverted, DeepStacksAreNotWrittenOutForWhatNobodySees) {
  CallPaths deep = paths("f");
  for (int i = 0; i < 100; ++i) deep.names.push_back({"leaf" + std::to_string(i), "prog"});
  std::uint32_t at = 0;
  std::uint64_t all = 0;
  std::vector<std::uint32_t> stack;
  for (int depth = 0; depth < 300; ++depth) {
    deep.nodes.push_back({.name = 0, .parent = at, .self = {1, 0, 1}});
    at = static_cast<std::uint32_t>(deep.nodes.size() - 1);
    stack.push_back(at);
    ++all;
  }
  for (const std::uint32_t parent : stack) {
    for (std::uint32_t leaf = 1; leaf <= 100; ++leaf, ++all) {
      deep.nodes.push_back({.name = leaf, .parent = parent, .self = {1, 0, 1}});
    }
  }
  const CallPaths is = inverted(deep, nullptr);
  EXPECT_EQ(is.nodes[0].total.instructions, all);
  EXPECT_LT(is.nodes.size(), 50'000u);
  for (std::size_t i = 1; i < is.nodes.size(); ++i) ASSERT_LT(is.nodes[i].parent, i);
}

}  // namespace
}  // namespace hodo::serve
