#include "bound_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hodo::ask {
namespace {

// A program at 0x400000 and the loader at 0x7f0000000000.
class Files : public session::Names {
 public:
  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    return {.symbol = "f", .offset = address & 0xfff, .object = path(address)};
  }
  session::Object object(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    return {.path = path(address), .offset = address & 0xffff};
  }
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }

 private:
  static std::string path(std::uint64_t address) {
    return address < 0x500000 ? "/bin/prog" : "/lib64/ld-linux-x86-64.so.2";
  }
};

constexpr std::uint64_t kStub = 0x401060, kEntry = 0x401026, kFirst = 0x401000;
constexpr std::uint64_t kResolve = 0x7f0000001000, kFunction = 0x402000;

const std::vector<Branch> kFirstCall = {
    {.from = 0x402100, .to = kStub, .kind = BranchKind::call},
    {.from = kStub + 4, .to = kEntry, .kind = BranchKind::ijmp},
    {.from = kEntry + 5, .to = kFirst, .kind = BranchKind::jmp},
    {.from = kFirst + 6, .to = kResolve, .kind = BranchKind::ijmp},
    {.from = kResolve + 8, .to = kResolve + 0x100, .kind = BranchKind::call},
    {.from = kResolve + 0x104, .to = kResolve + 0x200, .kind = BranchKind::ijmp},
    {.from = kResolve + 0x208, .to = kResolve + 13, .kind = BranchKind::ret},
    {.from = kResolve + 40, .to = kFunction, .kind = BranchKind::ijmp},
    {.from = kFunction + 4, .to = 0x402105, .kind = BranchKind::ret},
};

// What counts of these, and at the end.
std::vector<TakenBranch> counted(std::vector<Branch> branches, bool ended = true) {
  const Files files;
  const RebuiltFiles rebuilt;
  Neutral neutral(files, rebuilt);
  BoundCalls calls(neutral);
  std::vector<TakenBranch> out;
  std::uint64_t number = 0;
  const auto add = [&](std::span<const TakenBranch> more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  for (const Branch& branch : branches) add(calls.next({.number = ++number, .branch = branch}));
  if (ended) add(calls.rest());
  return out;
}

TEST(BoundCalls, lead_to_their_function_at_once) {
  const auto got = counted(kFirstCall);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[0].number, 1u);
  EXPECT_EQ(got[1].branch.from, kStub + 4);
  EXPECT_EQ(got[1].branch.to, kFunction);
  EXPECT_EQ(got[1].number, 2u);
  EXPECT_EQ(got[1].folded, 6u);
  EXPECT_EQ(got[2].number, 9u);
}

TEST(BoundCalls, are_nothing_else) {
  // Each branch that is like one of theirs, as far as it goes, and then another.
  for (std::size_t same = 1; same < 4; ++same) {
    std::vector<Branch> branches(kFirstCall.begin(),
                                 kFirstCall.begin() + static_cast<std::ptrdiff_t>(same));
    branches.push_back({.from = 0x403000, .to = 0x403010, .kind = BranchKind::cond});
    branches.push_back({.from = 0x403020, .to = 0x403000, .kind = BranchKind::ijmp});
    const auto got = counted(branches);
    ASSERT_EQ(got.size(), branches.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].number, i + 1);
      EXPECT_EQ(got[i].branch.to, branches[i].to);
      EXPECT_EQ(got[i].folded, 0u);
    }
  }
}

TEST(BoundCalls, begin_anew_where_one_of_them_is_not) {
  std::vector<Branch> branches = {{.from = 0x403020, .to = 0x403000, .kind = BranchKind::ijmp}};
  branches.insert(branches.end(), kFirstCall.begin() + 1, kFirstCall.end());
  const auto got = counted(branches);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1].branch.to, kFunction);
}

TEST(BoundCalls, that_do_not_come_back_keep_their_jump) {
  for (std::size_t taken = 4; taken < 8; ++taken) {
    const std::vector<Branch> cut(kFirstCall.begin(),
                                  kFirstCall.begin() + static_cast<std::ptrdiff_t>(taken));
    EXPECT_EQ(counted(cut, false).size(), 1u);
    const auto got = counted(cut);
    ASSERT_EQ(got.size(), 2u);
    EXPECT_EQ(got[1].branch.to, kEntry);
  }
  // Out of the loader by a return.
  std::vector<Branch> left(kFirstCall.begin(), kFirstCall.begin() + 4);
  left.push_back({.from = kResolve + 4, .to = 0x402105, .kind = BranchKind::ret});
  const auto got = counted(left);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[2].number, 5u);
}

}  // namespace
}  // namespace hodo::ask
