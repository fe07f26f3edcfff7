#include "hodo/kernelcheck/kernel_image.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "../guest/kallsyms_table.h"
#include "hodo/guest/kallsyms.h"

namespace hodo::kernelcheck {
namespace {

constexpr std::uint64_t kText = guest::KallsymsTable::kAddress;
constexpr std::size_t kTable = 0x800, kFunction = 0x100;
using Bytes = std::vector<std::uint8_t>;
const Bytes kEndbr = {0xf3, 0x0f, 0x1e, 0xfa}, kSealed = {0x66, 0x0f, 0x1f, 0x00};

// A kernel with a table of one entry between two symbols; its entry leads to kFunction + `site`.
class KernelImageTest : public testing::Test {
 protected:
  KernelImage open(const std::string& first, const std::string& end, unsigned site) {
    Bytes text = guest::KallsymsTable()
                     .add('T', "_stext", -1)
                     .add('R', first, -1 - static_cast<int>(kTable))
                     .add('R', end, -1 - static_cast<int>(kTable + 4))
                     .add('T', "_etext", -1 - 4096)
                     .fill(300)
                     .write(guest::TableOrder::offsets_last);
    const auto offset = static_cast<std::int32_t>(kFunction + site) - static_cast<int>(kTable);
    std::memcpy(&text[kTable], &offset, sizeof(offset));
    std::ranges::copy(kEndbr, &text[kFunction]);
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_EXEC;
    head.e_machine = EM_X86_64;
    head.e_version = EV_CURRENT;
    head.e_phoff = head.e_ehsize = sizeof(head);
    head.e_phentsize = sizeof(Elf64_Phdr);
    head.e_phnum = 1;
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_offset = sizeof(head) + sizeof(load);
    load.p_vaddr = kText;
    load.p_filesz = load.p_memsz = text.size();
    const std::string path = testing::TempDir() + "kernel_image." + std::to_string(::getpid());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(&head), sizeof(head))
        .write(reinterpret_cast<const char*>(&load), sizeof(load))
        .write(reinterpret_cast<const char*>(text.data()),
               static_cast<std::streamsize>(text.size()));
    auto image = KernelImage::open(path);
    ::unlink(path.c_str());
    EXPECT_TRUE(image) << image.error().message;
    return std::move(*image);
  }

  // Where the function's bytes must not be those of `is`; -1: they may.
  static std::int64_t wrong(const KernelImage& image, const Bytes& is) {
    const auto found = image.difference(kText + kFunction, is, 0);
    return found ? static_cast<std::int64_t>(found->address - kText - kFunction) : -1;
  }
};

Bytes with(const Bytes& begin, std::size_t size, std::uint8_t rest) {
  Bytes out = begin;
  out.resize(size, rest);
  return out;
}

TEST_F(KernelImageTest, LetsAnEntryThatNoPointerLeadsToBeSealedAndNothingElse) {
  const auto image = open("__ibt_endbr_seal", "__ibt_endbr_seal_end", 0);
  EXPECT_EQ(image.sites(), 1);
  EXPECT_EQ(wrong(image, with(kEndbr, 16, 0xcc)), -1);
  EXPECT_EQ(wrong(image, with(kSealed, 16, 0xcc)), -1);
  EXPECT_EQ(wrong(image, kSealed), -1);
  EXPECT_EQ(wrong(image, with({0xe9, 1, 2, 3}, 16, 0xcc)), 0);
  EXPECT_EQ(wrong(image, with(kSealed, 16, 0x90)), 4);
  EXPECT_EQ(wrong(image, {0x66}), 0);
}

TEST_F(KernelImageTest, LetsOnlyEntriesOfItsTableBeSealed) {
  EXPECT_EQ(wrong(open("__ibt_endbr_seal", "__ibt_endbr_seal_end", 16), kSealed), 0);
}

TEST_F(KernelImageTest, LetsConstantsOfRunTimeBeWritten) {
  const auto image = open("__start_runtime_ptr_USER_PTR_MAX", "__stop_runtime_ptr_USER_PTR_MAX", 4);
  EXPECT_EQ(wrong(image, with(with(kEndbr, 12, 0x11), 16, 0xcc)), -1);
  EXPECT_EQ(wrong(image, with(with(kEndbr, 13, 0x11), 16, 0xcc)), 12);
  const auto shift = open("__start_runtime_shift_d_hash", "__stop_runtime_shift_d_hash", 4);
  EXPECT_EQ(wrong(shift, with(with(kEndbr, 5, 0x11), 16, 0xcc)), -1);
  EXPECT_EQ(wrong(shift, with(with(kEndbr, 6, 0x11), 16, 0xcc)), 5);
}

}  // namespace
}  // namespace hodo::kernelcheck
