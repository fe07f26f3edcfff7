// Functions of files that do not name them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fixture.h"
#include "hodo/symbol/symbol_table.h"

namespace hodo::symbol {
namespace {

// Compiles `code` with `flags` into a program, and gives its symbols with and without .symtab.
class Synthetic : public testing::Test {
 protected:
  void compile(const std::string& code, const std::string& flags,
               const std::string& strip = "strip") {
    {
      std::ofstream out(folder_ / "it.c");
      out << code;
    }
    const std::string whole = folder_ / "whole", bare = folder_ / "bare";
    ASSERT_TRUE(test::run("gcc -w -O1 " + flags + " -o " + whole + " " + (folder_ / "it.c")));
    ASSERT_TRUE(test::run(strip + " -o " + bare + " " + whole));
    whole_ = test::open(whole);
    bare_ = test::open(bare);
    ASSERT_NE(whole_, nullptr);
    ASSERT_NE(bare_, nullptr);
  }
  Symbol named(std::string_view name) const {
    const auto found = whole_->named(name);
    EXPECT_EQ(found.size(), 1u) << name;
    return found.empty() ? Symbol{} : found.front();
  }
  // The function is found from its first byte to its last, under a name from its address.
  void expect_found(std::string_view name) const {
    const Symbol real = named(name);
    const Symbol* const first = bare_->function_at(real.start);
    ASSERT_NE(first, nullptr) << name;
    EXPECT_EQ(first->start, real.start) << name;
    EXPECT_EQ(first->kind, SymbolKind::synthetic) << name;
    char wanted[32];
    std::snprintf(wanted, sizeof wanted, "sub_%lx", real.start);
    EXPECT_EQ(first->name, wanted);
    EXPECT_EQ(bare_->function_at(real.start + real.size - 1), first) << name;
    EXPECT_EQ(bare_->named(wanted).size(), 1u) << name;
  }

  const test::TempFolder folder_;
  std::shared_ptr<const SymbolTable> whole_, bare_;
};

const char* const kProgram = R"(
__attribute__((noinline)) static int our_leaf(int n) { return n * 7 + 1; }
__attribute__((noinline)) static int our_loop(int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) sum += our_leaf(i) ^ sum;
  return sum;
}
int main(int argc, char** argv) { return our_loop(argc * 100) & 1; }
)";

TEST_F(Synthetic, UnwindTablesSayWhereFunctionsAre) {
  for (const char* flags : {"-pie -fPIE", "-no-pie -fno-pie", "-static", "-m32"}) {
    SCOPED_TRACE(flags);
    compile(kProgram, flags);
    for (const char* name : {"our_leaf", "our_loop", "main"}) expect_found(name);
    EXPECT_EQ(bare_->at(named("our_loop").start), nullptr) << "the file has no name for it";
    EXPECT_TRUE(std::ranges::none_of(
        bare_->symbols(), [](const Symbol& s) { return s.kind == SymbolKind::synthetic; }));
  }
}

TEST_F(Synthetic, WhatASignalHandlerReturnsToBeginsBehindTheStartOfItsEntry) {
  compile(std::string(kProgram) + R"(
asm(".text; .p2align 4; .fill 15, 1, 0x90; .cfi_startproc; .cfi_signal_frame; nop\n"
    ".type our_restorer, @function\n"
    "our_restorer: mov $15, %eax; syscall; .cfi_endproc; .size our_restorer, . - our_restorer");
)",
          "-pie -fPIE");
  expect_found("our_restorer");
}

// The compiler has moved what rarely runs away.
class MovedAway : public Synthetic {
 protected:
  void expect_part_of(std::string_view function, std::string_view name, SymbolKind kind) const {
    const Symbol part = named(std::string(function) + ".cold");
    const Symbol* const found = bare_->function_at(part.start);
    ASSERT_NE(found, nullptr) << function;
    EXPECT_EQ(found->name, std::string(name) + ".cold");
    EXPECT_EQ(found->kind, kind);
    EXPECT_EQ(bare_->function_at(part.start + part.size - 1), found);
  }
  std::string without_name(std::string_view function) const {
    return std::string(bare_->function_at(named(function).start)->name);
  }
};

TEST_F(MovedAway, PartsOfFunctionsAreTheirs) {
  compile(R"(
volatile int seen;
__attribute__((noipa, cold)) int rare(int n) { return seen = n; }
__attribute__((noipa)) int often(int n) { return seen + n; }
#define SPLIT(name, times) __attribute__((noinline)) name(int n) { \
  int a = often(n); \
  if (n == 77) a = rare(a) + rare(n); \
  return often(a) + times * a; }
SPLIT(static int hidden, 1)
SPLIT(int exported, 2)
int main(int argc, char** argv) { return hidden(argc) + exported(argc); }
)",
          "-pie -fPIE -O2 -rdynamic");
  expect_part_of("hidden", without_name("hidden"), SymbolKind::synthetic);
  expect_part_of("exported", "exported", SymbolKind::function);
}

TEST_F(MovedAway, LandingPadsAreOfTheFunctionThatLandsThere) {
  compile(R"(
volatile int seen;
struct Guard { ~Guard() { seen = 1; } };
__attribute__((noinline)) int throws(int n) { if (n > 5) throw n; return n; }
extern "C" __attribute__((noinline)) int cleans_up(int n) { Guard guard; return throws(n) + 1; }
int main(int argc, char** argv) { return cleans_up(argc); }
)",
          "-O2 -Wl,--no-as-needed -lstdc++ -x c++");
  expect_part_of("cleans_up", without_name("cleans_up"), SymbolKind::synthetic);
}

// As an entry by hand may say: nothing leads from there into the middle of a function.
TEST_F(Synthetic, WhatBeginsInAFrameAndLeadsNowhereIsAFunction) {
  compile(std::string(kProgram) + R"(
asm(".text; .p2align 4; .type our_entry, @function\n"
    "our_entry: .cfi_startproc; .cfi_def_cfa_offset 24; jmp our_target; .cfi_endproc\n"
    ".size our_entry, . - our_entry; .p2align 4; .type our_target, @function\n"
    "our_target: .cfi_startproc; nop; ret; .cfi_endproc; .size our_target, . - our_target");
)",
          "-pie -fPIE");
  for (const char* name : {"our_entry", "our_target"}) expect_found(name);
}

TEST_F(Synthetic, WithoutUnwindTablesCallsDo) {
  for (const char* flags : {"-no-pie -fno-pie", "-m32 -fno-pie -no-pie"}) {
    SCOPED_TRACE(flags);
    compile(kProgram, std::string(flags) + " -fno-asynchronous-unwind-tables -fno-unwind-tables");
    for (const char* name : {"our_leaf", "our_loop"}) expect_found(name);
  }
}

// A callback that nothing calls by its address stands behind another function's end.
TEST_F(Synthetic, WhatOnlyPointersLeadToIsNotTheNeighbours) {
  compile(R"(
__attribute__((noinline)) static int before(int n) { return n * 7 + 1; }
__attribute__((noinline)) static int callback(int n) { return n * 5 + 3; }
__attribute__((noinline)) static int behind(int n) { return n * 3 + 2; }
int (*volatile chosen)(int) = callback;
int main(int argc, char** argv) { return before(argc) + chosen(argc) + behind(argc); }
)",
          "-no-pie -fno-pie -falign-functions=16 -fno-asynchronous-unwind-tables "
          "-fno-unwind-tables -fno-toplevel-reorder");
  for (const char* name : {"before", "callback", "behind"}) expect_found(name);
}

TEST_F(Synthetic, FunctionsBetweenExportedOnesAreNotTheirs) {
  compile(R"(
__attribute__((noinline)) static int hidden(int n) { return n * 7 + 1; }
int exported(int n) { return hidden(n) + 1; }
__attribute__((noinline)) static int hidden_too(int n) { return n * 5 + 1; }
int exported_too(int n) { return hidden_too(n) + 1; }
__asm__(".globl bare_label\n.text\nbare_label:\n ret\n");
int last(int n) { return n; }
)",
          "-shared -fPIC -fno-toplevel-reorder");
  for (const char* name : {"hidden", "hidden_too"}) expect_found(name);
  for (const char* name : {"exported", "exported_too", "last"}) {
    const Symbol real = named(name);
    for (const std::uint64_t at : {real.start, real.start + real.size - 1}) {
      const Symbol* const found = bare_->function_at(at);
      ASSERT_NE(found, nullptr) << name;
      EXPECT_EQ(found->name, name);
      EXPECT_EQ(found->kind, SymbolKind::function);
    }
  }
  // A symbol without a size ends where the next function begins.
  const Symbol* const label = bare_->function_at(named("bare_label").start);
  ASSERT_NE(label, nullptr);
  EXPECT_EQ(label->name, "bare_label");
  EXPECT_LE(label->start + label->size, named("last").start);
}

TEST_F(Synthetic, NamesStayBesideASymbolTable) {
  compile(kProgram, "-no-pie -fno-pie");
  for (const Symbol& symbol : whole_->symbols()) {
    if (symbol.size == 0 || symbol.kind == SymbolKind::plt) continue;
    const Symbol* const real = whole_->at(symbol.start);
    const Symbol* const found = whole_->function_at(symbol.start);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->name, real->name);
  }
}

TEST_F(Synthetic, StubsKeepTheirs) {
  compile("#include <stdio.h>\nint main() { puts(\"x\"); return 0; }", "-fcf-protection");
  const auto stubs = bare_->named("puts@plt");
  ASSERT_FALSE(stubs.empty());
  EXPECT_EQ(bare_->function_at(stubs[0].start)->name, "puts@plt");
}

TEST_F(Synthetic, DamagedUnwindTablesAreReadAsFarAsTheyCanBe) {
  compile(kProgram, "-no-pie -fno-pie");
  const auto bytes = test::read_file(folder_ / "bare");
  // Bytes all over the file; must not crash or hang, and most of them cost no function.
  const std::size_t whole = bare_->functions().size();
  unsigned files = 0, complete = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 97) {
    auto damaged = bytes;
    damaged[at] ^= 0xff;
    ++files;
    const auto table = SymbolTable::from_bytes(std::move(damaged));
    if (!table) continue;
    const auto functions = (*table)->functions();
    EXPECT_TRUE(std::ranges::is_sorted(functions, {}, &Symbol::start)) << "byte " << at;
    complete += functions.size() == whole;
  }
  EXPECT_GT(complete, files / 2);
}

}  // namespace
}  // namespace hodo::symbol
