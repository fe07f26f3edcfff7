#include "hodo/symbol/symbol_table.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "fixture.h"

namespace hodo::symbol {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::Field;
using testing::HasSubstr;

class FixtureSymbols : public testing::Test {
 protected:
  const Symbol& only(std::string_view name) {
    found_ = table_->named(name);
    EXPECT_EQ(found_.size(), 1u) << name;
    found_.resize(1);
    return found_.front();
  }
  std::string_view name_at(std::uint64_t vaddr) {
    const Symbol* const s = table_->at(vaddr);
    return s != nullptr ? s->name : "";
  }

  std::shared_ptr<const SymbolTable> table_ = test::open(HODO_FIXTURE);
  std::vector<Symbol> found_;
};

TEST_F(FixtureSymbols, FindsTheFunctionAroundAnAddress) {
  const Symbol outer = only("_ZN7fixture5outerEi");
  EXPECT_GT(outer.size, 10u);
  EXPECT_EQ(outer.kind, SymbolKind::function);
  EXPECT_TRUE(outer.global);
  EXPECT_EQ(name_at(outer.start), outer.name);
  EXPECT_EQ(name_at(outer.start + outer.size - 1), outer.name);
  EXPECT_NE(name_at(outer.start + outer.size), outer.name);
  EXPECT_NE(name_at(outer.start - 1), outer.name);
}

TEST_F(FixtureSymbols, FindsItByFileOffset) {
  const Symbol outer = only("_ZN7fixture5outerEi");
  const auto offset = table_->elf().offset_of(outer.start);
  ASSERT_TRUE(offset);
  ASSERT_NE(table_->at_offset(*offset + 1), nullptr);
  EXPECT_EQ(table_->at_offset(*offset + 1)->name, outer.name);
  EXPECT_EQ(table_->at_offset(~std::uint64_t{0}), nullptr);
}

TEST_F(FixtureSymbols, FindsNamesAsPeopleWriteThem) {
  const auto start = only("_ZN7fixture5outerEi").start;
  EXPECT_EQ(only("fixture::outer").start, start);
  EXPECT_EQ(only("fixture::outer(int)").start, start);
  EXPECT_EQ(only("fixture::Box<long>::get").name, "_ZNK7fixture3BoxIlE3getEl");
  EXPECT_EQ(only("fixture::outer@plt").kind, SymbolKind::plt);
  EXPECT_EQ(only("fixture::outer(int)@plt").name, "_ZN7fixture5outerEi@plt");
  EXPECT_TRUE(table_->named("fixture::outer@PLT").empty());
  EXPECT_TRUE(table_->named("fixture").empty());
  EXPECT_TRUE(table_->named("").empty());
}

TEST_F(FixtureSymbols, PrefersGlobalStrongNamesWithoutUnderscores) {
  const auto start = only("__fixture_write").start;
  EXPECT_EQ(only("_fixture_write").start, start);
  EXPECT_EQ(only("fixture_local").start, start);
  EXPECT_EQ(only("fixture_write").start, start);
  EXPECT_EQ(name_at(start), "fixture_write_strong");
}

TEST_F(FixtureSymbols, MarksAndLabels) {
  const Symbol marked = only("fixture_marked");
  EXPECT_EQ(name_at(marked.start + 2), "fixture_marked");
  const Symbol label = only("fixture_label");
  EXPECT_EQ(label.kind, SymbolKind::label);
  EXPECT_EQ(name_at(label.start + 2), "fixture_label");
  EXPECT_EQ(label.start + label.size, only("fixture_after").start);
}

TEST_F(FixtureSymbols, Ifunc) { EXPECT_EQ(only("fixture_ifunc").kind, SymbolKind::ifunc); }

TEST_F(FixtureSymbols, SourceLinesAndInlinedCalls) {
  const Symbol outer = only("_ZN7fixture5outerEi");
  bool inlined = false;
  bool own = false;
  for (auto a = outer.start; a < outer.start + outer.size; ++a) {
    const auto frames = table_->source(a);
    if (frames.size() == 1 && frames[0].line == 202) {
      own = true;
      EXPECT_THAT(frames[0].file, EndsWith("outer.cc"));
      EXPECT_EQ(frames[0].function, "_ZN7fixture5outerEi");
      EXPECT_FALSE(frames[0].inlined);
    } else if (frames.size() == 2) {
      inlined = true;
      EXPECT_THAT(frames[0].file, EndsWith("inner.h"));
      EXPECT_THAT(frames[0].function, HasSubstr("inner"));
      EXPECT_TRUE(frames[0].line == 100 || frames[0].line == 101) << frames[0].line;
      EXPECT_TRUE(frames[0].inlined);
      EXPECT_THAT(frames[1].file, EndsWith("outer.cc"));
      EXPECT_EQ(frames[1].line, 201u);
      EXPECT_FALSE(frames[1].inlined);
    }
  }
  EXPECT_TRUE(inlined);
  EXPECT_TRUE(own);
  EXPECT_TRUE(table_->source(0).empty());
  EXPECT_TRUE(table_->source(~std::uint64_t{0}).empty());
}

// The table says of every address what source() says of it one by one.
TEST_F(FixtureSymbols, LineTable) {
  const LineTable lines = table_->lines();
  ASSERT_FALSE(lines.rows.empty());
  const Symbol outer = only("_ZN7fixture5outerEi");
  std::uint64_t covered = 0;
  bool statement = false;
  std::uint64_t last = 0;
  for (const LineRow& row : lines.rows) {
    EXPECT_GE(row.address, last) << "rows are sorted";
    last = row.address;
    if (row.address < outer.start || row.address >= outer.start + outer.size) continue;
    statement = statement || row.statement;
    // A row goes on to the next function where there is padding between the two.
    const auto end = std::min(row.end, outer.start + outer.size);
    for (auto a = row.address; a < end; ++a, ++covered) {
      const auto frames = table_->source(a);
      ASSERT_FALSE(frames.empty());
      EXPECT_EQ(row.line, frames[0].line) << std::hex << a;
      ASSERT_LT(row.file, lines.files.size());
      EXPECT_EQ(lines.files[row.file], frames[0].file);
    }
  }
  EXPECT_EQ(covered, outer.size) << "each byte once";
  EXPECT_TRUE(statement);
}

TEST_F(FixtureSymbols, FromBytesIsTheSame) {
  const auto copy = SymbolTable::from_bytes(test::read_file(HODO_FIXTURE));
  ASSERT_TRUE(copy);
  EXPECT_EQ((*copy)->symbols().size(), table_->symbols().size());
  const Symbol outer = only("_ZN7fixture5outerEi");
  EXPECT_EQ((*copy)->at(outer.start)->name, outer.name);
  EXPECT_EQ((*copy)->source(outer.start).size(), table_->source(outer.start).size());
}

TEST_F(FixtureSymbols, SeveralThreadsMayAskFirst) {
  std::vector<std::thread> threads;
  std::vector<std::size_t> counts(4);
  for (auto& count : counts) {
    threads.emplace_back([this, &count] {
      for (const Symbol& s : table_->symbols()) count += table_->at(s.start) != nullptr;
      count += table_->source(table_->symbols().front().start).size();
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_GT(counts[0], 10u);
  EXPECT_EQ(counts, std::vector<std::size_t>(4, counts[0]));
}

TEST(SymbolTable, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(SymbolTable::open("/nonexistent").error().code, ErrorCode::not_found);
  EXPECT_EQ(SymbolTable::open("/etc/passwd").error().code, ErrorCode::malformed);
  EXPECT_EQ(SymbolTable::from_bytes({}).error().code, ErrorCode::malformed);
}

// The dynamic linker's own answer is the reference.
TEST(SymbolTable, AgreesWithTheDynamicLinkerAboutTheCLibrary) {
  Dl_info libc{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::strtol), &libc), 0);
  const auto base = reinterpret_cast<std::uint64_t>(libc.dli_fbase);
  const auto start = std::chrono::steady_clock::now();
  const auto table = test::open(libc.dli_fname, DebugPaths{});
  ASSERT_NE(table, nullptr);
  for (const char* name : {"strtol", "malloc", "write", "printf", "qsort", "getenv"}) {
    const auto address = reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, name)) - base;
    if (address > 1 << 26) continue;  // a sanitizer's own
    const auto found = table->named(name);
    ASSERT_FALSE(found.empty()) << name;
    EXPECT_TRUE(std::ranges::any_of(found, [&](const Symbol& s) { return s.start == address; }));
    ASSERT_NE(table->at(address), nullptr);
    EXPECT_EQ(table->at(address)->start, address);
  }
  // Reading libc and its debug file takes some 12 ms; the limit is for slow and loaded machines.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

}  // namespace
}  // namespace hodo::symbol
