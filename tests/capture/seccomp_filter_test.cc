// Filters of system calls, as a process may have installed them.
#include "dbi/seccomp_filter.h"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <cstddef>
#include <vector>

namespace hodo::capture {
namespace {

constexpr std::uint16_t kLoad = BPF_LD | BPF_W | BPF_ABS;
constexpr std::uint16_t kIfEqual = BPF_JMP | BPF_JEQ | BPF_K;
constexpr std::uint16_t kIfSet = BPF_JMP | BPF_JSET | BPF_K;
constexpr std::uint16_t kReturn = BPF_RET | BPF_K;

seccomp_data call(int number, std::uint64_t third = 0) {
  seccomp_data made{};
  made.nr = number;
  made.arch = AUDIT_ARCH_X86_64;
  made.args[2] = third;
  return made;
}

// As systemd's MemoryDenyWriteExecute: mmap with PROT_EXEC and PROT_WRITE fails.
const std::vector<sock_filter> kNoWritableCode = {
    {kLoad, 0, 0, offsetof(seccomp_data, arch)},
    {kIfEqual, 1, 0, AUDIT_ARCH_X86_64},
    {kReturn, 0, 0, SECCOMP_RET_KILL_PROCESS},
    {kLoad, 0, 0, offsetof(seccomp_data, nr)},
    {kIfEqual, 0, 5, SYS_mmap},
    {kLoad, 0, 0, offsetof(seccomp_data, args) + 16},
    {BPF_ALU | BPF_AND | BPF_K, 0, 0, 6},
    {kIfEqual, 1, 0, 6},
    {kReturn, 0, 0, SECCOMP_RET_ALLOW},
    {kReturn, 0, 0, SECCOMP_RET_ERRNO | 1},
    {kReturn, 0, 0, SECCOMP_RET_ALLOW},
};

TEST(SeccompFilterTest, ArgumentsDecide) {
  EXPECT_EQ(run_filter(kNoWritableCode, call(SYS_mmap, 7)), SECCOMP_RET_ERRNO | 1u);
  EXPECT_EQ(run_filter(kNoWritableCode, call(SYS_mmap, 3)), SECCOMP_RET_ALLOW);
  EXPECT_EQ(run_filter(kNoWritableCode, call(SYS_read, 7)), SECCOMP_RET_ALLOW);
}

TEST(SeccompFilterTest, OtherArchitecturesAreOfNoConcern) {
  seccomp_data other = call(SYS_read);
  other.arch = AUDIT_ARCH_I386;
  EXPECT_EQ(run_filter(kNoWritableCode, other), SECCOMP_RET_KILL_PROCESS);
}

// Every kind of instruction that seccomp takes: ((5 + X) << 1 | 1) with X = the call's number, kept
// in memory and read back.
TEST(SeccompFilterTest, Calculates) {
  const std::vector<sock_filter> filter = {
      {kLoad, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_MISC | BPF_TAX, 0, 0, 0},
      {BPF_LD | BPF_IMM, 0, 0, 5},
      {BPF_ALU | BPF_ADD | BPF_X, 0, 0, 0},
      {BPF_ALU | BPF_LSH | BPF_K, 0, 0, 1},
      {BPF_ALU | BPF_OR | BPF_K, 0, 0, 1},
      {BPF_ST, 0, 0, 15},
      {BPF_LD | BPF_IMM, 0, 0, 0},
      {BPF_LD | BPF_MEM, 0, 0, 15},
      {kIfSet, 0, 1, 1},
      {BPF_RET | BPF_A, 0, 0, 0},
      {kReturn, 0, 0, 0},
  };
  EXPECT_EQ(run_filter(filter, call(20)), 51u);
}

TEST(SeccompFilterTest, JumpsForward) {
  const std::vector<sock_filter> filter = {
      {BPF_JMP | BPF_JA, 0, 0, 1},
      {kReturn, 0, 0, 1},
      {kReturn, 0, 0, 2},
  };
  EXPECT_EQ(run_filter(filter, call(0)), 2u);
}

// The kernel takes none of these; here they come from another process's memory of the kernel.
TEST(SeccompFilterTest, BrokenOnesKill) {
  const std::vector<std::vector<sock_filter>> broken = {
      {},
      {{BPF_LD | BPF_IMM, 0, 0, 1}},
      {{BPF_JMP | BPF_JA, 0, 0, 0xffffffff}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
      {{kIfEqual, 255, 255, 0}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
      {{kLoad, 0, 0, sizeof(seccomp_data) - 3}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
      {{kLoad, 0, 0, 0xfffffffc}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
      {{BPF_LD | BPF_MEM, 0, 0, 16}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
      {{BPF_ST, 0, 0, 16}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
      {{BPF_ALU | BPF_DIV | BPF_K, 0, 0, 0}, {kReturn, 0, 0, SECCOMP_RET_ALLOW}},
  };
  for (const auto& filter : broken) {
    EXPECT_EQ(run_filter(filter, call(0)), SECCOMP_RET_KILL_PROCESS);
  }
}

}  // namespace
}  // namespace hodo::capture
