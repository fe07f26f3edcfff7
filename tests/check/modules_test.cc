// Files that are analysed several at once.
#include "modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fake_session.h"
#include "small_program.h"

namespace hodo::check {
namespace {

text::ElfBuilder program_of(std::uint8_t last_byte) {
  text::ElfBuilder elf = program();
  elf.text.back() = last_byte;
  return elf;
}

TEST(Modules, ThatWerePreparedAreThoseThatAreAskedFor) {
  std::vector<std::string> paths;
  for (std::uint8_t i = 0; i < 20; ++i) paths.push_back(path_of(program_of(i)));
  const std::vector<std::string_view> locations(paths.begin(), paths.end());
  Modules modules(nullptr);
  const text::Module* const asked_before = modules.get(locations[7]);
  modules.prepare(locations);
  EXPECT_EQ(modules.get(locations[7]), asked_before);
  std::set<const text::Module*> all;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const text::Module* const module = modules.get(locations[i]);
    ASSERT_NE(module, nullptr);
    EXPECT_EQ(module->bytes(text::kText + program().text.size() - 1).front(), i);
    all.insert(module);
  }
  EXPECT_EQ(all.size(), paths.size());
}

TEST(Modules, OfOneBuildIdAreOneIfTheyAreCopies) {
  const auto path_with_id = [](std::uint8_t last_byte) {
    text::ElfBuilder elf = program_of(last_byte);
    Elf64_Phdr note{};
    note.p_type = PT_NOTE;
    note.p_offset = note.p_vaddr = text::kData + elf.data.size();
    const std::uint32_t owner = 'G' | 'N' << 8 | 'U' << 16;
    for (const std::uint32_t word : {4u, 4u, std::uint32_t{NT_GNU_BUILD_ID}, owner, 0x1234u}) {
      text::append(elf.data, word);
      note.p_filesz = note.p_memsz += sizeof word;
    }
    elf.more = {note};
    return path_of(elf);
  };
  const std::string first = path_with_id(1);
  const std::string changed = path_with_id(2);
  const std::string copy = path_with_id(1);
  Modules modules(nullptr);
  modules.prepare(std::vector<std::string_view>{first, changed, copy});
  ASSERT_NE(modules.get(first), nullptr);
  EXPECT_EQ(modules.get(copy), modules.get(first));
  ASSERT_NE(modules.get(changed), nullptr);
  EXPECT_EQ(modules.get(changed)->bytes(text::kText + program().text.size() - 1).front(), 2);
}

TEST(Modules, ThatCannotBeReadAreNotedOnceAndInOrder) {
  const std::string good = path_of(program());
  const std::vector<std::string_view> locations = {"/nowhere/b", good, "/nowhere/a", "/nowhere/b"};
  Modules modules(nullptr);
  modules.prepare(locations);
  modules.prepare(locations);
  EXPECT_NE(modules.get(good), nullptr);
  EXPECT_EQ(modules.get("/nowhere/a"), nullptr);
  ASSERT_EQ(modules.unread().size(), 2u);
  EXPECT_EQ(modules.unread()[0].path, "/nowhere/b");
  EXPECT_EQ(modules.unread()[1].path, "/nowhere/a");
}

TEST(Modules, WhatIsWrongWithAFileDoesNotNameItAgain) {
  const std::string cut = path_of(program());
  std::filesystem::resize_file(cut, 20);
  Modules modules(nullptr);
  EXPECT_EQ(modules.get(cut), nullptr);
  ASSERT_EQ(modules.unread().size(), 1u);
  EXPECT_EQ(modules.unread()[0].path, cut);
  EXPECT_THAT(modules.unread()[0].reason, testing::Not(testing::HasSubstr(cut)));
}

}  // namespace
}  // namespace hodo::check
