#include "hodo/image/raw_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "hodo/image/elf.h"
#include "temp_file.h"

namespace hodo::image {
namespace {

using test::Bytes;
using test::pattern;
using test::TempFile;
using testing::ElementsAreArray;
using testing::HasSubstr;

template <class T>
T parsed(std::string_view text) {
  const auto spec = parse_image(text);
  EXPECT_TRUE(spec) << spec.error().message;
  const T* image = spec ? std::get_if<T>(&*spec) : nullptr;
  EXPECT_NE(image, nullptr) << text;
  return image != nullptr ? *image : T{};
}

TEST(ParseImage, Elf) {
  EXPECT_EQ(parsed<ElfImage>("elf:/bin/ls").path, "/bin/ls");
  EXPECT_EQ(parsed<ElfImage>("elf:/bin/ls").base, std::nullopt);
  EXPECT_EQ(parsed<ElfImage>("elf:/bin/ls@0x7f0000000000").base, 0x7f0000000000u);
  EXPECT_EQ(parsed<ElfImage>("elf:a@4096").base, 4096u);
  EXPECT_EQ(parsed<ElfImage>("elf:user@host").path, "user@host");
  EXPECT_EQ(parsed<ElfImage>("elf:user@host@16").path, "user@host");
}

TEST(ParseImage, Bin) {
  const auto plain = parsed<BinImage>("bin:0x1000:code.bin");
  EXPECT_EQ(plain.address, 0x1000u);
  EXPECT_EQ(plain.path, "code.bin");
  EXPECT_EQ(plain.length, std::nullopt);
  const auto part = parsed<BinImage>("bin:4096:code.bin:0x10:32");
  EXPECT_EQ(part.path, "code.bin");
  EXPECT_EQ(part.offset, 16u);
  EXPECT_EQ(part.length, 32u);
  EXPECT_EQ(parsed<BinImage>("bin:1:a:b").path, "a:b");
  EXPECT_EQ(parsed<BinImage>("bin:1:a:b:2:3").path, "a:b");
  EXPECT_EQ(parsed<BinImage>("bin:1:a:2").path, "a:2") << "one number is part of the name";
}

TEST(ParseImage, Pages) {
  const auto pages = parsed<PagesImage>("pages:p.addr:p.dump");
  EXPECT_EQ(pages.address_file, "p.addr");
  EXPECT_EQ(pages.dump_file, "p.dump");
}

TEST(ParseImage, SaysWhichFormItExpects) {
  for (const char* text : {"", "elf", "elf:", "elf:@16", "bin:", "bin:12", "bin:x:f", "bin:0x:f",
                           "bin:-1:f", "bin:12z:f", "bin:1:", "bin:0x10000000000000000:f", "pages:",
                           "pages:a", "pages:a:", "pages::b", "pages:a:b:c", "pe:a.exe"}) {
    const auto spec = parse_image(text);
    ASSERT_FALSE(spec) << text;
    EXPECT_EQ(spec.error().code, ErrorCode::usage);
    EXPECT_THAT(spec.error().message, HasSubstr("is not of the form"));
  }
  EXPECT_THAT(parse_image("bin:1:").error().message, HasSubstr("bin:ADDR:PATH[:OFFSET:LENGTH]"));
}

class MapImage : public testing::Test {
 protected:
  Bytes at(std::uint64_t address, std::size_t size) const {
    Bytes out(size);
    out.resize(read_code(space_, address, 0, out));
    return out;
  }
  ContentStore store_;
  AddressSpace space_;
};

TEST_F(MapImage, BinWholeAndPart) {
  const Bytes bytes = pattern(100);
  const TempFile file(bytes);
  ASSERT_TRUE(map_image(BinImage{.address = 0x1000, .path = file.path()}, store_, space_));
  ASSERT_TRUE(map_image(BinImage{0x5000, file.path(), 10, 20}, store_, space_));
  EXPECT_EQ(at(0x1000, 200), bytes);
  EXPECT_THAT(at(0x5000, 200), ElementsAreArray(std::span(bytes).subspan(10, 20)));
}

TEST_F(MapImage, BinThatDoesNotFit) {
  const TempFile file(pattern(100));
  const auto behind = map_image(BinImage{0x5000, file.path(), 90, 11}, store_, space_);
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code, ErrorCode::truncated);
  const auto above = map_image(BinImage{~std::uint64_t{98}, file.path()}, store_, space_);
  ASSERT_FALSE(above);
  EXPECT_EQ(above.error().code, ErrorCode::malformed);
  EXPECT_TRUE(map_image(BinImage{~std::uint64_t{99}, file.path()}, store_, space_));
}

TEST_F(MapImage, ElfWhereItSaysAndWhereWeSay) {
  const auto elf = read_elf_file("/proc/self/exe");
  ASSERT_TRUE(elf);
  for (const auto base : {std::optional<std::uint64_t>{}, {0x7f1234560000}}) {
    AddressSpace space;
    ASSERT_TRUE(map_image(ElfImage{"/proc/self/exe", base}, store_, space));
    const std::uint64_t bias = base ? *base - elf->lowest_page() : 0;
    const CodeSpan span = space.find(elf->entry + bias, 0);
    ASSERT_NE(span.content, 0u);
    EXPECT_EQ(span.offset + (elf->entry + bias - span.address), elf->offset_of(elf->entry));
  }
}

TEST_F(MapImage, ElfErrorsNameTheFile) {
  const TempFile file(pattern(100));
  const auto status = map_image(ElfImage{file.path(), {}}, store_, space_);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr(file.path()));
}

Bytes addresses(std::initializer_list<std::uint64_t> list) {
  Bytes out;
  for (const auto a : list) {
    for (int shift = 0; shift < 64; shift += 8)
      out.push_back(static_cast<std::uint8_t>(a >> shift));
  }
  return out;
}

Bytes page(std::uint8_t fill) { return Bytes(4096, fill); }

Bytes pages(std::initializer_list<std::uint8_t> fills) {
  Bytes out;
  for (const auto f : fills) {
    const Bytes p = page(f);
    out.insert(out.end(), p.begin(), p.end());
  }
  return out;
}

TEST_F(MapImage, PagesInAnyOrderBecomeWholeRuns) {
  const TempFile list(addresses({0x3000, 0x1000, 0x2000, 0x9000, 0x2000}));
  const TempFile dump(pages({3, 1, 2, 9, 22}));
  ASSERT_TRUE(map_image(PagesImage{list.path(), dump.path()}, store_, space_));
  const CodeSpan run = space_.find(0x2fff, 0);
  EXPECT_EQ(run.address, 0x1000u);
  EXPECT_THAT(run.bytes, ElementsAreArray(pages({1, 22, 3})));
  EXPECT_EQ(space_.find(0x4000, 0).content, 0u);
  EXPECT_THAT(space_.find(0x9000, 0).bytes, ElementsAreArray(page(9)));
}

TEST_F(MapImage, TheLastPageOfTheAddressSpace) {
  const TempFile list(addresses({~std::uint64_t{4095}, 0}));
  const TempFile dump(pages({1, 2}));
  ASSERT_TRUE(map_image(PagesImage{list.path(), dump.path()}, store_, space_));
  EXPECT_EQ(at(~std::uint64_t{0}, 2), (Bytes{1}));
  EXPECT_EQ(at(0, 1), (Bytes{2}));
}

// As the page caches of kAFL and Nyx say it.
TEST_F(MapImage, AnAddressWithLowBitsIsAPageThatWasNotMapped) {
  const TempFile list(addresses({0x1000, 0x2001, 0x3fff, 0x4000, 0x3001, 0x4001}));
  const TempFile dump(pages({1, 0, 0, 4, 0, 0}));
  const auto unmapped = map_image(PagesImage{list.path(), dump.path()}, store_, space_);
  ASSERT_TRUE(unmapped);
  EXPECT_THAT(unmapped->pages, testing::ElementsAre(0x2000, 0x3000))
      << "the page at 4000 was, once";
  EXPECT_EQ(at(0x1000, 4097), page(1));
  EXPECT_EQ(space_.find(0x3000, 0).content, 0u);
  EXPECT_EQ(at(0x4000, 4097), page(4));
}

TEST_F(MapImage, PageFilesThatDoNotFitEachOther) {
  const TempFile list(addresses({0x1000, 0x2000}));
  const TempFile dump(pages({1}));
  EXPECT_EQ(map_image(PagesImage{list.path(), dump.path()}, store_, space_).error().code,
            ErrorCode::malformed);
  Bytes cut = addresses({0x1000});
  cut.push_back(0);
  const TempFile uneven(cut);
  EXPECT_EQ(map_image(PagesImage{uneven.path(), dump.path()}, store_, space_).error().code,
            ErrorCode::malformed);
}

// The pages of traces that real processors made.
TEST_F(MapImage, PagesOfRealTraces) {
  const char* shared = std::getenv("HODO_SHARED");
  const std::filesystem::path root = shared != nullptr ? shared : HODO_SHARED_DEFAULT;
  if (!std::filesystem::exists(root / "traces")) GTEST_SKIP() << "no traces in " << root;
  for (const char* name : {"unzip", "foo", "avscript"}) {
    const auto folder = root / "traces" / name;
    AddressSpace space;
    const auto status =
        map_image(PagesImage{folder / "pages.addr", folder / "pages.dump"}, store_, space);
    EXPECT_TRUE(status) << status.error().message;
  }
}

}  // namespace
}  // namespace hodo::image
