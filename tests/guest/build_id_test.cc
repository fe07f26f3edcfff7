#include "hodo/guest/build_id.h"

#include <elf.h>
#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;

// A file in two mappings: headers at the first, the note on the second one's page.
class BuildId : public testing::Test {
 protected:
  static constexpr std::uint64_t kHead = 0x400000, kText = 0x500000;

  BuildId() {
    Elf64_Ehdr elf{};
    std::memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_phoff = sizeof(elf);
    elf.e_phnum = 2;
    space_.put(kHead, elf);
    space_.put(kHead + sizeof(elf), Elf64_Phdr{.p_type = PT_LOAD});
    note_header_ = {.p_type = PT_NOTE, .p_offset = 0x1080, .p_filesz = 16 + 16 + 4};
    space_.put(kHead + sizeof(elf) + sizeof(Elf64_Phdr), note_header_);
    // A note of another kind, and the build-id.
    notes({4, 0, NT_GNU_ABI_TAG, 0x554e47, 4, 4, NT_GNU_BUILD_ID, 0x554e47, 0x04030201});
  }
  void notes(const std::vector<std::uint32_t>& words) {
    for (std::size_t i = 0; i < words.size(); ++i) space_.put(kText + 0x80 + 4 * i, words[i]);
  }
  std::vector<std::uint8_t> read() { return read_build_id(space_.view(), mappings_, mappings_[1]); }

  FakeMemory memory_;
  FakeSpace space_{memory_};
  Elf64_Phdr note_header_{};
  std::vector<GuestMapping> mappings_ = {
      {.start = kHead, .end = kHead + 0x1000, .path = "/bin/x", .inode = 7},
      {.start = kText, .end = kText + 0x1000, .offset = 0x1000, .path = "/bin/x", .inode = 7}};
};

TEST_F(BuildId, IsReadFromTheMappedFile) {
  EXPECT_EQ(read(), (std::vector<std::uint8_t>{1, 2, 3, 4}));
}

TEST_F(BuildId, IsNotThatOfAnotherFile) {
  mappings_[0].inode = 8;
  EXPECT_TRUE(read().empty());
}

TEST_F(BuildId, IsUnknownWhereItsPagesAre) {
  mappings_[1].end = kText + 0x80;
  EXPECT_TRUE(read().empty());
}

TEST_F(BuildId, IsNoneIfTheNotesAreCutOrTooLong) {
  note_header_.p_filesz -= 1;
  space_.put(kHead + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), note_header_);
  EXPECT_TRUE(read().empty());
  note_header_.p_filesz = ~std::uint64_t{0};
  space_.put(kHead + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr), note_header_);
  notes({4, 21, NT_GNU_BUILD_ID, 0x554e47});
  EXPECT_TRUE(read().empty());
  notes({0xffffffff, 0xffffffff, NT_GNU_BUILD_ID, 0x554e47});
  EXPECT_TRUE(read().empty());
}

TEST_F(BuildId, IsNoneInWhatIsNoElfFile) {
  space_.put(kHead, std::uint32_t{0});
  EXPECT_TRUE(read().empty());
}

}  // namespace
}  // namespace hodo::guest
