#include "hodo/symbol/source_paths.h"

#include <gtest/gtest.h>

namespace hodo::symbol {
namespace {

SourcePaths of(std::initializer_list<const char*> rules) {
  SourcePaths out;
  for (const char* rule : rules) EXPECT_TRUE(out.add(rule)) << rule;
  return out;
}

TEST(SourcePaths, WithoutRulesNothingChanges) {
  EXPECT_EQ(SourcePaths().found("/a/./b.c"), "/a/./b.c");
  EXPECT_EQ(SourcePaths().found(""), "");
}

TEST(SourcePaths, WholeComponentsAreReplaced) {
  const SourcePaths paths = of({"/build/one=/home/me"});
  EXPECT_EQ(paths.found("/build/one/a.c"), "/home/me/a.c");
  EXPECT_EQ(paths.found("/build/./x/../one//a.c"), "/home/me/a.c");
  EXPECT_EQ(paths.found("/build/one"), "/home/me");
  EXPECT_EQ(paths.found("/build/ones/a.c"), "/build/ones/a.c");
  EXPECT_EQ(paths.found("/x/build/one/a.c"), "/x/build/one/a.c");
  EXPECT_EQ(paths.found("build/one/a.c"), "build/one/a.c");
  EXPECT_EQ(paths.found(""), "");
}

TEST(SourcePaths, TheFirstRuleThatFitsCounts) {
  const SourcePaths paths = of({"/a/b=/x", "/a=/y", "/a/b/c=/z", "/x=/never"});
  EXPECT_EQ(paths.found("/a/b/c/d.c"), "/x/c/d.c");
  EXPECT_EQ(paths.found("/a/d.c"), "/y/d.c");
}

TEST(SourcePaths, SlashesAtTheEndMeanNothing) {
  const SourcePaths paths = of({"/a//=/x/"});
  EXPECT_EQ(paths.found("/a/d.c"), "/x/d.c");
  EXPECT_EQ(of({"/a=/"}).found("/a/d.c"), "/d.c");
  EXPECT_EQ(of({"/a=src"}).found("/a/d.c"), "src/d.c");
}

TEST(SourcePaths, RelativeNames) {
  EXPECT_EQ(of({".=/x"}).found("a/b.c"), "/x/a/b.c");
  EXPECT_EQ(of({"./=/x"}).found("./b.c"), "/x/b.c");
  EXPECT_EQ(of({".=/x/y"}).found("../b.c"), "/x/b.c");
  EXPECT_EQ(of({".=/x"}).found("/b.c"), "/b.c");
  EXPECT_EQ(of({"a=/x"}).found("a/b.c"), "/x/b.c");
}

TEST(SourcePaths, AllAbsoluteNames) {
  EXPECT_EQ(of({"/=/x"}).found("/a/b.c"), "/x/a/b.c");
  EXPECT_EQ(of({"/=/x"}).found("b.c"), "b.c");
}

TEST(SourcePaths, TheRestOfARuleMayHaveEqualsSigns) {
  EXPECT_EQ(of({"/a=/x=y"}).found("/a/b.c"), "/x=y/b.c");
}

TEST(SourcePaths, NoRules) {
  SourcePaths paths;
  for (const char* rule : {"", "=", "/a", "/a=", "=/a"}) {
    const Status added = paths.add(rule);
    ASSERT_FALSE(added) << rule;
    EXPECT_EQ(added.error().code, ErrorCode::usage);
  }
}

}  // namespace
}  // namespace hodo::symbol
