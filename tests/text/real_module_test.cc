// Analyses of files that compilers made: this test itself, and the C library.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <stdexcept>

#include "hodo/text/module.h"

// Found by name in the analysis. The switch is dense enough to become a jump table.
extern "C" [[gnu::noinline]] int hodo_test_switch(int which, int value) {
  switch (which) {
    case 0:
      return value * 3;
    case 1:
      return value ^ 0x55;
    case 2:
      return value / 7;
    case 3:
      return value << 3;
    case 4:
      return value - 1000;
    case 5:
      return value % 11;
    case 6:
      return ~value;
    case 7:
      return value * value;
    default:
      return 0;
  }
}

extern "C" [[gnu::noinline]] int hodo_test_throw(int value) {
  if (value == 77) throw std::out_of_range("77");
  return value + 1;
}

extern "C" [[gnu::noinline]] int hodo_test_catch(int value) {
  try {
    return hodo_test_throw(value);
  } catch (const std::out_of_range&) {
    return -1;
  }
}

namespace hodo::text {
namespace {

constexpr const char* kLibc = "/lib/x86_64-linux-gnu/libc.so.6";

std::shared_ptr<const Module> analyze(const std::string& path) {
  auto module = Module::analyze(path);
  if (!module) {
    ADD_FAILURE() << module.error().message;
    return nullptr;
  }
  EXPECT_TRUE((*module)->complete());
  return *module;
}

const Module& self() {
  static const std::shared_ptr<const Module> module = analyze("/proc/self/exe");
  return *module;
}

Function function_named(const Module& module, std::string_view name) {
  const auto found = module.symbols().named(name);
  if (found.empty()) {
    ADD_FAILURE() << "no symbol " << name;
    return {};
  }
  return {found[0].start, found[0].start + found[0].size};
}

TEST(ThisProgram, HasItsFunctionsMarked) {
  const Function f = function_named(self(), "hodo_test_switch");
  EXPECT_TRUE(self().has(f.begin, kStart));
  EXPECT_TRUE(self().has(f.begin, kInsn));
  ASSERT_NE(self().function(f.begin), nullptr);
  EXPECT_EQ(self().function(f.begin)->begin, f.begin);
  EXPECT_EQ(hodo_test_switch(3, 2), 16);
}

TEST(ThisProgram, HasTheJumpTableOfASwitch) {
  const Function f = function_named(self(), "hodo_test_switch");
  int targets = 0;
  for (std::uint64_t at = f.begin; at < f.end; ++at) targets += self().has(at, kTableTarget);
  EXPECT_GE(targets, 8);
}

TEST(ThisProgram, HasTheLandingPadOfACatch) {
  const Function f = function_named(self(), "hodo_test_catch");
  const std::uint64_t thrower = function_named(self(), "hodo_test_throw").begin;
  EXPECT_EQ(hodo_test_catch(77), -1);
  // The call of the function that throws lands somewhere in this function or in its cold part.
  for (std::uint64_t at = f.begin; at < f.end; ++at) {
    const auto insn = self().has(at, kInsn) ? self().insn(at) : std::nullopt;
    if (!insn || insn->cls != isa::InsnClass::call || insn->target != thrower) continue;
    const std::uint64_t back = at + insn->length;
    EXPECT_EQ(self().callee_before(back), "hodo_test_throw");
    EXPECT_TRUE(std::ranges::any_of(self().landings(), [&](const LandingPad& l) {
      return self().lands(back, l.pad) && self().has(l.pad, kLanding);
    }));
    return;
  }
  FAIL() << "the call was not found";
}

TEST(TheCLibrary, HasItsStackSwitchesMarked) {
  const auto libc = analyze(kLibc);
  ASSERT_TRUE(libc);
  std::set<std::string> found;
  for (const symbol::Symbol& s : libc->symbols().symbols()) {
    if (s.name != "swapcontext" && s.name != "setcontext" && s.name != "getcontext") continue;
    for (std::uint64_t at = s.start; at < s.start + s.size; ++at) {
      if (libc->has(at, kSwitchesStack)) found.insert(std::string(s.name));
    }
  }
  EXPECT_EQ(found, (std::set<std::string>{"setcontext", "swapcontext"}));
}

TEST(TheCLibrary, HasCallsOfSetjmp) {
  const auto libc = analyze(kLibc);
  ASSERT_TRUE(libc);
  int calls = 0;
  for (const Function& f : libc->functions()) {
    for (std::uint64_t at = f.begin; at < f.end; ++at) {
      calls += libc->callee_before(at).find("setjmp") != std::string_view::npos;
    }
  }
  EXPECT_GE(calls, 2) << "the start of a program and of a thread";
}

// Another reader of unwind tables has the same functions. The entry of one, which signal handlers
// return to, begins a byte early.
TEST(TheCLibrary, HasTheFunctionsThatReadelfLists) {
  const std::string command =
      std::string("readelf --debug-dump=frames -wN ") + kLibc + " 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE*)> listed(popen(command.c_str(), "r"), pclose);
  ASSERT_TRUE(listed);
  std::set<std::uint64_t> theirs;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), listed.get()) != nullptr) {
    const char* pc = std::strstr(line.data(), "pc=");
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    if (pc == nullptr || std::sscanf(pc, "pc=%" SCNx64 "..%" SCNx64, &begin, &end) != 2) continue;
    if (begin != end) theirs.insert(begin);
  }
  const auto libc = analyze(kLibc);
  ASSERT_TRUE(libc);
  EXPECT_GT(theirs.size(), 1000u);
  std::set<std::uint64_t> missing;
  for (const std::uint64_t begin : theirs) {
    if (!libc->has(begin, kStart)) missing.insert(begin);
    const Function* f = libc->function(begin);
    if (f == nullptr || f->begin != begin) missing.insert(begin);
  }
  ASSERT_EQ(missing.size(), 1u) << "of " << theirs.size();
  const std::uint64_t restorer = *missing.begin() + 1;
  const Function* f = libc->function(restorer);
  ASSERT_NE(f, nullptr);
  EXPECT_EQ(f->begin, restorer);
  EXPECT_EQ(restorer % 16, 0u);
}

}  // namespace
}  // namespace hodo::text
