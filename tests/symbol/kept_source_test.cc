// Source positions that are kept are those of the DWARF.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <random>

#include "fixture.h"
#include "kept_lines.h"
#include "shelf.h"

namespace hodo::symbol {
namespace {

using test::Bytes;

using test::Shelf;

std::string told(const std::vector<SourceFrame>& frames) {
  std::string out;
  for (const SourceFrame& f : frames) {
    out += f.function + " " + f.file + ":" + std::to_string(f.line) + (f.inlined ? " < " : "\n");
  }
  return out;
}

class KeptSourceTest : public testing::Test {
 protected:
  std::shared_ptr<const SymbolTable> opened(const std::string& path = HODO_FIXTURE) const {
    auto table = SymbolTable::open(path, test::kNoDebug, shelf_);
    EXPECT_TRUE(table);
    return table ? *table : nullptr;
  }
  // What is said of all code and of what lies around it.
  static std::string all(const SymbolTable& table) {
    std::string out;
    for (const Symbol& s : table.symbols()) {
      for (std::uint64_t a = s.start - 1; a <= s.start + s.size; ++a) out += told(table.source(a));
    }
    return out;
  }

  std::shared_ptr<Shelf> shelf_ = std::make_shared<Shelf>();
  const std::string plain_ = all(*test::open(HODO_FIXTURE));
};

TEST_F(KeptSourceTest, SaysWhatTheDwarfSays) {
  ASSERT_NE(plain_.find(" < "), std::string::npos);
  EXPECT_EQ(all(*opened()), plain_);
  EXPECT_EQ(shelf_->stored, 1);
  EXPECT_EQ(all(*opened()), plain_);
  EXPECT_EQ(shelf_->stored, 1) << "nothing was new";
}

// So the second time nothing but what is kept was asked.
TEST_F(KeptSourceTest, AsksNothingElseTheSecondTime) {
  all(*opened());
  ASSERT_EQ(shelf_->kept.size(), 1u);
  Bytes& kept = shelf_->kept.begin()->second;
  const std::string name = "outer.cc";
  for (auto at = kept.begin();;) {
    at = std::search(at, kept.end(), name.begin(), name.end());
    if (at == kept.end()) break;
    *at = 'O';
  }
  EXPECT_NE(all(*opened()).find("Outer.cc"), std::string::npos);
}

TEST_F(KeptSourceTest, IsOfOneFileAlone) {
  all(*opened());
  const test::TempFolder folder;
  std::filesystem::copy_file(HODO_FIXTURE, folder / "copy");
  EXPECT_EQ(all(*opened(folder / "copy")), plain_);
  EXPECT_EQ(shelf_->stored, 1) << "just written: another that is written now would look the same";
}

TEST_F(KeptSourceTest, CutOffAtEveryByte) {
  all(*opened());
  const Bytes whole = shelf_->kept.begin()->second;
  const auto table = KeptLines::read(whole);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->write(), whole);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(KeptLines::read(std::span(whole).first(size))) << size;
  }
  shelf_->kept.begin()->second.pop_back();
  EXPECT_EQ(all(*opened()), plain_);
  EXPECT_EQ(shelf_->stored, 2);
}

TEST_F(KeptSourceTest, BytesThatLie) {
  all(*opened());
  const Bytes whole = shelf_->kept.begin()->second;
  std::mt19937 random(1);
  std::size_t read = 0;
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = whole;
    bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    auto kept = KeptLines::read(bytes);
    if (!kept) continue;
    const auto ranges = kept->ranges();
    for (const UnitRange& range : ranges) {
      const UnitLines* const table = kept->table(range.unit);
      if (table == nullptr) continue;
      for (const UnitLines::Span& span : table->spans) read += table->frames(span.start).size();
    }
  }
  EXPECT_GT(read, std::size_t{3000});
}

// A scope that is its own parent, or stands behind it, would never end.
TEST(UnitLinesTest, ParentsStandBefore) {
  UnitLines lines{.strings = {"", "f"},
                  .scopes = {{.function = 1}, {.function = 1, .parent = 0, .inlined = true}},
                  .spans = {{.start = 16, .scope = 1, .line = 7}}};
  const auto again = [&lines] {
    NumberWriter out;
    lines.write(out);
    return UnitLines::read(out.take());
  };
  ASSERT_TRUE(again());
  EXPECT_EQ(again()->frames(15).size(), 0u);
  EXPECT_EQ(again()->frames(16).size(), 2u);
  lines.scopes[1].parent = 1;
  EXPECT_FALSE(again());
  lines.scopes[1].parent = 0;
  lines.spans[0].scope = 2;
  EXPECT_FALSE(again());
  lines.spans[0].scope = 1;
  lines.scopes[0].function = 2;
  EXPECT_FALSE(again());
}

}  // namespace
}  // namespace hodo::symbol
