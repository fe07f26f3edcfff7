// Which functions the dynamic linker calls itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "classes_elf.h"
#include "hodo/text/module.h"

namespace hodo::text {
namespace {

// Which of the file's functions are the linker's to call, by their number.
std::string called(Classes classes) {
  auto module = Module::analyze(classes.build().build());
  EXPECT_TRUE(module);
  std::string out;
  for (std::uint64_t at = 0x1000; module && at < 0x1040; at += 8) {
    if ((*module)->is_linkers(at)) out += std::to_string((at - 0x1000) / 8);
  }
  return out;
}

TEST(LinkerCalls, ArraysHaveThem) {
  Classes classes;
  EXPECT_EQ(called(classes), "");
  classes.entries = {{DT_INIT_ARRAY, 0x2030}, {DT_INIT_ARRAYSZ, 8}};
  EXPECT_EQ(called(classes), "3") << "by the relocation of its only word";
  classes.entries = {{DT_FINI_ARRAY, 0x2010}, {DT_FINI_ARRAYSZ, 16}};
  EXPECT_EQ(called(classes), "46");
  classes.entries = {{DT_PREINIT_ARRAY, 0x2010}, {DT_PREINIT_ARRAYSZ, 15}};
  EXPECT_EQ(called(classes), "6") << "the second word is not all in it";
}

TEST(LinkerCalls, AnArrayWithoutSizeIsNone) {
  Classes classes;
  classes.entries = {{DT_INIT_ARRAY, 0x2030}};
  EXPECT_EQ(called(classes), "");
}

TEST(LinkerCalls, AWordIsThereAsItIs) {
  Classes classes;
  classes.data[4] = kIsNamed;
  classes.entries = {{DT_INIT_ARRAY, 0x2020}, {DT_INIT_ARRAYSZ, 8}};
  EXPECT_EQ(called(classes), "2");
}

TEST(LinkerCalls, TheDynamicSectionNamesSome) {
  Classes classes;
  classes.entries = {{DT_INIT, kIsNamed}, {DT_FINI, kIsUntaken}};
  EXPECT_EQ(called(classes), "25");
}

TEST(LinkerCalls, WhatChoosesAFunctionIsCalled) {
  Classes classes;
  classes.choosers = {{0x2020, kIsNamed}};
  EXPECT_EQ(called(classes), "2");
}

TEST(LinkerCalls, WhatWasChosenIsCalledThroughItsSlot) {
  Classes classes;
  const Bytes jump = {0xff, 0x25, 0x0a, 0x10, 0x00, 0x00};  // 1010 jmp [2020]
  std::ranges::copy(jump, classes.elf.text.begin() + 0x10);
  EXPECT_FALSE((*Module::analyze(classes.build().build()))->is_through_chosen(kIsNamed));
  classes.choosers = {{0x2020, kIsUntaken}};
  const auto module = Module::analyze(classes.build().build());
  ASSERT_TRUE(module);
  EXPECT_TRUE((*module)->is_through_chosen(kIsNamed));
  EXPECT_FALSE((*module)->is_through_chosen(kIsNamed + 1));
}

TEST(LinkerCalls, ADescriptorIsWhereItsRelocationIs) {
  Classes classes;
  classes.descriptors = {{0x2020, 0}};
  const auto module = Module::analyze(classes.build().build());
  ASSERT_TRUE(module);
  EXPECT_TRUE((*module)->is_descriptor(0x2020));
  EXPECT_FALSE((*module)->is_descriptor(0x2028));
}

TEST(LinkerCalls, OthersAskForWhatIsExported) {
  auto module = Module::analyze(Classes().build().build());
  ASSERT_TRUE(module);
  EXPECT_TRUE((*module)->is_exported(kIsExported));
  EXPECT_FALSE((*module)->is_exported(kIsExported + 1));
  EXPECT_FALSE((*module)->is_exported(kIsUntaken));
  Classes unknown;
  unknown.count = 0;
  EXPECT_TRUE((*Module::analyze(unknown.build().build()))->is_exported(kIsUntaken));
}

}  // namespace
}  // namespace hodo::text
