// Calls in code without symbols, and branches that come in other forms than one by one.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "call_tree_text.h"
#include "fixture.h"
#include "hodo/analyze/open_calls.h"
#include "hodo/flow/transfers.h"

namespace hodo::analyze {
namespace {

TEST(CallTree, CodeWithoutSymbolsIsNamedByItsCallTarget) {
  Path path;
  path.begin(0x2000).call(0x2010, 0x2100).jmp(0x2110, 0x2150).ret(0x2160, 0x2015);
  EXPECT_EQ(shape_of(path), "[prog]:1/1([prog+0x2100]:1/2)");
}

// A destructor that the dynamic linker jumps to lies in a file that is on the stack.
TEST(CallTree, AJumpIntoCodeWithoutSymbolsIsATailCall) {
  Path path;
  path.begin(0x2000).call(0x2010, 0x3000).go(BranchKind::ijmp, 0x3010, 0x2500);
  path.ret(0x2510, 0x2015);
  EXPECT_EQ(shape_of(path), "[prog]:1/1(_dl_resolve:1/1([prog]:1/1))");
}

TEST(CallTree, LongjmpIntoCodeWithoutSymbolsGoesWhereSetjmpReturned) {
  Path path;
  path.begin(0x2000).call(0x2010, 0x1300).ret(0x1310, 0x2015);  // setjmp
  path.call(0x2020, 0x2100).call(0x2110, 0x3000).go(BranchKind::ijmp, 0x3010, 0x2015);
  path.call(0x2020, 0x1200);
  // Which of two functions of one file the address is in, nobody knows: it is the nearest.
  EXPECT_EQ(shape_of(path), "[prog]:1/2(h:1/1 [prog+0x2100]:1/2(_dl_resolve:1/1 g:1/0))");
}

TEST(CallTree, LongjmpGoesWhereACallOfASpanReturnedIntoCodeWithoutSymbols) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  const session::Context who{.pid = 1, .tid = 1};
  Path path;
  path.begin(0x2000).call(0x2020, 0x2100).call(0x2110, 0x3000).go(BranchKind::ijmp, 0x3010, 0x2015);
  path.call(0x2020, 0x1200);
  const std::span all(path.branches());
  tree.branches(who, all.first(1));

  // setjmp
  const Branch call{
      .from = 0x2010, .to = 0x1300, .time = 100, .insns = 1, .kind = BranchKind::call};
  const flow::CallOp op = tree.call_judge(who)->op(call);
  ASSERT_EQ(op.kind, flow::CallOp::Kind::call);
  EXPECT_TRUE(op.noted);
  const auto book = std::make_shared<flow::TransferBook>();
  const std::array row = {flow::Transfers::Row{.time = 100, .count = 1}};
  const std::array list = {flow::Transfer{.what = flow::TransferBook::kSpan}};
  const std::array span = {
      flow::SummedSpan{.paths = 2, .noted = 1, .insns = 1, .first = book->add({&call, 1})}};
  const std::array paths = {
      flow::CalledPath{.callee = flow::CalledPath::kOpenBefore, .insns = 1},
      flow::CalledPath{.parent = 0, .callee = op.callee, .calls = 1, .insns = 1}};
  const std::array<std::uint64_t, 1> noted = {0x2015};
  tree.transfers(
      who,
      {.rows = row, .list = list, .book = book, .noted = noted, .summed = span, .paths = paths});

  tree.branches(who, all.subspan(1));
  EXPECT_EQ(shape(tree), "[prog]:1/2(h:1/1 [prog+0x2100]:1/2(_dl_resolve:1/1 g:1/0))");
}

TEST(CallTree, JumpsWithinCodeWithoutSymbolsNeedNotComeWhereItNeverHasAny) {
  Program program;
  CallTree tree(program, nanosecond_clock());
  const session::Context who{.pid = 1, .tid = 1};
  const auto jump = [](std::uint64_t from, std::uint64_t to) {
    return Branch{.from = from, .to = to, .time = 100, .kind = BranchKind::jmp};
  };
  const auto comes = [&](std::uint64_t line, std::uint64_t from, std::uint64_t to) {
    return !tree.may_leave_out(who, line, jump(from, to));
  };
  EXPECT_FALSE(comes(0x2000, 0x2010, 0x2800));
  EXPECT_TRUE(comes(0x1310, 0x2010, 0x2800));  // falls into it
  EXPECT_TRUE(comes(0x2000, 0x2010, 0x1300));
  EXPECT_TRUE(comes(0x2000, 0x2010, 0x4000));
  EXPECT_TRUE(comes(0x4000, 0x4010, 0x4020));  // nothing known is there
  const flow::CallJudge& judge = *tree.call_judge(who);
  EXPECT_EQ(judge.op(jump(0x2010, 0x2800)).kind, flow::CallOp::Kind::stays);
  EXPECT_EQ(judge.op(jump(0x2010, 0x1300)).kind, flow::CallOp::Kind::other);
  EXPECT_EQ(judge.op(jump(0x1310, 0x2010)).kind, flow::CallOp::Kind::other);

  program.names_more = true;
  EXPECT_TRUE(comes(0x2000, 0x2010, 0x2800));
  EXPECT_EQ(judge.op(jump(0x2010, 0x2800)).kind, flow::CallOp::Kind::other);
  Branch call = jump(0x2010, 0x1300);
  call.kind = BranchKind::call;
  EXPECT_EQ(judge.op(call).kind, flow::CallOp::Kind::other);
}

// Whatever order a function calls others in, each has its own sums.
TEST(CallTree, CalleesThatTakeTurnsAreKeptApart) {
  std::mt19937_64 random(11);
  std::array<std::uint64_t, 3> calls{};
  Path path;
  path.begin(0x1000);
  for (int i = 0; i < 2'000; ++i) {
    // By turns for a while, then in any order.
    const std::size_t which = i < 500 ? static_cast<std::size_t>(i) % 3 : random() % 3;
    ++calls[which];
    const std::uint64_t entry = 0x1100 + 0x100 * which;
    path.call(0x1010, entry);
    if (which == 0) path.call(0x1110, 0x1200).ret(0x1220, 0x1115);
    path.ret(entry + 0x20, 0x1015);
  }
  Program program;
  CallTree tree(program, nanosecond_clock());
  tree.branches({}, path.branches());
  std::map<std::pair<std::string, std::string>, std::uint64_t> found;  // with the caller
  for (const CallNode& node : tree.nodes().subspan(3)) {
    const CallNode& parent = tree.nodes()[node.parent];
    found[{tree.functions()[parent.function].name, tree.functions()[node.function].name}] +=
        node.calls;
  }
  const decltype(found) expected{{{"main", "f"}, calls[0]},
                                 {{"main", "g"}, calls[1]},
                                 {{"main", "h"}, calls[2]},
                                 {{"f", "g"}, calls[0]}};
  EXPECT_EQ(found, expected);
}

// Of branches that come without a time most are followed by a shorter way.
TEST(CallTree, BranchesWithoutTimesAreFollowedAsThoseWith) {
  std::mt19937_64 random(13);
  const auto address = [&random] {
    constexpr std::array<std::uint64_t, 4> kPlaces = {0, 0x10, 0x15, 0x20};
    return 0x1000 + 0x100 * (random() % 12) + kPlaces[random() % kPlaces.size()];
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<Branch> timed{{.to = 0x1000, .time = 1, .kind = BranchKind::begin}};
    for (std::uint64_t i = 0; i < 60; ++i) {
      using enum BranchKind;
      constexpr std::array<BranchKind, 8> kKinds = {call, call, icall, ret, ret, jmp, ijmp, end};
      timed.push_back({.from = address(),
                       .to = random() % 30 == 0 ? 0 : address(),
                       .time = i + 2,
                       .insns = static_cast<std::uint32_t>(random() % 4),
                       .kind = kKinds[random() % kKinds.size()],
                       .flags = static_cast<std::uint8_t>(random() % 20 == 0 ? kTraceEnd : 0)});
    }
    std::vector<Branch> timeless = timed;
    for (Branch& branch : timeless) branch.time = 0;
    Program program;
    CallTree one(program, nanosecond_clock());
    CallTree other(program, nanosecond_clock());
    one.branches({}, timed);
    other.branches({}, timeless);
    ASSERT_EQ(shape(one), shape(other)) << "round " << round;
    EXPECT_EQ(one.threads()[0].restarts, other.threads()[0].restarts);
  }
}

// A path of which jumps within functions are left out, and the rest comes as transfers.
class Transferred {
 public:
  // `within` tells which may be left out; some are.
  Transferred(std::span<const Branch> path, std::mt19937_64& random,
              bool (*within)(const Branch& before, const Branch& jump)) {
    std::uint64_t time = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Branch& branch = path[i];
      const bool first = std::exchange(time, branch.time) != branch.time || i == 0;
      if (!first && random() % 4 != 0 && within(path[i - 1], branch)) {
        leave_out(branch);
      } else if (!first && random() % 8 != 0) {
        tell(branch);
      } else {
        end_row(branch.time);
        walked_.push_back(branch);
      }
    }
    end_row(time);
  }
  flow::Transfers batch() const {
    return {.walked = walked_, .rows = rows_, .list = list_, .book = book_};
  }

 private:
  void leave_out(const Branch& branch) {
    ++left_.branches;
    left_.insns += branch.insns;
  }
  void tell(const Branch& branch) {
    const bool direct = branch.kind != BranchKind::ret && branch.kind != BranchKind::icall &&
                        branch.kind != BranchKind::ijmp;
    Branch written = branch;
    written.to = direct ? branch.to : 0;
    const std::uint32_t since = branch.insns != 0 ? 1 : 0;
    written.insns -= since;
    left_.what = book_->add({&written, 1});
    left_.since = since;
    left_.insns += since;
    left_.to = direct ? 0 : branch.to;
    list_.push_back(std::exchange(left_, {}));
    time_ = branch.time;
  }
  void end_row(std::uint64_t time) {
    if (left_.branches != 0) list_.push_back(std::exchange(left_, {}));
    if (list_.size() != begun_) {
      rows_.push_back({.time = time_ != 0 ? time_ : time,
                       .begin = static_cast<std::uint32_t>(walked_.size()),
                       .count = static_cast<std::uint32_t>(list_.size() - begun_)});
    }
    begun_ = list_.size();
    time_ = 0;
  }

  std::shared_ptr<flow::TransferBook> book_ = std::make_shared<flow::TransferBook>();
  std::vector<Branch> walked_;
  std::vector<flow::Transfers::Row> rows_;
  std::vector<flow::Transfer> list_;
  flow::Transfer left_;
  std::size_t begun_ = 0;
  std::uint64_t time_ = 0;
};

TEST(CallTree, TransfersAreFollowedAsTheirBranches) {
  std::mt19937_64 random(17);
  const auto address = [&random] {
    constexpr std::array<std::uint64_t, 4> kPlaces = {0, 0x10, 0x15, 0x20};
    return 0x1000 + 0x100 * (random() % 12) + kPlaces[random() % kPlaces.size()];
  };
  const auto within = [](const Branch& before, const Branch& jump) {
    const auto function = [](std::uint64_t at) { return at >> 8; };
    const bool known = jump.from < 0x1400 && function(before.to) == function(jump.from);
    return known && function(jump.from) == function(jump.to) && jump.kind == BranchKind::jmp &&
           jump.flags == 0 && before.flags == 0;
  };
  for (int round = 0; round < 120; ++round) {
    std::vector<Branch> path{{.to = 0x1000, .time = 1, .kind = BranchKind::begin}};
    for (int i = 0; i < 500; ++i) {
      using enum BranchKind;
      constexpr std::array<BranchKind, 8> kKinds = {call, call, icall, ret, ret, jmp, jmp, ijmp};
      const Branch& before = path.back();
      const std::uint64_t time = before.time + (random() % 10 == 0 ? 1 : 0);
      const std::uint64_t function = before.to & ~std::uint64_t{0xff};
      const std::uint64_t from = function + 0x10 * (random() % 3);
      // Much stays in a function, and returns go to where the last calls were.
      const std::uint64_t to = random() % 2 == 0 ? function + 0x15 : address();
      if (random() % 20 == 0) {
        path.push_back({.from = from, .time = time, .kind = end, .flags = kTraceEnd});
        path.push_back({.to = to, .time = time, .kind = begin});
        continue;
      }
      path.push_back({.from = from,
                      .to = to,
                      .time = time,
                      .insns = static_cast<std::uint32_t>(random() % 4),
                      .kind = kKinds[random() % kKinds.size()]});
    }
    const Transferred transferred(path, random, within);
    Program program;
    CallTree one(program, nanosecond_clock());
    CallTree other(program, nanosecond_clock());
    one.branches({}, path);
    other.transfers({}, transferred.batch());
    ASSERT_EQ(shape(one), shape(other)) << "round " << round;
    EXPECT_EQ(one.threads()[0].restarts, other.threads()[0].restarts);
    Following following(program, nanosecond_clock());
    Following apart(program, nanosecond_clock());  // return sites are its own
    OpenCalls by_branches(following, nullptr);
    OpenCalls by_transfers(apart, nullptr);
    by_branches.branches(0, path);
    by_transfers.transfers(0, transferred.batch());
    ASSERT_EQ(text_of(by_branches.save()), text_of(by_transfers.save())) << "round " << round;
  }
}

// Whatever the branches are: nothing crashes, and every instruction is in one node.
TEST(CallTree, AnyBranchesAreCountedOnce) {
  std::mt19937_64 random(7);
  Program program;
  CallTree tree(program, nanosecond_clock(), 200);
  std::uint64_t instructions = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto address = [&] { return random() % 8 == 0 ? 0 : 0xf00 + random() % 0x2400; };
    Branch branch{.from = address(),
                  .to = address(),
                  .time = random() % 1000,
                  .insns = static_cast<std::uint32_t>(random() % 10),
                  .kind = static_cast<BranchKind>(random() % kBranchKinds),
                  .flags = static_cast<std::uint8_t>(random() % 128 & ~kNotTaken)};
    instructions += branch.insns;
    session::Context who{.space = static_cast<std::uint32_t>(random() % 2),
                         .tid = static_cast<std::int32_t>(random() % 3)};
    tree.branches(who, std::span(&branch, 1));
  }
  std::uint64_t sum = 0;
  for (const CallNode& node : tree.nodes()) sum += node.instructions;
  EXPECT_EQ(sum, instructions);
  EXPECT_LE(tree.nodes().size(), 201u);
}

}  // namespace
}  // namespace hodo::analyze
