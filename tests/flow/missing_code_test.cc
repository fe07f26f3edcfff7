// A program of which pages are missing: no branch is invented, and the path is known again from the
// next packet that names an address of code that is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fixture.h"
#include "taken_away.h"
#include "ways.h"

namespace hodo::flow {
namespace {

constexpr std::uint64_t kPage = 0x1000;
constexpr std::uint64_t kCell = 16;  // bytes; each ends in one branch
constexpr int kCells = 64;
constexpr int kFunctions = 24;  // one in each page; the first is the program's loop

enum class Kind { jz, jmp, call, icall, ijmp, ret };

// What stands in a cell.
struct Cell {
  Kind kind = Kind::ret;
  std::uint64_t to = 0;
};

std::uint64_t address_of(int function, int cell) {
  return 0x10000 + static_cast<std::uint64_t>(function) * kPage +
         static_cast<std::uint64_t>(cell) * kCell;
}

// Functions call only later ones, so each returns.
class Program {
 public:
  Program() {
    for (int function = 0; function < kFunctions; ++function) {
      for (int cell = 0; cell < kCells; ++cell) add(function, cell);
    }
  }
  const Code& code() const { return code_; }
  const Cell& at(std::uint64_t address) const {
    return cells_[(address - 0x10000) / kPage * kCells + address % kPage / kCell];
  }
  // Where an indirect branch of a function may lead: to a cell of its own, to the beginning of a
  // later function.
  std::uint64_t some_target(std::uint64_t from, bool call) {
    const int function = static_cast<int>((from - 0x10000) / kPage);
    return call ? address_of(below(function), 0) : address_of(function, number(kCells));
  }
  bool coin() { return number(3) == 0; }

 private:
  int number(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }
  int further(int cell) { return std::min(cell + 1 + number(6), kCells - 1); }
  int below(int function) { return function + 1 + number(kFunctions - function - 1); }

  void add(int function, int cell) {
    const Cell made = choose(function, cell);
    cells_.push_back(made);
    if (cell == 0) code_.at(address_of(function, 0));
    write(made);
    while (code_.mappings().back().bytes.size() % kCell != 0) code_.nop();
  }
  Cell choose(int function, int cell) {
    if (cell == kCells - 1) {
      return function == 0 ? Cell{Kind::jmp, address_of(0, 0)} : Cell{};
    }
    const bool last = function == kFunctions - 1;
    const int kind = number(24);
    if (kind == 0 && !last) return {Kind::call, address_of(below(function), 0)};
    if (kind == 1 && !last) return {Kind::icall, 0};
    if (kind == 2) return {Kind::ijmp, 0};
    if (kind == 3) return {Kind::jmp, address_of(function, further(cell))};
    if (kind == 4) return {Kind::jz, address_of(function, number(cell + 1))};  // a loop
    return {Kind::jz, address_of(function, further(cell))};
  }
  void write(const Cell& cell) {
    switch (cell.kind) {
      case Kind::jz:
        code_.jz(cell.to);
        break;
      case Kind::jmp:
        code_.jmp(cell.to);
        break;
      case Kind::call:
        code_.call(cell.to);
        break;
      case Kind::icall:
        code_.icall();
        break;
      case Kind::ijmp:
        code_.ijmp();
        break;
      case Kind::ret:
        code_.ret();
        break;
    }
  }

  std::mt19937 random_{14};
  Code code_;
  std::vector<Cell> cells_;
};

// Runs the program as a processor without return compression would tell of it.
class Walk {
 public:
  explicit Walk(Program& program) : program_(program) {}

  Trace of(int branches) {
    for (int i = 0; i < branches; ++i) {
      if (i % 700 == 0) {
        tell_outcomes();
        trace_.psb(at_);
      }
      step(program_.at(at_));
    }
    tell_outcomes();
    return std::move(trace_);
  }

 private:
  void step(const Cell& cell) {
    const std::uint64_t next = at_ + kCell;
    switch (cell.kind) {
      case Kind::jz: {
        const bool taken = program_.coin();
        outcomes_ += taken ? 'T' : 'N';
        at_ = taken ? cell.to : next;
        break;
      }
      case Kind::jmp:
        at_ = cell.to;
        break;
      case Kind::call:
        open_.push_back(at_ + 5);
        at_ = cell.to;
        break;
      case Kind::icall:
        open_.push_back(at_ + 2);
        go(program_.some_target(at_, true));
        break;
      case Kind::ijmp:
        go(program_.some_target(at_, false));
        break;
      case Kind::ret: {
        const std::uint64_t back = open_.back();
        open_.pop_back();
        go(back);
        at_ = (back / kCell + 1) * kCell;  // over the rest of the cell
        break;
      }
    }
  }
  void go(std::uint64_t to) {
    tell_outcomes();
    trace_.tip(to);
    at_ = to;
  }
  void tell_outcomes() {
    for (std::size_t at = 0; at < outcomes_.size(); at += 47) trace_.tnt(outcomes_.substr(at, 47));
    outcomes_.clear();
  }

  Program& program_;
  Trace trace_;
  std::uint64_t at_ = address_of(0, 0);
  std::vector<std::uint64_t> open_;
  std::string outcomes_;
};

class MissingCode : public testing::Test {
 protected:
  MissingCode() : trace_(Walk(program_).of(20'000)), whole_(trace_.bytes(), program_.code(), {}) {}

  // What is listed without these pages, after all that holds for any.
  Listed without(const std::set<std::uint64_t>& pages) const {
    const WithoutPages code(program_.code(), kPage, pages);
    Listed part(trace_.bytes(), code, {});
    EXPECT_EQ(not_in(whole_, part), "");
    EXPECT_FALSE(part.losses.empty());
    return part;
  }

  Program program_;
  Trace trace_;
  Listed whole_;
};

TEST_F(MissingCode, TheWholeProgramHasNoLoss) {
  EXPECT_TRUE(whole_.losses.empty()) << whole_.losses[0].reason;
  EXPECT_GT(listed(whole_), 15'000u);
  ASSERT_GT(pages_of(whole_, kPage).size(), 15u);
}

TEST_F(MissingCode, OnePageCostsLittleMoreThanWhatRanInIt) {
  std::uint64_t known = 0;
  std::uint64_t all = 0;
  for (const std::uint64_t page : pages_of(whole_, kPage)) {
    SCOPED_TRACE(page);
    const std::size_t kept = listed(without({page}));
    known += kept;
    all += listed(whole_);
    // All that can be known, less the branches at the edges.
    EXPECT_GE(100 * kept, 95 * knowable(whole_, kPage, {page}));
  }
  EXPECT_GT(known, all / 100 * 90);
}

TEST_F(MissingCode, SeveralPagesAtRandom) {
  const std::set<std::uint64_t> executed = pages_of(whole_, kPage);
  const std::vector<std::uint64_t> list(executed.begin(), executed.end());
  std::mt19937 random(1);
  for (const std::size_t count : {2, 4, 8}) {
    std::set<std::uint64_t> missing;
    while (missing.size() < count) missing.insert(list[random() % list.size()]);
    SCOPED_TRACE(count);
    without(missing);
    const WithoutPages code(program_.code(), kPage, missing);
    const Piece piece{.bytes = trace_.bytes()};
    EXPECT_EQ(difference_between_ways(std::span(&piece, 1), code, {}), "");
  }
}

}  // namespace
}  // namespace hodo::flow
