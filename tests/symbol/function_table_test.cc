// Functions that were ordered once are known again without looking.
#include "function_table.h"

#include <gtest/gtest.h>

#include <limits>

#include "fixture.h"
#include "shelf.h"

namespace hodo::symbol {
namespace {

using Bytes = std::vector<std::uint8_t>;
using test::Shelf;

constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

Candidate local(std::string_view name, std::uint64_t start, std::uint64_t size) {
  return {.symbol = {.name = name, .start = start, .size = size, .sized = size != 0},
          .origin = {.section_end = 0x100}};
}

// One in another, two of one name, one whose size only an unwind table knows, a stub, one that has
// no name, and one at the last address.
FunctionTable table_of_functions() {
  std::vector<Candidate> named = {local("step", 0x10, 0x40), local("inner", 0x20, 0x10),
                                  local("step", 0x60, 8), local("open", 0x70, 0),
                                  local("puts@plt", 0x90, 16)};
  named[1].symbol.global = true;
  named[4].symbol.kind = SymbolKind::plt;
  const std::vector<SyntheticFunction> found = {
      {0x70, 9, 0x100}, {0x80, 4, 0x100}, {kLast, 0, kLast}};
  FunctionTable made(std::move(named), found);
  made.mark([](const Symbol& s) {
    return s.name != "step" ? std::string_view() : s.start == 0x10 ? "a.c" : "b.c";
  });
  return made;
}

std::string described(const FunctionTable& table) {
  std::string out;
  for (const Symbol& s : table.symbols()) {
    out += std::string(s.name) + " " + std::to_string(s.start) + " " + std::to_string(s.size) +
           " " + std::to_string(static_cast<int>(s.kind)) + (s.global ? " global" : "") +
           (s.sized ? " sized" : "") + " [" + std::string(table.mark_of(s)) + "]\n";
  }
  for (std::uint64_t at = 0; at < 0x100; ++at) {
    const Symbol* const found = table.at(at);
    out += found == nullptr ? "-" : std::to_string(found - table.symbols().data());
  }
  return out;
}

class KeptFunctions : public testing::Test {
 protected:
  std::string ask() {
    return described(kept_function_table(
        shelf_, [this] { return key_; },
        [this] {
          ++made_;
          return empty_ ? FunctionTable() : table_of_functions();
        }));
  }
  Shelf shelf_;
  FilesKey key_{.bytes = {1, 2, 3}};
  bool empty_ = false;
  int made_ = 0;
};

TEST_F(KeptFunctions, AreMadeOnce) {
  const std::string all = described(table_of_functions());
  EXPECT_NE(all.find("step 16 64 0 sized [a.c]\n"), all.npos) << all;
  EXPECT_NE(all.find("open 112 9 0 []\n"), all.npos) << all;
  EXPECT_EQ(ask(), all);
  EXPECT_EQ(ask(), all);
  EXPECT_EQ(made_, 1);
  key_.bytes[2] = 4;
  EXPECT_EQ(ask(), all);
  EXPECT_EQ(made_, 2) << "another file";
}

TEST_F(KeptFunctions, OfAFileThatWasJustWrittenAreNotKept) {
  key_.settled = false;
  ask();
  EXPECT_TRUE(shelf_.kept.empty());
}

TEST_F(KeptFunctions, OfNothingAreNotKept) {
  empty_ = true;
  ask();
  EXPECT_TRUE(shelf_.kept.empty());
}

TEST_F(KeptFunctions, ThatAreDamagedAreMadeAnew) {
  ask();
  shelf_.kept.begin()->second.pop_back();
  EXPECT_EQ(ask(), described(table_of_functions()));
  EXPECT_EQ(made_, 2);
}

// By start, with names, and an address is only ever inside of what is found for it.
TEST_F(KeptFunctions, BytesThatLie) {
  const Bytes whole = table_of_functions().write();
  ASSERT_TRUE(FunctionTable::read(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(
        FunctionTable::read({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}))
        << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned value = 0; value < 256; ++value) {
      Bytes bad = whole;
      bad[at] = static_cast<std::uint8_t>(value);
      const auto read = FunctionTable::read(std::move(bad));
      if (!read) continue;
      EXPECT_TRUE(std::ranges::is_sorted(read->symbols(), {}, &Symbol::start));
      for (const Symbol& symbol : read->symbols()) {
        EXPECT_FALSE(symbol.name.empty());
        EXPECT_LE(symbol.kind, SymbolKind::synthetic);
        read->mark_of(symbol);
      }
      for (std::uint64_t address = 0; address < 0x100; ++address) {
        const Symbol* const found = read->at(address);
        if (found == nullptr) continue;
        ASSERT_LE(found->start, address);
        ASSERT_LT(address - found->start, found->size);
      }
    }
  }
}

// A file's second reader is told the same by what the first one left, and reads no symbols for it.
TEST(FunctionsOfAFile, AreTheSameWhenTheyWereKept) {
  const auto shelf = std::make_shared<Shelf>();
  const auto all_of = [](const SymbolTable& table) {
    std::string out;
    for (const Symbol& s : table.functions()) {
      const Symbol* const there = table.function_at(s.start);
      out += std::string(s.name) + " " + std::to_string(s.size) + " " +
             std::string(there == nullptr ? "-" : there->name) + std::string(table.mark_of(s)) +
             "\n";
    }
    return out;
  };
  const auto alone = SymbolTable::open(HODO_FIXTURE);
  const auto first = SymbolTable::open(HODO_FIXTURE, {}, shelf);
  ASSERT_TRUE(alone && first);
  const std::string all = all_of(**alone);
  EXPECT_NE(all.find("fixture_local"), std::string::npos);
  EXPECT_EQ(all_of(**first), all);
  ASSERT_EQ(shelf->stored, 1);
  const auto second = SymbolTable::open(HODO_FIXTURE, {}, shelf);
  ASSERT_TRUE(second);
  EXPECT_EQ(all_of(**second), all);
  EXPECT_EQ(shelf->stored, 1);
}

}  // namespace
}  // namespace hodo::symbol
