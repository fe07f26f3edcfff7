#include "hodo/ask/spectrum.h"

#include <gtest/gtest.h>

#include "hodo/ask/find.h"

namespace hodo::ask {
namespace {

// A run of f() in line 7 of a.c, which is of /bin/prog; with its line, or without.
analyze::Coverage run_of_f(bool with_lines) {
  analyze::CoveredModule prog{.path = "/bin/prog", .file = true, .files = {"/src/a.c"}};
  prog.functions.push_back({.name = "f", .entered = 1, .blocks = 1, .blocks_hit = 1});
  if (with_lines) prog.lines.push_back({.file = 0, .line = 7, .count = 3});
  analyze::Coverage out;
  out.modules.push_back(std::move(prog));
  return out;
}

TEST(Spectrum, leaves_out_lines_that_another_run_does_not_know) {
  const analyze::Coverage with = run_of_f(true);
  const analyze::Coverage without = run_of_f(false);
  EXPECT_TRUE(without_lines(with).empty());
  EXPECT_EQ(without_lines(without), std::set<std::string>{"prog"});
  Spectrum a = spectrum_of(with);
  Spectrum b = spectrum_of(without);
  EXPECT_EQ(differences(a, b).size(), 1U);
  EXPECT_EQ(leave_out_lines(a, without_lines(without)), std::set<std::string>{"prog"});
  EXPECT_TRUE(leave_out_lines(b, without_lines(with)).empty());
  EXPECT_TRUE(differences(a, b).empty());
  EXPECT_EQ(a.size(), 1U);  // the function
}

// Two sources of one name, each with a static function of one name, that ran so often.
analyze::Coverage run_of_namesakes(std::uint64_t first, std::uint64_t second) {
  analyze::CoveredModule prog{.path = "/bin/prog", .file = true};
  prog.files = {"/src/util.c", "/src/lib/util.c", "/src/main.c"};
  for (const std::uint32_t file : {0U, 1U}) {
    const std::uint64_t count = file == 0 ? first : second;
    prog.functions.push_back({.name = "help",
                              .address = file * 16,
                              .entered = count,
                              .blocks = 1,
                              .blocks_hit = count != 0 ? 1U : 0U,
                              .file = file,
                              .line = 7});
    prog.lines.push_back({.file = file, .line = 7, .count = count});
    prog.branches.push_back({.address = file * 16, .file = file, .line = 7, .taken = count});
  }
  prog.lines.push_back({.file = 2, .line = 1, .count = 1});
  analyze::Coverage out;
  out.modules.push_back(std::move(prog));
  return out;
}

TEST(Spectrum, tells_namesakes_apart) {
  const Spectrum failing = spectrum_of(run_of_namesakes(1, 1));
  const Spectrum passing = spectrum_of(run_of_namesakes(0, 1));
  const auto all = suspects(std::span(&failing, 1), std::span(&passing, 1));
  ASSERT_EQ(all.size(), 3U);
  for (const Suspect& suspect : all) {
    const bool function = suspect.what.kind == Executed::Kind::function;
    EXPECT_EQ(function ? suspect.what.source : suspect.what.name, "src/util.c");
    EXPECT_EQ(suspect.score, 1);
  }
  EXPECT_TRUE(passing.contains(
      {.kind = Executed::Kind::line, .module = "prog", .name = "main.c", .line = 1}));
  EXPECT_TRUE(passing.contains(
      {.kind = Executed::Kind::line, .module = "prog", .name = "lib/util.c", .line = 7}));
}

TEST(Spectrum, counts_namesakes_whose_sources_are_unknown) {
  analyze::Coverage coverage = run_of_namesakes(0, 2);
  analyze::CoveredModule& prog = coverage.modules[0];
  for (analyze::CoveredFunction& f : prog.functions) f.file = ~std::uint32_t{0};
  prog.lines.clear();
  prog.branches.clear();
  const Spectrum run = spectrum_of(coverage);
  ASSERT_EQ(run.size(), 1U);
  EXPECT_EQ(run.begin()->first.nth, 1U);
  EXPECT_EQ(run.begin()->second, 2U);
}

TEST(ByBirth, goes_by_numbers_from_the_first_process_on) {
  std::vector<LastMoment> threads;
  for (const auto& [pid, tid] : std::vector<std::pair<int, int>>{
           {30, 30}, {30, 33}, {30, 31}, {4, 4}, {4, 2}, {40, 40}, {-1, -1}}) {
    threads.push_back({.who = {.pid = pid, .tid = tid}});
  }
  std::vector<std::pair<int, int>> order;
  for (const LastMoment* last : by_birth(threads)) order.emplace_back(last->who.pid, last->who.tid);
  EXPECT_EQ(order, (std::vector<std::pair<int, int>>{
                       {30, 30}, {30, 31}, {30, 33}, {40, 40}, {-1, -1}, {4, 4}, {4, 2}}));
}

}  // namespace
}  // namespace hodo::ask
