// Core files as the kernel writes them, and such as it does not.
#include "hodo/image/core_dump.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "temp_file.h"

namespace hodo::image {
namespace {

using test::Bytes;
using test::TempFile;

template <class T>
void put(Bytes& out, std::size_t at, const T& value) {
  if (out.size() < at + sizeof(T)) out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

void add_note(Bytes& notes, std::uint32_t type, const Bytes& content) {
  const Elf64_Nhdr header{
      .n_namesz = 5, .n_descsz = static_cast<Elf64_Word>(content.size()), .n_type = type};
  put(notes, notes.size(), header);
  notes.insert(notes.end(), {'C', 'O', 'R', 'E', 0, 0, 0, 0});
  notes.insert(notes.end(), content.begin(), content.end());
  notes.resize((notes.size() + 3) & ~std::size_t{3});
}

Bytes status(std::int32_t tid, std::int16_t signal, std::uint64_t first_register) {
  Bytes out(336);
  put(out, 12, signal);
  put(out, 32, tid);
  for (std::uint64_t i = 0; i < kCoreRegisters.size(); ++i)
    put(out, 112 + 8 * i, first_register + i);
  return out;
}

Bytes notes_of_two_threads() {
  Bytes notes, process(136);
  put(process, 24, std::int32_t{42});
  add_note(notes, NT_PRSTATUS, status(43, 11, 100));
  add_note(notes, NT_PRPSINFO, process);
  add_note(notes, 0x46494c45, Bytes(21));  // NT_FILE
  add_note(notes, NT_PRSTATUS, status(42, 0, 200));
  return notes;
}

Bytes core_file(const Bytes& notes) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_type = ET_CORE;
  header.e_machine = EM_X86_64;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
  segment.p_filesz = notes.size();
  Bytes out;
  put(out, 0, header);
  put(out, out.size(), segment);
  out.insert(out.end(), notes.begin(), notes.end());
  return out;
}

TEST(CoreDump, HasEveryThreadsRegisters) {
  const TempFile temp(core_file(notes_of_two_threads()));
  const auto core = read_core_dump(temp.path());
  ASSERT_TRUE(core.has_value()) << core.error().message;
  EXPECT_EQ(core->pid, 42);
  EXPECT_EQ(core->signal, 11);
  ASSERT_EQ(core->threads.size(), 2u);
  EXPECT_EQ(core->threads[0].tid, 43);
  EXPECT_EQ(core->threads[1].tid, 42);
  EXPECT_EQ(kCoreRegisters[16], "rip");
  EXPECT_EQ(rip_of(core->threads[0]), 116u);
  EXPECT_EQ(core->threads[1].registers.back(), 200 + kCoreRegisters.size() - 1);
}

TEST(CoreDump, CutOffAnywhereIsAnError) {
  const Bytes whole = core_file(notes_of_two_threads());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const TempFile temp(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_FALSE(read_core_dump(temp.path()).has_value()) << size;
  }
}

TEST(CoreDump, ANoteThatIsTooLongIsAnError) {
  Bytes notes = notes_of_two_threads();
  for (const std::uint32_t size : {337u, 0x7fffffffu, 0xffffffffu}) {
    Bytes odd = notes;
    put(odd, odd.size() - 336 - 8 - sizeof(Elf64_Nhdr) + 4, size);
    const TempFile temp(core_file(odd));
    const auto core = read_core_dump(temp.path());
    ASSERT_FALSE(core.has_value()) << size;
    EXPECT_NE(core.error().message.find("goes beyond its segment"), std::string::npos)
        << core.error().message;
  }
  notes.clear();
  add_note(notes, NT_PRSTATUS, Bytes(300));
  const TempFile shorter(core_file(notes));
  EXPECT_FALSE(read_core_dump(shorter.path()).has_value());
}

TEST(CoreDump, OtherFilesAreSaidToBeNone) {
  const auto program = read_core_dump("/proc/self/exe");
  ASSERT_FALSE(program.has_value());
  EXPECT_EQ(program.error().code, ErrorCode::unsupported);
  const TempFile text(Bytes{'n', 'o', ' ', 'c', 'o', 'r', 'e'});
  const auto none = read_core_dump(text.path());
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().code, ErrorCode::malformed);
  const TempFile empty(core_file({}));
  EXPECT_FALSE(read_core_dump(empty.path()).has_value());
}

}  // namespace
}  // namespace hodo::image
