// To which functions no pointer leads, or only vtables.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "classes_elf.h"
#include "hodo/text/module.h"

namespace hodo::text {
namespace {

std::shared_ptr<const Module> analyze(Classes classes) {
  auto module = Module::analyze(classes.build().build());
  EXPECT_TRUE(module);
  return module ? *module : nullptr;
}

// "PLACE+OFFSET" of each slot.
std::string slots_of(const Module& module, std::uint64_t function) {
  std::string out;
  for (const VirtualSlot& slot : module.virtual_slots(function)) {
    EXPECT_EQ(slot.function, function);
    out += (out.empty() ? "" : " ") + std::to_string(slot.place - kData) + "+" +
           std::to_string(slot.offset);
  }
  return out;
}

TEST(PointerTargets, AFunctionIsUntakenIfNothingHoldsItsAddress) {
  const auto module = analyze({});
  ASSERT_TRUE(module);
  EXPECT_TRUE(module->is_untaken(kIsUntaken));
  EXPECT_TRUE(module->is_untaken(0x1000));
  EXPECT_FALSE(module->is_untaken(kIsUntaken + 1)) << "no function begins there";
  for (const std::uint64_t other : {kIsNamed, kIsInTable, kIsVirtual, kIsExported, kIsDistant}) {
    EXPECT_FALSE(module->is_untaken(other)) << std::hex << other;
  }
}

TEST(PointerTargets, AnExportedFunctionIsOthersToAskFor) {
  Classes classes;
  EXPECT_FALSE(analyze(classes)->is_exported_untaken(kIsExported)) << "it is in the vtable";
  classes.pointers[1].second = kIsVirtual;
  const auto module = analyze(classes);
  EXPECT_TRUE(module->is_exported_untaken(kIsExported));
  EXPECT_FALSE(module->is_untaken(kIsExported));
  EXPECT_FALSE(module->is_exported_untaken(kIsUntaken));
  EXPECT_TRUE(module->asks_for(classes.type_class));
  EXPECT_FALSE(module->asks_for("puts"));
}

TEST(PointerTargets, WhatTheLoaderReadsIsNoDistance) {
  Classes classes;
  classes.entries = {{DT_FLAGS_1, kIsUntaken}, {DT_DEBUG, kIsUntaken - kText}};
  EXPECT_TRUE(analyze(classes)->is_untaken(kIsUntaken));
  classes.data.push_back(kIsUntaken - 0x2040);  // from where it lies
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsUntaken)) << "in data it is one";
}

// Behind a control character, as Swift's mangled names have it.
TEST(PointerTargets, ADistanceMayLieInAString) {
  const auto is_untaken_with = [](std::uint64_t before, unsigned at) {
    Classes classes;
    const auto distance = static_cast<std::uint32_t>(kIsUntaken - (0x2040 + at));
    classes.data.push_back(before << 8 * (at - 1) | std::uint64_t{distance} << 8 * at);
    return analyze(classes)->is_untaken(kIsUntaken);
  };
  for (const unsigned at : {1, 2, 3}) EXPECT_FALSE(is_untaken_with(9, at)) << at;
  EXPECT_TRUE(is_untaken_with('A', 1));
  EXPECT_TRUE(is_untaken_with(0, 3));
}

// As most small numbers are none. Records may have other words, too.
TEST(PointerTargets, ASmallNumberIsADistanceFromTheTextOnlyInARow) {
  constexpr std::uint64_t kUntaken = kIsUntaken - kText;
  constexpr std::uint64_t kNamed = kIsNamed - kText, kInTable = kIsInTable - kText;
  using Words = std::vector<std::uint64_t>;
  for (const Words& row :
       {Words{kUntaken, kNamed, kInTable}, Words{kNamed, kUntaken, kInTable},
        Words{kNamed, kInTable, kUntaken}, Words{kNamed, 99, 1, kUntaken, 99, 2, kInTable}}) {
    Classes classes;
    classes.data.insert(classes.data.end(), row.begin(), row.end());
    EXPECT_FALSE(analyze(classes)->is_untaken(kIsUntaken)) << row.size();
  }
  for (const Words& chance : {Words{kUntaken}, Words{kUntaken, kNamed}, Words{kNamed, kUntaken, 2},
                              Words{kNamed, 99, kUntaken, kInTable}}) {
    Classes classes;
    classes.data.insert(classes.data.end(), chance.begin(), chance.end());
    EXPECT_TRUE(analyze(classes)->is_untaken(kIsUntaken)) << chance.size();
  }
}

TEST(PointerTargets, TheEntryPointIsTheKernels) {
  Classes classes;
  classes.elf.entry = kIsUntaken;
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsUntaken));
}

TEST(PointerTargets, APersonalityIsTheUnwinders) {
  Classes classes;
  classes.elf.personality = kIsUntaken;
  const auto module = analyze(classes);
  EXPECT_FALSE(module->is_untaken(kIsUntaken));
  EXPECT_TRUE(module->is_untaken(0x1000));
}

TEST(PointerTargets, NothingIsCertainWhereExportsAreNotKnown) {
  Classes classes;
  classes.count = 0;
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsUntaken));
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "");
}

TEST(PointerTargets, OnlyWhatUnwindTablesTellOfIsJudged) {
  Classes classes;
  std::erase_if(classes.elf.functions, [](const Unwound& f) { return f.begin == kIsUntaken; });
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsUntaken));
}

TEST(PointerTargets, ASlotIsCountedFromBehindTheTypeinfo) {
  const auto module = analyze({});
  ASSERT_TRUE(module);
  EXPECT_EQ(slots_of(*module, kIsVirtual), "24+8");
  EXPECT_EQ(slots_of(*module, kIsExported), "") << "another file may hold it, too";
  EXPECT_EQ(slots_of(*module, kIsInTable), "");
}

// Vtables of several bases lie one behind the other.
TEST(PointerTargets, ASecondVtableCountsFromItsOwnTypeinfo) {
  Classes classes;
  classes.data = {0, 0, 0, static_cast<std::uint64_t>(-16), 0, 0, 0, 1};
  classes.typeinfo = 0x2030;
  classes.pointers = {
      {0x2008, 0x2030}, {0x2010, kIsExported}, {0x2020, 0x2030}, {0x2028, kIsVirtual}};
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "40+0");
}

TEST(PointerTargets, AFunctionThatATableHoldsBesidesIsNotOnlyVirtual) {
  Classes classes;
  classes.pointers[3].second = kIsVirtual;
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "");
}

TEST(PointerTargets, WithoutTypeinfoItIsNoVtable) {
  Classes classes;
  classes.type_class = "somebody_elses_table";
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "");
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsVirtual));
}

TEST(PointerTargets, AnObjectBeginsWithNoPointer) {
  Classes classes;
  classes.pointers.emplace_back(0x2000, 0x2020);
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "");
  classes.pointers.pop_back();
  classes.data[0] = 8;
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "") << "nothing lies before the object";
}

// Other data begins where something else points to.
TEST(PointerTargets, AVtableEndsWhereOtherDataBegins) {
  Classes classes;
  classes.pointers.emplace_back(0x2020, 0x2018);
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "");
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsVirtual));
}

// MOVQ XMM0, [2018]: so GCC reads two pointers that it stores at once.
TEST(PointerTargets, AVtableEndsWhereCodeReadsAWordByItsAddress) {
  Classes classes;
  const Bytes read = {0xf3, 0x0f, 0x7e, 0x05, 0x00, 0x10, 0x00, 0x00};
  std::ranges::copy(read, classes.elf.text.begin() + (kIsNamed - kText));
  EXPECT_EQ(slots_of(*analyze(classes), kIsVirtual), "");
  EXPECT_FALSE(analyze(classes)->is_untaken(kIsVirtual));
}

}  // namespace
}  // namespace hodo::text
