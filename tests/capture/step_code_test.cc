#include "step/step_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hodo::capture {
namespace {

class Bytes final : public CodeReader {
 public:
  explicit Bytes(std::vector<std::uint8_t> bytes) : bytes_(std::move(bytes)) {}
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    if (address < kStart || address - kStart >= bytes_.size()) return 0;
    const auto rest = std::span(bytes_).subspan(address - kStart);
    const std::size_t size = std::min(rest.size(), out.size());
    std::ranges::copy(rest.first(size), out.begin());
    return size;
  }
  static constexpr std::uint64_t kStart = 0x1000;

 private:
  std::vector<std::uint8_t> bytes_;
};

constexpr auto kMode = isa::Mode::bits64;

TEST(LookAhead, DifferentTargetsTellBranchesApart) {
  Bytes code({0x74, 0x10, 0x75, 0x20, 0x90, 0xeb, 0x30});  // je 1012; jne 1024; nop; jmp 1037
  EXPECT_TRUE(look_ahead(code, 0x1000, kMode).tells);
  EXPECT_FALSE(look_ahead(code, 0x1000, kMode).system_call);
}

TEST(LookAhead, TwoBranchesToOnePlaceDoNot) {
  Bytes code({0x74, 0x10, 0x90, 0x75, 0x0d, 0xeb, 0x30});  // je 1012; nop; jne 1012
  EXPECT_FALSE(look_ahead(code, 0x1000, kMode).tells);
  EXPECT_TRUE(look_ahead(code, 0x1002, kMode).tells);
}

TEST(LookAhead, AnIndirectBranchCouldLeadWhereAnotherLeads) {
  Bytes code({0x74, 0x10, 0xff, 0xe0, 0x90, 0xc3});  // je 1012; jmp *rax; nop; ret
  EXPECT_FALSE(look_ahead(code, 0x1000, kMode).tells);
  EXPECT_TRUE(look_ahead(code, 0x1004, kMode).tells) << "alone it is the only one";
}

TEST(LookAhead, ASystemCallEndsTheLine) {
  Bytes code({0x90, 0x0f, 0x05, 0xeb, 0x30});
  EXPECT_TRUE(look_ahead(code, 0x1000, kMode).system_call);
}

TEST(LookAhead, CodeThatEndsOrNeverBranchesTellsNothing) {
  Bytes cut({0x90, 0x90});
  EXPECT_FALSE(look_ahead(cut, 0x1000, kMode).tells);
  Bytes endless(std::vector<std::uint8_t>(4096, 0x90));
  EXPECT_FALSE(look_ahead(endless, 0x1000, kMode).tells);
}

TEST(BranchTaken, IsTheOneThatLeadsThere) {
  Bytes code({0x74, 0x10, 0x75, 0x20, 0x90, 0xc3});  // je 1012; jne 1024; nop; ret
  EXPECT_EQ(branch_taken(code, 0x1000, 0x1012, kMode)->address, 0x1000u);
  EXPECT_EQ(branch_taken(code, 0x1000, 0x1024, kMode)->address, 0x1002u);
  EXPECT_EQ(branch_taken(code, 0x1000, 0x7000, kMode)->address, 0x1005u);
  Bytes cut({0x90, 0x90});
  EXPECT_FALSE(branch_taken(cut, 0x1000, 0x7000, kMode));
}

TEST(Branched, AConditionalOneOnlyIfItWentToItsTarget) {
  Bytes code({0x74, 0x10, 0x90, 0xeb, 0xfe});
  EXPECT_TRUE(branched(*insn_at(code, 0x1000, kMode), 0x1012));
  EXPECT_FALSE(branched(*insn_at(code, 0x1000, kMode), 0x1002));
  EXPECT_FALSE(branched(*insn_at(code, 0x1002, kMode), 0x1003));
  EXPECT_TRUE(branched(*insn_at(code, 0x1003, kMode), 0x1003)) << "a jump to itself";
}

// Right up to the end of what is mapped.
TEST(ProcessCode, ReadsThisProcess) {
  static const std::uint8_t kHere[] = {0xeb, 0xfe};
  ProcessCode code(::getpid());
  const auto insn = insn_at(code, reinterpret_cast<std::uintptr_t>(kHere), kMode);
  ASSERT_TRUE(insn);
  EXPECT_EQ(insn->insn.length, 2u);
  EXPECT_FALSE(insn_at(code, 16, kMode));
}

}  // namespace
}  // namespace hodo::capture
