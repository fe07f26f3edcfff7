#include "hodo/guest/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using testing::ElementsAre;

MATCHER_P2(IsSymbol, address, name, "") { return arg.address == address && arg.name == name; }

// Two modules in the kernel's list, the newer of which is just being loaded:
//   modules -> "young" (text, init text, a symbol in each and one of its data) -> "old" (text) ->
class Modules : public testing::Test {
 protected:
  static constexpr std::uint64_t kHead = 0xffff'ffff'8200'0000;
  static constexpr std::uint64_t kYoung = 0xffff'ffff'c010'0000;
  static constexpr std::uint64_t kOld = 0xffff'ffff'c020'0000;
  static constexpr std::uint64_t kText = 0xffff'ffff'c000'1000, kInit = 0xffff'ffff'c000'8000;
  static constexpr std::uint64_t kOldText = 0xffff'ffff'c000'4000;
  static constexpr std::uint64_t kYoungSymbols = 0xffff'ffff'c011'0000;
  static constexpr std::uint64_t kOldSymbols = 0xffff'ffff'c021'0000;

  Modules() {
    kernel_.symbols = {{kHead, 'D', "modules"}};
    kernel_.layout.module = {.list = 0x8,
                             .name = 0x18,
                             .text = 0x60,
                             .size = 0x68,
                             .init_text = 0x70,
                             .init_size = 0x78,
                             .kallsyms = 0x80,
                             .known = true};
    kernel_.layout.module_symbols = {.table = 0, .count = 8, .names = 0x10};
    module(kYoung, "young", kText, 0x800, kYoungSymbols);
    space_.put(kYoung + 0x70, kInit);
    space_.put<std::uint32_t>(kYoung + 0x78, 0x100);
    symbols(kYoungSymbols, {{kText, 1, "works"}, {kInit, 0, "init_module"}, {kYoung, 1, "data"}});
    module(kOld, "old", kOldText, 0x1000, kOldSymbols);
    space_.put<std::uint64_t>(kOld + 0x70, 0);       // freed when it was loaded ...
    space_.put<std::uint32_t>(kOld + 0x78, 0x1000);  // ... but for its size
    symbols(kOldSymbols,
            {{kOldText, 0, "a"}, {kOldText + 0xfff, 0, "last"}, {kOldText + 0x1000, 0, "behind"}});
    link(kHead, kYoung + 8);
    link(kYoung + 8, kOld + 8);
    link(kOld + 8, kHead);
  }

  void link(std::uint64_t from, std::uint64_t to) { space_.put(from, to); }
  void module(std::uint64_t address, std::string_view name, std::uint64_t text, std::uint32_t size,
              std::uint64_t kallsyms) {
    space_.text(address + 0x18, name);
    space_.put<std::uint64_t>(address + 0x18 + 48, 0);  // up to MODULE_NAME_LEN
    space_.put(address + 0x60, text);
    space_.put(address + 0x68, size);
    space_.put(address + 0x80, kallsyms);
  }
  struct Symbol {
    std::uint64_t value;
    std::uint8_t binding;
    std::string_view name;
  };
  void symbols(std::uint64_t at, const std::vector<Symbol>& all) {
    const std::uint64_t table = at + 0x1000, names = at + 0x2000;
    space_.put(at, table);
    space_.put(at + 8, static_cast<std::uint32_t>(all.size()));
    space_.put(at + 0x10, names);
    space_.put<std::uint64_t>(names + 0xff8, 0);
    std::uint64_t name = 1;
    for (std::size_t i = 0; i < all.size(); ++i) {
      space_.put(table + i * 24, static_cast<std::uint32_t>(name));
      space_.put(table + i * 24 + 4, static_cast<std::uint8_t>(all[i].binding << 4 | 2));
      space_.put(table + i * 24 + 8, all[i].value);
      space_.put<std::uint64_t>(table + i * 24 + 16, 0);
      space_.text(names + name, all[i].name);
      name += all[i].name.size() + 1;
    }
    space_.put<std::uint64_t>(names + 0x1000 - 8, 0);
    space_.put<std::uint64_t>(names + 0x11f8, 0);  // a string is read up to its limit
  }

  Kernel kernel_ = test::fake_kernel();
  test::FakeMemory memory_;
  test::FakeSpace space_{memory_};
};

TEST_F(Modules, AreReadWithTheirCodeAndItsSymbols) {
  const auto modules = read_modules(space_.view(), kernel_);
  ASSERT_EQ(modules.size(), 2u);
  const KernelModule& young = modules[0];
  EXPECT_EQ(young.name, "young");
  EXPECT_EQ(young.text.start, kText);
  EXPECT_THAT(young.text.symbols, ElementsAre(IsSymbol(kText, "works")));
  EXPECT_EQ(young.text.symbols[0].type, 'T');
  EXPECT_THAT(young.init.symbols, ElementsAre(IsSymbol(kInit, "init_module")));
  EXPECT_EQ(young.init.symbols[0].type, 't');
  EXPECT_TRUE(young.contains(kInit + 0xff));
  EXPECT_FALSE(young.contains(kInit + 0x100));
  EXPECT_EQ(modules[1].name, "old");
  EXPECT_THAT(modules[1].text.symbols,
              ElementsAre(IsSymbol(kOldText, "a"), IsSymbol(kOldText + 0xfff, "last")));
}

TEST_F(Modules, HaveNoInitCodeOnceTheyAreLoaded) {
  const auto modules = read_modules(space_.view(), kernel_);
  ASSERT_EQ(modules.size(), 2u);
  EXPECT_EQ(modules[1].init.size, 0u);
  EXPECT_FALSE(modules[1].contains(0));
  EXPECT_TRUE(still_loaded(space_.view(), kernel_, modules[0]));
  space_.put<std::uint64_t>(kYoung + 0x70, 0);
  EXPECT_FALSE(still_loaded(space_.view(), kernel_, modules[0]));
}

TEST_F(Modules, AreNotTakenForOthersThatLieThereLater) {
  const auto modules = read_modules(space_.view(), kernel_);
  ASSERT_EQ(modules.size(), 2u);
  space_.text(kOld + 0x18, "new");
  EXPECT_FALSE(still_loaded(space_.view(), kernel_, modules[1]));
}

TEST_F(Modules, ThatCannotBeReadAreLeftOut) {
  space_.put<std::uint32_t>(kYoung + 0x68, 0x4000'0001);  // more code than any module has
  const auto modules = read_modules(space_.view(), kernel_);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].name, "old");
}

TEST_F(Modules, OfAListWithoutEndAreLimited) {
  symbols(kYoungSymbols, {});
  link(kYoung + 8, kYoung + 8);
  EXPECT_EQ(read_modules(space_.view(), kernel_).size(), 1024u);
}

TEST_F(Modules, EndWhereTheListLeadsNowhere) {
  link(kYoung + 8, 0x1234);
  EXPECT_EQ(read_modules(space_.view(), kernel_).size(), 1u);
}

TEST_F(Modules, OfAKernelWhoseTypesDoNotTellAreNone) {
  kernel_.layout.module.known = false;
  EXPECT_TRUE(read_modules(space_.view(), kernel_).empty());
}

}  // namespace
}  // namespace hodo::guest
