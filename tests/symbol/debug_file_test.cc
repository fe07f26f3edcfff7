#include "debug_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fixture.h"

namespace hodo::symbol {
namespace {

TEST(DebuglinkCrc, KnownValues) {
  const std::string digits = "123456789";
  const auto* p = reinterpret_cast<const std::uint8_t*>(digits.data());
  EXPECT_EQ(debuglink_crc({p, 9}), 0xcbf43926u);  // the CRC catalogue's check value
  EXPECT_EQ(debuglink_crc({p + 4, 5}, debuglink_crc({p, 4})), 0xcbf43926u);
  EXPECT_EQ(debuglink_crc({}), 0u);
}

// program (stripped) and program.debug, as a distribution splits them.
class DebugFile : public testing::Test {
 protected:
  void SetUp() override {
    const std::string fixture = HODO_FIXTURE;
    if (!test::run("objcopy --only-keep-debug " + fixture + ' ' + debug_ +
                   " && objcopy --strip-all --add-gnu-debuglink=" + debug_ + ' ' + fixture + ' ' +
                   program_ + " 2>/dev/null")) {
      GTEST_SKIP() << "no objcopy here";
    }
    const auto whole = test::open(fixture);
    expected_ = whole->named("fixture_label").at(0);
  }

  // `fixture_label` is local, so only .symtab has it.
  void expect_found(const DebugPaths& paths) {
    const auto table = test::open(program_, paths);
    ASSERT_EQ(table->named("fixture_label").size(), 1u);
    EXPECT_EQ(table->named("fixture_label")[0].start, expected_.start);
    EXPECT_EQ(table->named("fixture_label")[0].size, expected_.size);
    const auto outer = table->named("fixture::outer").at(0);
    ASSERT_FALSE(table->source(outer.start).empty());
    EXPECT_EQ(table->source(outer.start)[0].line, 200u);
    EXPECT_FALSE(table->named("puts@plt").empty());
  }
  void expect_missing(const DebugPaths& paths) {
    const auto table = test::open(program_, paths);
    EXPECT_TRUE(table->named("fixture_label").empty());
    EXPECT_FALSE(table->named("fixture::outer").empty()) << ".dynsym is still there";
    EXPECT_TRUE(table->source(table->named("fixture::outer")[0].start).empty());
  }
  // Into the program; some bytes less than there are.
  bool pack(std::size_t less) {
    return test::run("xz -c " + debug_ + " | head -c -" + std::to_string(less) + " > " + packed_ +
                     " && objcopy --remove-section .gnu_debugdata --add-section .gnu_debugdata=" +
                     packed_ + ' ' + program_ + " 2>/dev/null");
  }
  void move_debug(const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(to).parent_path());
    std::filesystem::rename(debug_, to);
  }

  const test::TempFolder folder_;
  const std::string debug_ = folder_ / "program.debug";
  const std::string packed_ = folder_ / "packed.xz";
  const std::string program_ = folder_ / "program";
  Symbol expected_;
};

TEST_F(DebugFile, BesideTheProgram) { expect_found(test::kNoDebug); }

TEST_F(DebugFile, InItsDebugFolder) {
  move_debug(folder_ / ".debug/program.debug");
  expect_found(test::kNoDebug);
}

TEST_F(DebugFile, UnderARoot) {
  const test::TempFolder root;
  move_debug(root / (std::filesystem::canonical(program_).parent_path().string().substr(1) +
                     "/program.debug"));
  expect_found({.roots = {root / "."}});
  expect_missing(test::kNoDebug);
}

TEST_F(DebugFile, ByBuildId) {
  const test::TempFolder root;
  const auto hex = image::to_hex(test::open(program_)->elf().build_id);
  ASSERT_EQ(hex.size(), 40u);
  move_debug(root / (".build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug"));
  expect_found({.roots = {"/nonexistent", root / "."}});
}

TEST_F(DebugFile, OfAnotherBuildIsNotBelieved) {
  const test::TempFolder root;
  const auto hex = image::to_hex(test::open(program_)->elf().build_id);
  const auto place = root / (".build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug");
  std::filesystem::remove(debug_);
  std::filesystem::create_directories(std::filesystem::path(place).parent_path());
  std::filesystem::copy_file("/proc/self/exe", place);
  expect_missing({.roots = {root / "."}});
}

TEST_F(DebugFile, WithAnotherCrcIsNotBelieved) {
  std::ofstream(debug_, std::ios::app) << "x";
  expect_missing(test::kNoDebug);
}

TEST_F(DebugFile, ALinkThatIsAPathLeadsNowhere) {
  auto bytes = test::read_file(program_);
  const std::string name = "program.debug";
  const auto at = std::ranges::search(bytes, name).begin();
  ASSERT_NE(at, bytes.end());
  const std::string elsewhere = "dd/gram.debug";  // there, and with the right CRC
  std::ranges::copy(elsewhere, at);
  move_debug(folder_ / elsewhere);
  std::ofstream(program_, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  expect_missing(test::kNoDebug);
}

// As Fedora's programs have it.
TEST_F(DebugFile, SymbolsArePackedIntoTheProgram) {
  if (!pack(0)) GTEST_SKIP() << "no xz here";
  std::filesystem::remove(debug_);
  const auto table = test::open(program_);
  ASSERT_EQ(table->named("fixture_label").size(), 1u);
  EXPECT_EQ(table->named("fixture_label")[0].start, expected_.start);
  EXPECT_FALSE(table->named("puts@plt").empty());
}

TEST_F(DebugFile, PackedSymbolsThatAreDamagedAreMissing) {
  if (!pack(1)) GTEST_SKIP() << "no xz here";
  std::filesystem::remove(debug_);
  expect_missing(test::kNoDebug);
}

}  // namespace
}  // namespace hodo::symbol
