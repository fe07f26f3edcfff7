// What a program is told when it begins, read from this process's own memory.
#include "program_start.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <array>
#include <vector>

namespace hodo::plugin {
namespace {

std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

// argc, arguments, environment, auxiliary vector.
std::vector<std::uint64_t> stack_with(const std::vector<std::uint64_t>& auxiliary) {
  std::vector<std::uint64_t> out = {2, 0x1000, 0x1001, 0, 0x1002, 0x1003, 0x1004, 0};
  out.insert(out.end(), auxiliary.begin(), auxiliary.end());
  out.insert(out.end(), {AT_NULL, 0});
  return out;
}

TEST(ProgramStart, IsReadFromTheStack) {
  const auto stack = stack_with(
      {AT_PAGESZ, 4096, AT_ENTRY, 0x401000, AT_SYSINFO_EHDR, ::getauxval(AT_SYSINFO_EHDR)});
  const ProgramStart start = program_start(Guest(), address_of(stack.data()));
  EXPECT_EQ(start.entry, 0x401000u);
  EXPECT_EQ(start.vdso.start, ::getauxval(AT_SYSINFO_EHDR));
  EXPECT_GE(start.vdso.end - start.vdso.start, 4096u);
  EXPECT_LE(start.vdso.end - start.vdso.start, 16u * 4096u);
  EXPECT_EQ(start.vdso.end % 4096, 0u);
}

TEST(ProgramStart, WithoutAVdso) {
  const auto stack = stack_with({AT_ENTRY, 0x401000});
  EXPECT_EQ(program_start(Guest(), address_of(stack.data())).vdso.end, 0u);
}

TEST(ProgramStart, OfAStackThatIsNone) {
  EXPECT_EQ(program_start(Guest(), 0).entry, 0u);
  EXPECT_EQ(program_start(Guest(), 8).entry, 0u);
  const std::array<std::uint64_t, 1> many = {~std::uint64_t{0}};
  EXPECT_EQ(program_start(Guest(), address_of(many.data())).entry, 0u);
}

TEST(ProgramStart, OfAVdsoThatIsNoElfFile) {
  const std::array<std::uint64_t, 8> zeros{};
  const auto stack = stack_with({AT_SYSINFO_EHDR, address_of(zeros.data()), AT_ENTRY, 0x401000});
  const ProgramStart start = program_start(Guest(), address_of(stack.data()));
  EXPECT_EQ(start.vdso.start, start.vdso.end);
  EXPECT_EQ(start.entry, 0x401000u);
}

}  // namespace
}  // namespace hodo::plugin
