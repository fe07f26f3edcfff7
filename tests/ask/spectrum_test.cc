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
