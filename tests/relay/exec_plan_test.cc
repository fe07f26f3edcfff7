// What execve(2) would run, and how that is put to QEMU.
#include "hodo/relay/exec_plan.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace hodo::relay {
namespace {

namespace fs = std::filesystem;
using Kind = Executable::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

class ExecPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "hodo-exec-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, std::string_view content, mode_t mode = 0755) {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << content;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string write_elf(const std::string& name, int machine, int elf_class, mode_t mode = 0755) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = static_cast<unsigned char>(elf_class);
    header.e_machine = static_cast<Elf64_Half>(machine);
    return write(name, {reinterpret_cast<const char*>(&header), sizeof(header)}, mode);
  }
  std::string wide() { return write_elf("wide", EM_X86_64, ELFCLASS64); }

  fs::path folder_;
};

Settings both_emulators() {
  Settings settings;
  std::strcpy(settings.qemu64.data(), "/q/qemu-x86_64");
  std::strcpy(settings.qemu32.data(), "/q/qemu-i386");
  return settings;
}
Key sevens() {
  Key key;
  key.fill('7');
  return key;
}
const Key kSevens = sevens();
const std::string kKeyLine = "HODO_KEY=" + std::string(32, '7');

TEST_F(ExecPlanTest, KindsOfElfFiles) {
  EXPECT_EQ(inspect(wide(), {"w"})->kind, Kind::x86_64);
  EXPECT_EQ(inspect(write_elf("narrow", EM_386, ELFCLASS32), {"n"})->kind, Kind::i386);
  EXPECT_EQ(inspect(write_elf("x32", EM_X86_64, ELFCLASS32), {"x"})->kind, Kind::foreign);
  EXPECT_EQ(inspect(write_elf("arm", EM_AARCH64, ELFCLASS64), {"a"})->kind, Kind::foreign);
  EXPECT_EQ(inspect(write("cut", "\177ELF"), {"c"})->kind, Kind::foreign);
  EXPECT_EQ(inspect(write("text", "hello"), {"t"})->kind, Kind::not_binary);
  EXPECT_EQ(inspect(write("empty", ""), {"e"})->kind, Kind::not_binary);
}

TEST_F(ExecPlanTest, OtherRightsAreForeign) {
  const std::string path = wide();
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
  EXPECT_EQ(inspect(path, {"w"})->kind, Kind::x86_64);
  chmod(path.c_str(), 04755);
  EXPECT_EQ(inspect(path, {"w"})->kind, Kind::foreign);
  EXPECT_EQ(inspect(path, {"w"})->obstacle,
            "it is set-user-ID; remedy: run hodo as its owner (user 65534)");
  chmod(path.c_str(), 02755);
  EXPECT_EQ(inspect(path, {"w"})->kind, Kind::foreign);
  EXPECT_EQ(inspect(path, {"w"})->obstacle,
            "it is set-group-ID; remedy: run hodo with its group (65534)");
}

// The kernel gives them their interpreter's.
TEST_F(ExecPlanTest, ScriptsHaveNoRightsOfTheirOwn) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of another user";
  const std::string script = write("script", "#!" + wide() + "\n");
  ASSERT_EQ(chown(script.c_str(), 65534, 65534), 0);
  chmod(script.c_str(), 06755);
  EXPECT_EQ(inspect(script, {"s"})->kind, Kind::x86_64);
}

TEST_F(ExecPlanTest, Errors) {
  EXPECT_EQ(inspect(folder_ / "none", {"n"}).error().code, ErrorCode::not_found);
  EXPECT_EQ(inspect(wide() + "/x", {"n"}).error().code, ErrorCode::not_found);
  EXPECT_EQ(inspect(folder_, {"n"}).error().code, ErrorCode::not_permitted);
  EXPECT_EQ(inspect(write("plain", "x", 0644), {"n"}).error().code, ErrorCode::not_permitted);
}

TEST_F(ExecPlanTest, ScriptsPutTheirInterpreterInFront) {
  const std::string interpreter = wide();
  const std::string script = write("script", "#!" + interpreter + " -x  -y \t\nrest\n");
  const auto found = inspect(script, {"zero", "one", "two"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, Kind::x86_64);
  EXPECT_EQ(found->path, interpreter);
  EXPECT_EQ(found->name, "script");
  // All behind the interpreter is one argument; the script's own argv[0] is lost.
  EXPECT_THAT(found->argv, ElementsAre(interpreter, "-x  -y", script, "one", "two"));
}

TEST_F(ExecPlanTest, ScriptLinesOfAllShapes) {
  const std::string to = wide();
  for (const std::string& line :
       {"#!" + to + "\n", "#! \t " + to + "\n", "#!" + to + " \n", "#!" + to}) {
    const auto found = inspect(write("s", line), {"s"});
    ASSERT_TRUE(found) << line;
    EXPECT_THAT(found->argv, ElementsAre(to, folder_ / "s")) << line;
  }
  for (const char* line : {"#!", "#!\n", "#!  \t\n", "# !/bin/sh\n", "\n#!/bin/sh\n"}) {
    EXPECT_EQ(inspect(write("s", line), {"s"})->kind, Kind::not_binary) << line;
  }
  EXPECT_EQ(inspect(write("s", "#!/none\n"), {"s"}).error().code, ErrorCode::not_found);
}

TEST_F(ExecPlanTest, ScriptWithoutArguments) {
  const std::string interpreter = wide();
  const std::string script = write("script", "#!" + interpreter + "\n");
  EXPECT_THAT(inspect(script, {})->argv, ElementsAre(interpreter, script));
}

// The kernel's limit: five rewrites are followed, the sixth is ELOOP.
TEST_F(ExecPlanTest, ChainsOfScripts) {
  std::string path = wide();
  const std::string interpreter = path;
  for (int i = 1; i <= 6; ++i) {
    path = write("s" + std::to_string(i), "#!" + path + "\n");
    const auto found = inspect(path, {"x", "arg"});
    if (i <= 5) {
      ASSERT_TRUE(found) << i;
      EXPECT_EQ(found->path, interpreter);
      EXPECT_EQ(found->argv.size(), static_cast<std::size_t>(i) + 2);
      EXPECT_EQ(found->argv.back(), "arg");
    } else {
      ASSERT_FALSE(found) << i;
      EXPECT_THAT(found.error().message, HasSubstr(std::strerror(ELOOP)));
    }
  }
  const std::string self = folder_ / "self";
  write("self", "#!" + self + "\n");
  EXPECT_FALSE(inspect(self, {"self"}));
}

TEST_F(ExecPlanTest, CommandLine) {
  const auto executable = inspect(wide(), {"zero", "-one", "two, three"});
  const auto plan =
      plan_exec(*executable, {"A=1", "B=2"}, both_emulators(), kSevens, "/p.so,socket=x");
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->program, "/q/qemu-x86_64");
  const std::string file = folder_ / "wide";
  EXPECT_THAT(plan->argv,
              ElementsAre("/q/qemu-x86_64", "-plugin", "/p.so,socket=x,comm=wide,path=" + file,
                          "-U", "HODO_KEY", "-0", "zero", file, "-one", "two, three"));
  // Backwards, because QEMU turns them round.
  EXPECT_THAT(plan->environment, ElementsAre(kKeyLine, "B=2", "A=1"));
}

TEST_F(ExecPlanTest, ThirtyTwoBitsAndTheWatcher) {
  Settings settings = both_emulators();
  std::strcpy(settings.watcher.data(), "/w.so,dir=d");
  const auto executable = inspect(write_elf("narrow", EM_386, ELFCLASS32), {"n"});
  const auto plan = plan_exec(*executable, {}, settings, kSevens, "/p.so");
  ASSERT_TRUE(plan);
  const std::string file = folder_ / "narrow";
  EXPECT_THAT(plan->argv, ElementsAre("/q/qemu-i386", "-plugin", "/p.so,comm=narrow,path=" + file,
                                      "-plugin", "/w.so,dir=d", "-U", "HODO_KEY", "-0", "n", file));
}

TEST_F(ExecPlanTest, MissingEmulator) {
  const auto plan = plan_exec(*inspect(wide(), {"w"}), {}, Settings{}, kSevens, "/p.so");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
  EXPECT_THAT(plan.error().message, HasSubstr("qemu-x86_64"));
}

TEST_F(ExecPlanTest, VariablesThatActOnQemuReachOnlyTheProgram) {
  const auto plan =
      plan_exec(*inspect(wide(), {"w"}),
                {"LD_PRELOAD=x.so", "HOME=/", "QEMU_LOG=exec", "LD_LIBRARY_PATH=a,b", "LDX=1"},
                both_emulators(), kSevens, "/p.so");
  ASSERT_TRUE(plan);
  const auto first = std::ranges::find(plan->argv, "-E");
  ASSERT_NE(first, plan->argv.end());
  EXPECT_EQ(std::vector(first, first + 4),
            (std::vector<std::string>{"-E", "QEMU_LOG=exec", "-E", "LD_PRELOAD=x.so"}));
  EXPECT_THAT(plan->environment, ElementsAre(kKeyLine, "LDX=1", "LD_LIBRARY_PATH=a,b", "HOME=/"));
}

TEST_F(ExecPlanTest, NamesThatLookLikeOptions) {
  Executable executable{.kind = Kind::x86_64, .path = "-dash", .name = "a,b", .argv = {"-x"}};
  const auto plan = plan_exec(executable, {}, both_emulators(), kSevens, "/p.so");
  EXPECT_THAT(plan->argv, ElementsAre("/q/qemu-x86_64", "-plugin", "/p.so,comm=a,,b,path=-dash",
                                      "-U", "HODO_KEY", "-0", "-x", "./-dash"));
}

TEST(EscapeOption, DoublesCommas) {
  EXPECT_EQ(escape_option("plain"), "plain");
  EXPECT_EQ(escape_option(",a,,b"), ",,a,,,,b");
}

}  // namespace
}  // namespace hodo::relay
