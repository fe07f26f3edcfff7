#include "hodo/image/elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "hodo/image/file.h"
#include "temp_file.h"

namespace hodo::image {
namespace {

using test::Bytes;
using test::TempFile;
using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
void append(Bytes& out, const T& value) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), p, p + sizeof value);
}

constexpr std::uint8_t kBuildId[] = {0xde, 0xad, 0xbe, 0xef};

Bytes note(std::uint32_t type, std::string_view name, std::span<const std::uint8_t> descriptor) {
  Bytes out;
  append(out, Elf64_Nhdr{static_cast<std::uint32_t>(name.size() + 1),
                         static_cast<std::uint32_t>(descriptor.size()), type});
  out.insert(out.end(), name.begin(), name.end());
  out.push_back(0);
  out.resize((out.size() + 3) & ~std::size_t{3});
  out.insert(out.end(), descriptor.begin(), descriptor.end());
  out.resize((out.size() + 3) & ~std::size_t{3});
  return out;
}

struct Elf64Types {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  static constexpr auto kIdent = ELFCLASS64;
};
struct Elf32Types {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  static constexpr auto kIdent = ELFCLASS32;
};

// header | LOAD rx 0x400000 <- [0, 0x1000) | LOAD rw 0x402000 <- [0x1000, 0x1100), 0x300 in memory
//        | NOTE | INTERP
template <class Types>
Bytes sample() {
  typename Types::Ehdr ehdr{};
  std::memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
  ehdr.e_ident[EI_CLASS] = Types::kIdent;
  ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
  ehdr.e_type = ET_DYN;
  ehdr.e_machine = EM_X86_64;
  ehdr.e_entry = 0x400123;
  ehdr.e_phoff = sizeof ehdr;
  ehdr.e_phnum = 4;
  ehdr.e_phentsize = sizeof(typename Types::Phdr);
  const Bytes notes = [] {
    Bytes n = note(1, "Other", kBuildId);
    const Bytes id = note(NT_GNU_BUILD_ID, "GNU", kBuildId);
    n.insert(n.end(), id.begin(), id.end());
    return n;
  }();
  const std::string interpreter = "/lib/ld.so";
  const auto notes_at = sizeof ehdr + 4 * sizeof(typename Types::Phdr);
  typename Types::Phdr headers[4]{};
  headers[0].p_type = PT_LOAD;
  headers[0].p_flags = PF_R | PF_X;
  headers[0].p_vaddr = 0x400000;
  headers[0].p_filesz = headers[0].p_memsz = 0x1000;
  headers[1].p_type = PT_LOAD;
  headers[1].p_flags = PF_R | PF_W;
  headers[1].p_offset = 0x1000;
  headers[1].p_vaddr = 0x402000;
  headers[1].p_filesz = 0x100;
  headers[1].p_memsz = 0x300;
  headers[2].p_type = PT_NOTE;
  headers[2].p_offset = static_cast<decltype(headers[2].p_offset)>(notes_at);
  headers[2].p_filesz = headers[2].p_memsz =
      static_cast<decltype(headers[2].p_filesz)>(notes.size());
  headers[3].p_type = PT_INTERP;
  headers[3].p_offset = static_cast<decltype(headers[2].p_offset)>(notes_at + notes.size());
  headers[3].p_filesz = headers[3].p_memsz =
      static_cast<decltype(headers[2].p_filesz)>(interpreter.size() + 1);
  Bytes out;
  append(out, ehdr);
  for (const auto& h : headers) append(out, h);
  out.insert(out.end(), notes.begin(), notes.end());
  out.insert(out.end(), interpreter.begin(), interpreter.end());
  out.push_back(0);
  return out;
}

template <class Types>
void expect_sample(const Result<Elf>& elf, ElfClass elf_class) {
  ASSERT_TRUE(elf) << elf.error().message;
  EXPECT_EQ(elf->elf_class, elf_class);
  EXPECT_EQ(elf->type, ElfType::dyn);
  EXPECT_EQ(elf->machine, EM_X86_64);
  EXPECT_EQ(elf->entry, 0x400123u);
  EXPECT_EQ(elf->interpreter, "/lib/ld.so");
  EXPECT_EQ(to_hex(elf->build_id), "deadbeef");
  ASSERT_EQ(elf->segments.size(), 2u);
  EXPECT_TRUE(elf->segments[0].executable);
  EXPECT_FALSE(elf->segments[0].writable);
  EXPECT_FALSE(elf->segments[1].executable);
  EXPECT_TRUE(elf->segments[1].writable);
  EXPECT_EQ(elf->segments[1].memory_size, 0x300u);
  EXPECT_EQ(elf->lowest_page(), 0x400000u);
}

TEST(ReadElf, BothClasses) {
  expect_sample<Elf64Types>(read_elf(sample<Elf64Types>()), ElfClass::elf64);
  expect_sample<Elf32Types>(read_elf(sample<Elf32Types>()), ElfClass::elf32);
}

TEST(ReadElf, FromAFile) {
  const TempFile file(sample<Elf64Types>());
  expect_sample<Elf64Types>(read_elf_file(file.path()), ElfClass::elf64);
}

TEST(ReadElf, TranslatesBetweenOffsetsAndAddresses) {
  const auto elf = read_elf(sample<Elf64Types>());
  EXPECT_EQ(elf->vaddr_of(0), 0x400000u);
  EXPECT_EQ(elf->vaddr_of(0xfff), 0x400fffu);
  EXPECT_EQ(elf->vaddr_of(0x1000), 0x402000u);
  EXPECT_EQ(elf->vaddr_of(0x10ff), 0x4020ffu);
  EXPECT_EQ(elf->vaddr_of(0x1100), std::nullopt);
  EXPECT_EQ(elf->offset_of(0x402001), 0x1001u);
  EXPECT_EQ(elf->offset_of(0x402100), std::nullopt) << "not in the file";
  EXPECT_EQ(elf->offset_of(0x3fffff), std::nullopt);
}

// The headers must be there; notes and interpreter are optional parts.
TEST(ReadElf, CutOffAtEveryLength) {
  const Bytes whole = sample<Elf64Types>();
  const auto headers = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto elf = read_elf(std::span(whole).first(size));
    if (size < EI_NIDENT) {
      ASSERT_FALSE(elf);
      EXPECT_EQ(elf.error().code, ErrorCode::malformed) << size;
    } else if (size < headers) {
      ASSERT_FALSE(elf);
      EXPECT_EQ(elf.error().code, ErrorCode::truncated) << size;
    } else {
      ASSERT_TRUE(elf) << size;
      EXPECT_EQ(elf->interpreter, "") << size;
    }
  }
}

TEST(ReadElf, RefusesWhatItCannotRead) {
  Bytes b = sample<Elf64Types>();
  b[EI_DATA] = ELFDATA2MSB;
  EXPECT_EQ(read_elf(b).error().code, ErrorCode::unsupported);
  b = sample<Elf64Types>();
  b[EI_CLASS] = 3;
  EXPECT_EQ(read_elf(b).error().code, ErrorCode::malformed);
  b = sample<Elf64Types>();
  b[0] = '#';
  EXPECT_EQ(read_elf(b).error().code, ErrorCode::malformed);
  b = sample<Elf64Types>();
  b[offsetof(Elf64_Ehdr, e_phentsize)] = 32;
  EXPECT_EQ(read_elf(b).error().code, ErrorCode::malformed);
  b = sample<Elf64Types>();
  b[offsetof(Elf64_Ehdr, e_phnum)] = b[offsetof(Elf64_Ehdr, e_phnum) + 1] = 0xff;
  EXPECT_EQ(read_elf(b).error().code, ErrorCode::unsupported);
  b = sample<Elf64Types>();
  std::memset(&b[offsetof(Elf64_Ehdr, e_phoff)], 0xff, 8);
  EXPECT_EQ(read_elf(b).error().code, ErrorCode::truncated);
  EXPECT_THAT(read_elf_file("/etc/passwd").error().message, HasSubstr("/etc/passwd: not an ELF"));
  EXPECT_EQ(read_elf_file("/nonexistent").error().code, ErrorCode::not_found);
}

TEST(BuildId, IgnoresNotesThatLie) {
  Bytes notes = note(NT_GNU_BUILD_ID, "GNU", kBuildId);
  EXPECT_THAT(build_id_in_notes(notes), ElementsAre(0xde, 0xad, 0xbe, 0xef));
  for (std::size_t size = 0; size < notes.size(); ++size) {
    EXPECT_TRUE(build_id_in_notes(std::span(notes).first(size)).empty()) << size;
  }
  notes[0] = notes[1] = notes[2] = notes[3] = 0xff;  // a name of 4 GiB
  EXPECT_TRUE(build_id_in_notes(notes).empty());
  EXPECT_TRUE(build_id_in_notes(note(NT_GNU_BUILD_ID, "GNV", kBuildId)).empty());
}

TEST(BuildId, NamesAndDescriptorsArePaddedEach) {
  Bytes notes = note(1, "Four", std::span(kBuildId).first(3));  // 5 + 3 of 3 + 1 bytes of padding
  const Bytes id = note(NT_GNU_BUILD_ID, "GNU", kBuildId);
  notes.insert(notes.end(), id.begin(), id.end());
  EXPECT_THAT(build_id_in_notes(notes), ElementsAre(0xde, 0xad, 0xbe, 0xef));
}

TEST(BuildId, EightByteAlignedNotes) {
  Bytes notes;
  append(notes, Elf64_Nhdr{4, 4, 5});  // a GNU property of odd size, then the build-id
  append(notes, std::array<char, 4>{'G', 'N', 'U', 0});
  append(notes, std::uint64_t{0});  // 4 bytes and padding to 8
  Bytes id = note(NT_GNU_BUILD_ID, "GNU", kBuildId);
  notes.insert(notes.end(), id.begin(), id.end());
  EXPECT_THAT(build_id_in_notes(notes, 8), ElementsAre(0xde, 0xad, 0xbe, 0xef));
  EXPECT_TRUE(build_id_in_notes(notes, 4).empty());
}

TEST(ReadElf, ThisProgramAndItsLibrary) {
  const auto self = read_elf_file("/proc/self/exe");
  ASSERT_TRUE(self) << self.error().message;
  EXPECT_EQ(self->machine, EM_X86_64);
  EXPECT_FALSE(self->interpreter.empty());
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::strlen), &info), 0);
  const auto libc = read_elf_file(info.dli_fname);
  ASSERT_TRUE(libc) << libc.error().message;
  EXPECT_EQ(libc->type, ElfType::dyn);
  EXPECT_EQ(libc->build_id.size(), 20u);
}

}  // namespace
}  // namespace hodo::image
