// Which calls lead to what the file asked dlsym for.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "elf_builder.h"
#include "hodo/text/module.h"

namespace hodo::text {
namespace {

using Names = std::vector<std::string_view>;

constexpr std::uint64_t kSlots = 0x5000;    // of dlsym
constexpr std::uint64_t kWritten = 0x6000;  // the names once more, where they can be changed

// It asks for the name at `name` by a function of the name `asked`.
ElfBuilder asking(std::uint64_t name, std::string_view asked) {
  ElfBuilder elf;
  elf.text = {0x48, 0x8d, 0x35};  // 1000 lea rsi, [name]
  append(elf.text, static_cast<std::int32_t>(name - 0x1007));
  append(elf.text, Bytes{
                       0xff, 0x15, 0xf3, 0x3f, 0x00, 0x00,        // 1007 call [5000]
                       0x48, 0x89, 0x05, 0xfc, 0x3f, 0x00, 0x00,  // 100d mov [5010], rax
                       0xff, 0xd0,                                // 1014 call rax
                       0xff, 0xd0,                                // 1016 call rax
                       0xc3,                                      // 1018 ret
                       0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,  // 1019
                       0xff, 0x15, 0xea, 0x3f, 0x00, 0x00,        // 1020 call [5010]
                       0xff, 0x15, 0xec, 0x3f, 0x00, 0x00,        // 1026 call [5018]
                       0xff, 0x25, 0xde, 0x3f, 0x00, 0x00,        // 102c jmp [5010]
                   });
  elf.functions = {{0x1000, 0x1019, 0, 1, 0}, {0x1020, 0x1032, 0, 1, 0}};
  const auto put = [&](std::string_view text, std::size_t size) {
    const std::size_t begin = elf.data.size();
    elf.data.insert(elf.data.end(), text.begin(), text.end());
    elf.data.resize(begin + size);
    return kData + begin;
  };
  put("mprotect", 16);  // 2000
  put("puts", 16);      // 2010
  const std::uint64_t strings = put("", 1);
  put(asked, 15);
  const std::uint64_t symbols = kData + elf.data.size();
  append(elf.data, Elf64_Sym{});
  append(elf.data, Elf64_Sym{.st_name = 1,
                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                             .st_other = 0,
                             .st_shndx = 0,
                             .st_value = 0,
                             .st_size = 0});
  const std::uint64_t relocations = kData + elf.data.size();
  append(
      elf.data,
      Elf64_Rela{.r_offset = kSlots, .r_info = ELF64_R_INFO(1, R_X86_64_GLOB_DAT), .r_addend = 0});
  elf.dynamic = kData + elf.data.size();
  const auto tag = [&](std::int64_t what, std::uint64_t value) {
    append(elf.data, Elf64_Dyn{.d_tag = what, .d_un = {.d_val = value}});
  };
  tag(DT_STRTAB, strings);
  tag(DT_STRSZ, 16);
  tag(DT_SYMTAB, symbols);
  tag(DT_SYMENT, sizeof(Elf64_Sym));
  tag(DT_RELA, relocations);
  tag(DT_RELASZ, sizeof(Elf64_Rela));
  tag(DT_RELAENT, sizeof(Elf64_Rela));
  tag(DT_NULL, 0);
  const auto writable = [&](std::uint64_t at, std::uint64_t offset, std::uint64_t size) {
    elf.more.push_back({.p_type = PT_LOAD,
                        .p_flags = PF_R | PF_W,
                        .p_offset = offset,
                        .p_vaddr = at,
                        .p_paddr = at,
                        .p_filesz = size,
                        .p_memsz = 0x20,
                        .p_align = 0x1000});
  };
  writable(kSlots, 0, 0);
  writable(kWritten, kData, 0x20);
  return elf;
}

Names asked_at(std::uint64_t insn, std::uint64_t name = kData, std::string_view asked = "dlsym") {
  const auto module = Module::analyze(asking(name, asked).build());
  if (!module) return {"no module"};
  Names out;
  static constexpr std::string_view kMprotect = "mprotect";
  for (const std::string_view found : (*module)->asked_by_name(insn)) {
    out.push_back(found == kMprotect ? kMprotect : "another");
  }
  return out;
}

TEST(AskedNames, AreThoseOfWhatIsStillInTheRegister) {
  EXPECT_EQ(asked_at(0x1014), Names{"mprotect"});
  EXPECT_EQ(asked_at(0x1016), Names{}) << "the call before returned something else";
}

TEST(AskedNames, AreThoseOfWhatTheFileStoresAtTheFixedPlace) {
  EXPECT_EQ(asked_at(0x1020), Names{"mprotect"});
  EXPECT_EQ(asked_at(0x102c), Names{"mprotect"});
  EXPECT_EQ(asked_at(0x1026), Names{}) << "the place beside it";
}

TEST(AskedNames, AreNoneOfOtherFunctions) {
  EXPECT_EQ(asked_at(0x1014, kData, "dlvsym"), Names{"mprotect"});
  EXPECT_EQ(asked_at(0x1014, kData, "dlopen"), Names{});
  EXPECT_EQ(asked_at(0x1020, kData, "dlopen"), Names{});
}

TEST(AskedNames, AreOnlyOfSensitiveFunctionsInDataThatCannotBeWrittenTo) {
  EXPECT_EQ(asked_at(0x1014, kData + 0x10), Names{}) << "puts";
  EXPECT_EQ(asked_at(0x1014, kWritten), Names{});
  EXPECT_EQ(asked_at(0x1020, kWritten), Names{});
}

}  // namespace
}  // namespace hodo::text
