#include "hodo/symbol/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <cstring>

#include "fixture.h"

namespace hodo::symbol {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kBase = 0x7f0000000000;

class SymbolizerTest : public testing::Test {
 protected:
  // The executable segment as the kernel maps it: whole pages.
  Mapping code(std::uint64_t time, std::uint64_t base = kBase) const {
    for (const auto& s : table_->elf().segments) {
      if (!s.executable) continue;
      const auto page = s.offset & ~std::uint64_t{4095};
      return {.path = HODO_FIXTURE,
              .start = base,
              .length = ((s.offset + s.file_size - page) + 4095) & ~std::uint64_t{4095},
              .file_offset = page,
              .time = time};
    }
    return {};
  }
  std::uint64_t ip(const char* name, std::uint64_t base = kBase) const {
    return base + *table_->elf().offset_of(table_->named(name).at(0).start) - code(0).file_offset;
  }

  std::shared_ptr<const SymbolTable> table_ = test::open(HODO_FIXTURE);
  Symbolizer symbolizer_{test::kNoDebug};
};

TEST_F(SymbolizerTest, ResolvesWhatIsMapped) {
  symbolizer_.map(1, code(5));
  const auto at = symbolizer_.resolve(1, ip("fixture::outer") + 3, 5);
  EXPECT_EQ(at.module, HODO_FIXTURE);
  EXPECT_EQ(at.symbol, "fixture::outer(int)");
  EXPECT_EQ(at.symbol_offset, 3u);
  EXPECT_EQ(at.file_offset, *table_->elf().offset_of(table_->named("fixture::outer")[0].start) + 3);
  EXPECT_FALSE(at.plt);
  EXPECT_TRUE(symbolizer_.resolve(1, ip("puts@plt"), 5).plt);
  EXPECT_EQ(symbolizer_.resolve(1, ip("puts@plt"), 5).symbol, "puts@plt");
}

TEST_F(SymbolizerTest, KnowsNothingOfOtherTimesPlacesAndProcesses) {
  symbolizer_.map(1, code(5));
  EXPECT_EQ(symbolizer_.resolve(1, ip("fixture::outer"), 4).module, "");
  EXPECT_EQ(symbolizer_.resolve(1, kBase - 1, 5).module, "");
  EXPECT_EQ(symbolizer_.resolve(2, ip("fixture::outer"), 5).module, "");
}

TEST_F(SymbolizerTest, FollowsUnmapExecAndFork) {
  symbolizer_.map(1, code(0));
  symbolizer_.fork(1, 2, 10);
  symbolizer_.exec(1, 20);
  symbolizer_.unmap(2, kBase, 1 << 20, 30);
  const auto outer = ip("fixture::outer");
  EXPECT_NE(symbolizer_.resolve(1, outer, 19).symbol, "");
  EXPECT_EQ(symbolizer_.resolve(1, outer, 20).symbol, "");
  EXPECT_EQ(symbolizer_.resolve(2, outer, 9).symbol, "");
  EXPECT_NE(symbolizer_.resolve(2, outer, 29).symbol, "");
  EXPECT_EQ(symbolizer_.resolve(2, outer, 30).symbol, "");
}

TEST_F(SymbolizerTest, SourceOfAnAddress) {
  symbolizer_.map(1, code(0));
  const auto frames = symbolizer_.source(1, ip("fixture::outer"), 0);
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().function, "fixture::outer(int)");
  EXPECT_EQ(frames[0].line, 200u);
  EXPECT_TRUE(symbolizer_.source(1, kBase - 1, 0).empty());
}

TEST_F(SymbolizerTest, NamesOfModulesThatCannotBeRead) {
  symbolizer_.map(1, {.path = "/nonexistent/lib.so", .start = 0x1000, .length = 0x1000});
  symbolizer_.map(1, {.path = "[stack]", .start = 0x5000, .length = 0x1000});
  symbolizer_.map(1, {.path = "//anon", .start = 0x7000, .length = 0x1000});
  EXPECT_EQ(symbolizer_.resolve(1, 0x1234, 0).module, "/nonexistent/lib.so");
  EXPECT_EQ(symbolizer_.resolve(1, 0x1234, 0).symbol, "");
  EXPECT_EQ(symbolizer_.resolve(1, 0x1234, 0).file_offset, 0x234u);
  EXPECT_EQ(symbolizer_.resolve(1, 0x5000, 0).module, "[stack]");
  EXPECT_EQ(symbolizer_.resolve(1, 0x7000, 0).module, "//anon");
  const auto errors = symbolizer_.unreadable();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_THAT(errors[0].message, HasSubstr("/nonexistent/lib.so"));
}

TEST_F(SymbolizerTest, AFileOfAnotherBuildIsNotBelieved) {
  auto mapping = code(0);
  mapping.build_id = table_->elf().build_id;
  symbolizer_.map(1, mapping);
  mapping.build_id[0] ^= 1;
  symbolizer_.map(2, mapping);
  EXPECT_NE(symbolizer_.resolve(1, ip("fixture::outer"), 0).symbol, "");
  EXPECT_EQ(symbolizer_.resolve(2, ip("fixture::outer"), 0).symbol, "");
  ASSERT_EQ(symbolizer_.unreadable().size(), 1u);
  EXPECT_THAT(symbolizer_.unreadable()[0].message, HasSubstr("has changed"));
}

TEST_F(SymbolizerTest, AnImageThatIsNoFile) {
  const auto address = getauxval(AT_SYSINFO_EHDR);
  if (address == 0) GTEST_SKIP() << "this kernel gives no vDSO";
  const auto* const start = reinterpret_cast<const std::uint8_t*>(address);
  test::Bytes vdso(start, start + 4096);
  const auto elf = image::read_elf(vdso);
  ASSERT_TRUE(elf);
  ASSERT_TRUE(symbolizer_.add_image("[vdso]", test::read_file(HODO_FIXTURE)));
  auto mapping = code(0);
  mapping.path = "[vdso]";
  symbolizer_.map(1, mapping);
  EXPECT_EQ(symbolizer_.resolve(1, ip("fixture::outer"), 0).symbol, "fixture::outer(int)");
  EXPECT_FALSE(symbolizer_.add_image("[bad]", {1, 2, 3}));
}

}  // namespace
}  // namespace hodo::symbol
