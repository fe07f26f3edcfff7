#include "compilers_calls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hodo::ask {
namespace {

// A program at 0x400000, whose stubs begin at 0x401000, and the C library at 0x7f0000000000.
class Files : public session::Names {
 public:
  session::Place place(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    session::Place out{.symbol = "f", .offset = address & 0xff, .object = path(address)};
    out.stub = address >> 8 == 0x4010 || address >> 8 == 0x4011;
    if (out.stub) out.symbol = address >> 8 == 0x4010 ? "memset@plt" : "printf@plt";
    if (address >> 8 == 0x4030) out.symbol = "alike";
    return out;
  }
  session::Object object(std::uint32_t, std::uint64_t address, std::uint64_t) const override {
    return {.path = path(address), .offset = address & 0xffff};
  }
  std::uint32_t generation(std::uint32_t, std::uint64_t) const override { return 0; }

 private:
  static std::string path(std::uint64_t address) {
    return address < 0x500000 ? "/bin/prog" : "/lib/x86_64-linux-gnu/libc.so.6";
  }
};

constexpr std::uint64_t kCaller = 0x402000, kSite = 0x402100, kAlike = 0x403010;
constexpr std::uint64_t kMemset = 0x401000, kPrintf = 0x401100, kLibrary = 0x7f0000001000;

// What is left of these, by where they come from.
std::vector<std::uint64_t> left(std::vector<Branch> branches) {
  const Files files;
  const RebuiltFiles rebuilt{{"prog", {.alike = {"alike"}}}};
  Neutral neutral(files, rebuilt);
  CompilersCalls calls(neutral);
  std::vector<std::uint64_t> out;
  for (Branch& branch : branches) {
    if (!calls.has(0, branch)) out.push_back(branch.from);
  }
  return out;
}

// A call of a stub, by a jump or a call, and one more within what it leads to.
std::vector<Branch> call_of(std::uint64_t stub, std::uint64_t site, BranchKind kind) {
  return {{.from = site, .to = stub, .kind = kind},
          {.from = stub + 4, .to = kLibrary, .kind = BranchKind::ijmp},
          {.from = kLibrary + 4, .to = kLibrary + 0x100, .kind = BranchKind::call},
          {.from = kLibrary + 0x104, .to = kLibrary + 9, .kind = BranchKind::ret},
          {.from = kLibrary + 0x10, .to = kCaller, .kind = BranchKind::ret},
          {.from = kCaller + 8, .to = kCaller + 0x20, .kind = BranchKind::cond}};
}

TEST(CompilersCalls, are_left_out_with_all_that_they_do) {
  using Places = std::vector<std::uint64_t>;
  EXPECT_EQ(left(call_of(kMemset, kSite, BranchKind::call)), Places{kCaller + 8});
  // The other build returns from the function that jumps here.
  EXPECT_EQ(left(call_of(kMemset, kSite, BranchKind::jmp)), (Places{kSite, kCaller + 8}));
}

TEST(CompilersCalls, are_no_others) {
  EXPECT_EQ(left(call_of(kPrintf, kSite, BranchKind::call)).size(), 6u);
  EXPECT_EQ(left(call_of(kMemset, kAlike, BranchKind::call)).size(), 6u);
}

TEST(CompilersCalls, end_where_the_program_goes_on_otherwise) {
  auto branches = call_of(kMemset, kSite, BranchKind::call);
  branches.erase(branches.begin() + 3, branches.begin() + 5);  // it never returns
  EXPECT_EQ(left(branches), std::vector<std::uint64_t>{kCaller + 8});
  branches[2].kind = BranchKind::lost;
  EXPECT_EQ(left(branches).size(), 2u);
}

}  // namespace
}  // namespace hodo::ask
