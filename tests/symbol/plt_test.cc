// Names of stubs, against objdump's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <memory>

#include "fixture.h"

namespace hodo::symbol {
namespace {

using Stubs = std::map<std::uint64_t, std::string>;

Stubs ours(const std::string& path) {
  Stubs stubs;
  const auto table = test::open(path);
  if (!table) return stubs;
  for (const Symbol& s : table->symbols()) {
    if (s.kind == SymbolKind::plt) stubs[s.start] = s.name;
  }
  return stubs;
}

// "0000000000004030 <puts@plt>:"; of IFUNC stubs objdump knows the chooser's address only.
Stubs objdumps(const std::string& path) {
  Stubs stubs;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen(("objdump -d '" + path + "' 2>/dev/null").c_str(), "r"), pclose);
  char text[4096];
  while (pipe && std::fgets(text, sizeof text, pipe.get()) != nullptr) {
    const std::string line = text;
    const auto at = line.find("@plt>:");
    const auto open = line.find('<');
    if (at == std::string::npos || open == std::string::npos) continue;
    std::string name = line.substr(open + 1, at - open - 1);
    if (name.starts_with("*ABS*")) continue;
    stubs[std::stoull(line, nullptr, 16)] = name.substr(0, name.find('@')) + "@plt";
  }
  return stubs;
}

class AgainstObjdump : public testing::TestWithParam<const char*> {};

TEST_P(AgainstObjdump, TheSameStubs) {
  if (!test::run("objdump --version >/dev/null 2>&1")) GTEST_SKIP() << "no objdump here";
  if (!std::filesystem::exists(GetParam())) GTEST_SKIP() << "no " << GetParam() << " here";
  const Stubs theirs = objdumps(GetParam());
  const Stubs mine = ours(GetParam());
  EXPECT_GT(theirs.size(), 3u);
  for (const auto& [address, name] : theirs) {
    const auto it = mine.find(address);
    ASSERT_NE(it, mine.end()) << std::hex << address << ' ' << name;
    EXPECT_EQ(it->second, name);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, AgainstObjdump,
                         testing::Values(HODO_FIXTURE, "/bin/ls", "/bin/bash",
                                         "/lib/x86_64-linux-gnu/libc.so.6", "/lib32/libc.so.6",
                                         "/lib32/libm.so.6"));

TEST(PltStubs, AreFoundByNameAndAddress) {
  const auto table = test::open(HODO_FIXTURE);
  const auto puts = table->named("puts@plt");
  ASSERT_FALSE(puts.empty());
  EXPECT_EQ(table->at(puts[0].start + 5)->name, "puts@plt");
  EXPECT_EQ(puts[0].size, 16u);
}

// With IBT a call goes to .plt.sec; the lazy stub in .plt only pushes the number of its relocation.
// Both are the function's.
class IbtStubs : public testing::TestWithParam<const char*> {};

TEST_P(IbtStubs, TheLazyOnesAreNamedToo) {
  const test::TempFolder folder;
  const auto source = folder / "calls.c";
  std::ofstream(source) << "int first(int); int second(int); int third(int);\n"
                           "int calls(int x) { return first(x) + second(x) * third(x); }\n";
  const auto library = folder / "calls.so";
  if (!test::run(
          std::string("cc -shared -fPIC -O1 -nostdlib -fcf-protection -Wl,-z,ibtplt,-z,lazy ") +
          GetParam() + " -o " + library + ' ' + source + " 2>/dev/null")) {
    GTEST_SKIP() << "cannot link with " << GetParam() << " here";
  }
  const auto table = test::open(library);
  for (const char* name : {"first@plt", "second@plt", "third@plt"}) {
    EXPECT_EQ(table->named(name).size(), 2u) << name;
  }
  // Stub n of .plt, behind the resolver's, belongs to the function of stub n of .plt.sec.
  const auto lazy = table->named("first@plt").at(0).start;
  const auto direct = table->named("first@plt").at(1).start;
  for (const char* name : {"second@plt", "third@plt"}) {
    EXPECT_EQ(table->named(name).at(0).start - lazy, table->named(name).at(1).start - direct);
  }
}

INSTANTIATE_TEST_SUITE_P(Classes, IbtStubs, testing::Values("-m64", "-m32"));

// IFUNC stubs of a static program have the chooser's address instead of a symbol.
TEST(PltStubs, OfIfuncsAreNamedAfterTheChooser) {
  const test::TempFolder folder;
  const auto source = folder / "static.c";
  std::ofstream(source) << "#include <string.h>\n#include <stdio.h>\n"
                           "int main(int c, char** v) { return (int)strlen(v[c - 1]); }\n";
  const auto program = folder / "static";
  if (!test::run("cc -static -O1 -fno-builtin -o " + program + ' ' + source + " 2>/dev/null")) {
    GTEST_SKIP() << "cannot link static programs here";
  }
  const auto table = test::open(program);
  EXPECT_FALSE(table->named("strlen@plt").empty());
}

// In a program without symbols nobody knows what the choosers are called, but that they are there.
class NamelessIfuncs : public testing::TestWithParam<const char*> {};

TEST_P(NamelessIfuncs, HaveStubs) {
  const test::TempFolder folder;
  const auto source = folder / "ifunc.c";
  std::ofstream(source) << "static int one(void) { return 1; }\n"
                           "static int (*choose(void))(void) { return one; }\n"
                           "static int chosen(void) __attribute__((ifunc(\"choose\")));\n"
                           "int main(void) { return chosen(); }\n";
  const auto program = folder / "ifunc";
  if (!test::run(std::string("cc -s -O1 ") + GetParam() + " -o " + program + ' ' + source +
                 " 2>/dev/null")) {
    GTEST_SKIP() << "cannot link with " << GetParam() << " here";
  }
  int found = 0;
  for (const auto& [address, name] : ours(program)) found += name.starts_with("*ABS*+0x");
  EXPECT_EQ(found, 1);
}

INSTANTIATE_TEST_SUITE_P(Classes, NamelessIfuncs, testing::Values("-pie -fPIE", "-m32 -no-pie"));

// They have 8 bytes in a program that does not move, though the section does not say so.
TEST(PltStubs, OfIfuncsFollowEachOther) {
  const test::TempFolder folder;
  const auto source = folder / "static.c";
  std::ofstream(source) << "#include <string.h>\n"
                           "int (*volatile compare)(const char*, const char*) = strcmp;\n"
                           "int main(int c, char** v) { return compare(v[0], v[c - 1]); }\n";
  const auto program = folder / "static";
  const std::string cc = "cc -static -no-pie -O1 -o ";
  if (!test::run(cc + program + ' ' + source + " 2>/dev/null")) {
    GTEST_SKIP() << "cannot link such programs here";
  }
  const Stubs stubs = ours(program);
  ASSERT_GT(stubs.size(), 3u);
  std::uint64_t next = stubs.begin()->first;
  for (const auto& [address, name] : stubs) {
    EXPECT_EQ(address, next) << name;
    next = address + 8;
  }
}

}  // namespace
}  // namespace hodo::symbol
