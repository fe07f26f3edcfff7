#include "hodo/ask/moved_lines.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace hodo::ask {
namespace {

using Lines = std::set<std::uint32_t>;
using Names = std::set<std::string>;

// A file of one source with functions that begin in these lines; the other lines ran, too.
analyze::CoveredModule build_of(const std::map<std::string, std::uint32_t>& functions,
                                const Lines& lines) {
  analyze::CoveredModule out{.path = "/bin/prog", .file = true, .files = {"/src/a.c"}};
  for (const auto& [name, line] : functions) {
    out.functions.push_back({.name = name, .entered = 1, .blocks_hit = 1, .file = 0, .line = line});
    out.lines.push_back({.file = 0, .line = line, .count = 1});
  }
  for (const std::uint32_t line : lines) {
    out.lines.push_back({.file = 0, .line = line, .count = 1});
    out.branches.push_back({.file = 0, .line = line, .taken = 1});
  }
  return out;
}

Lines lines_of(const analyze::CoveredModule& m) {
  Lines out;
  for (const analyze::CoveredLine& line : m.lines) out.insert(line.line);
  return out;
}

Lines branches_of(const analyze::CoveredModule& m) {
  Lines out;
  for (const analyze::CoveredBranch& branch : m.branches) out.insert(branch.line);
  return out;
}

TEST(MovedLines, have_the_numbers_of_the_other_build_behind_an_inserted_function) {
  auto a = build_of({{"f", 10}, {"g", 20}, {"h", 30}}, {12, 22, 35});
  // A function of three lines before g, which is inlined in it: it is no function of the file.
  auto b = build_of({{"f", 10}, {"g", 23}, {"h", 33}}, {12, 20, 21, 25, 38});
  EXPECT_EQ(align_lines(a, b, {"f", "g", "h"}), Names{"f"});
  EXPECT_EQ(lines_of(a), (Lines{10, 12, 20, 22, 30, 35}));
  EXPECT_EQ(lines_of(b), lines_of(a));
  EXPECT_EQ(branches_of(b), branches_of(a));
}

TEST(MovedLines, are_left_out_where_a_function_was_changed) {
  auto a = build_of({{"f", 10}, {"g", 20}, {"h", 30}}, {12, 22, 35});
  auto b = build_of({{"f", 10}, {"g", 20}, {"h", 33}}, {12, 21, 25, 38});
  EXPECT_EQ(align_lines(a, b, {"f", "h"}), Names{"g"});
  EXPECT_EQ(lines_of(a), (Lines{10, 12, 30, 35}));
  EXPECT_EQ(lines_of(b), lines_of(a));
  EXPECT_EQ(branches_of(b), (Lines{12, 35}));
}

TEST(MovedLines, do_not_come_into_a_function_that_was_changed) {
  auto a = build_of({{"e", 5}, {"f", 10}, {"main", 20}}, {12, 22});
  // Behind f one that is inlined in main, which calls it.
  auto b = build_of({{"e", 7}, {"f", 12}, {"main", 25}}, {14, 22, 23, 28});
  EXPECT_EQ(align_lines(a, b, {"e", "f"}), (Names{"f", "main"}));
  EXPECT_EQ(lines_of(a), (Lines{5, 10, 12}));
  EXPECT_EQ(lines_of(b), lines_of(a));
}

TEST(MovedLines, are_compared_in_a_function_that_was_changed_and_has_as_many) {
  auto a = build_of({{"f", 10}, {"g", 20}, {"h", 30}}, {12, 22, 35});
  auto b = build_of({{"f", 13}, {"g", 23}, {"h", 33}}, {15, 26, 38});
  EXPECT_EQ(align_lines(a, b, {"f", "h"}), Names{});
  EXPECT_EQ(lines_of(a), (Lines{10, 12, 20, 22, 30, 35}));
  EXPECT_EQ(lines_of(b), (Lines{10, 12, 20, 23, 30, 35}));
}

TEST(MovedLines, are_unknown_before_a_first_function_that_moved) {
  auto a = build_of({{"f", 10}, {"g", 20}, {"h", 30}}, {5, 12});
  // Of what is inlined before f, lines 5 and 6 were inserted.
  auto b = build_of({{"f", 12}, {"g", 22}, {"h", 32}}, {5, 7, 14});
  auto a2 = a;
  auto b2 = b;
  EXPECT_EQ(align_lines(a, b, {"f", "g", "h"}), Names{"the begin of a.c"});
  EXPECT_EQ(lines_of(a), (Lines{10, 12, 20, 30}));
  EXPECT_EQ(lines_of(b), lines_of(a));
  // Be it compiled as before or not.
  EXPECT_EQ(align_lines(a2, b2, {"g", "h"}), (Names{"f", "the begin of a.c"}));
  EXPECT_EQ(lines_of(a2), (Lines{20, 30}));
}

TEST(MovedLines, stay_where_functions_have_changed_places) {
  auto a = build_of({{"f", 10}, {"g", 20}, {"h", 30}}, {12, 22, 35});
  auto b = build_of({{"g", 10}, {"f", 20}, {"h", 30}}, {12, 22, 35});
  EXPECT_EQ(align_lines(a, b, {"f", "g", "h"}), Names{});
  EXPECT_EQ(lines_of(b), lines_of(a));
}

TEST(MovedLines, are_not_looked_for_where_most_functions_are_compiled_otherwise) {
  auto a = build_of({{"f", 10}, {"g", 20}, {"h", 30}}, {12});
  auto b = build_of({{"f", 11}, {"g", 21}, {"h", 31}}, {13});
  const Lines before = lines_of(b);
  EXPECT_EQ(align_lines(a, b, {"f"}), Names{});
  EXPECT_EQ(lines_of(b), before);
}

}  // namespace
}  // namespace hodo::ask
