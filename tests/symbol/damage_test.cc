// Files that are cut off or lie: anything may be missing from the answers, but nothing else
// happens. Run under AddressSanitizer these tests say more than they do here.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "elf_file.h"
#include "fixture.h"

namespace hodo::symbol {
namespace {

// Asks everything that can be asked, and counts the answers. They have to hold together: symbols
// come in order, and what is found at an address has it inside.
std::size_t ask(test::Bytes bytes) {
  const auto table = SymbolTable::from_bytes(std::move(bytes));
  if (!table) {
    EXPECT_FALSE(table.error().message.empty());
    return 0;
  }
  const auto symbols = (*table)->symbols();
  EXPECT_TRUE(std::ranges::is_sorted(symbols, {}, &Symbol::start));
  std::size_t answers = symbols.size();
  for (std::size_t i = 0; i < symbols.size(); i += 1 + symbols.size() / 50) {
    if (const Symbol* found = (*table)->at(symbols[i].start)) {
      EXPECT_LE(found->start, symbols[i].start);
      EXPECT_LT(symbols[i].start - found->start, found->size);
      ++answers;
    }
    answers += (*table)->source(symbols[i].start).size();
  }
  answers += (*table)->named("fixture::outer").size();
  const auto calls = (*table)->inlined_calls("fixture::inner");
  for (const InlinedCall& call : calls) {
    std::uint64_t end = 0;
    for (const InlinedCall::Range& range : call.ranges) {
      EXPECT_TRUE(range.begin >= end && range.begin < range.end);
      end = range.end;
    }
  }
  answers += calls.size();
  return answers;
}

TEST(DamagedElf, CutOffAnywhere) {
  const auto whole = test::read_file(HODO_FIXTURE);
  const std::size_t complete = ask(whole);
  EXPECT_GT(complete, 20u);
  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 400) {
    EXPECT_LE(ask({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), complete);
  }
}

TEST(DamagedElf, BytesOverwritten) {
  const auto whole = test::read_file(HODO_FIXTURE);
  unsigned answered = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    auto bytes = whole;
    for (int i = 0; i < 1 + static_cast<int>(seed % 64); ++i) {
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    }
    answered += ask(std::move(bytes)) > 0;
  }
  EXPECT_GT(answered, 100u) << "damage that costs all symbols is rare";
}

// Overwrites a field in all section headers: what the tables say of their own places and sizes.
TEST(DamagedElf, SectionHeadersThatLie) {
  const auto whole = test::read_file(HODO_FIXTURE);
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  const std::uint64_t values[] = {0,          1,          7,    whole.size() - 1, whole.size(),
                                  1ull << 32, 1ull << 62, ~0ull};
  const std::size_t complete = ask(whole);
  for (std::size_t field = 0; field < sizeof(Elf64_Shdr); field += 4) {
    for (const auto value : values) {
      for (int section = 0; section < header.e_shnum; ++section) {
        auto bytes = whole;
        const auto at = header.e_shoff + static_cast<std::size_t>(section) * sizeof(Elf64_Shdr);
        std::memcpy(&bytes[at + field], &value, field + 8 <= sizeof(Elf64_Shdr) ? 8 : 4);
        EXPECT_LE(ask(std::move(bytes)), 2 * complete) << "field " << field << " of " << section;
      }
    }
  }
}

// Every DWARF byte in turn: source() reads .debug_info, .debug_abbrev, .debug_line and their like.
TEST(DamagedElf, DwarfThatLies) {
  const auto whole = test::read_file(HODO_FIXTURE);
  Elf64_Ehdr header;
  std::memcpy(&header, whole.data(), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), &whole[header.e_shoff], sections.size() * sizeof(Elf64_Shdr));
  const char* names = reinterpret_cast<const char*>(&whole[sections[header.e_shstrndx].sh_offset]);
  std::mt19937 random(1);
  const std::size_t count = SymbolTable::from_bytes(whole).value()->symbols().size();
  unsigned read = 0;
  for (const Elf64_Shdr& s : sections) {
    if (std::strncmp(names + s.sh_name, ".debug_", 7) != 0) continue;
    for (int i = 0; i < 200; ++i) {
      auto bytes = whole;
      bytes[s.sh_offset + random() % s.sh_size] = static_cast<std::uint8_t>(random());
      EXPECT_GE(ask(std::move(bytes)), count) << "DWARF costs source lines, no symbols";
      ++read;
    }
  }
  EXPECT_GE(read, 5 * 200u);
}

// A section of a few bytes that says it is compressed, and how large it was.
bool is_unpacked(std::uint32_t kind, std::uint64_t size) {
  auto bytes = test::read_file(HODO_FIXTURE);
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  Elf64_Shdr last;
  const auto at = header.e_shoff + (header.e_shnum - std::size_t{1}) * sizeof last;
  std::memcpy(&last, &bytes[at], sizeof last);
  const Elf64_Chdr packed{.ch_type = kind, .ch_reserved = 0, .ch_size = size, .ch_addralign = 1};
  last.sh_flags |= SHF_COMPRESSED;
  std::memcpy(&bytes[at], &last, sizeof last);
  std::memcpy(&bytes[last.sh_offset], &packed, sizeof packed);
  const auto file = ElfFile::from_bytes(bytes);
  return file && file->unpacks_within_bounds();
}

TEST(DamagedElf, CompressedSectionsThatLie) {
  constexpr std::uint32_t kZstd = 2;  // ELFCOMPRESS_ZSTD, which Debian 12's elf.h lacks
  for (const std::uint32_t kind : {std::uint32_t{ELFCOMPRESS_ZLIB}, kZstd}) {
    EXPECT_TRUE(is_unpacked(kind, 1000));
    EXPECT_FALSE(is_unpacked(kind, 16 << 20)) << "from a few hundred bytes";
    EXPECT_FALSE(is_unpacked(kind, std::uint64_t{1} << 45));
    EXPECT_FALSE(is_unpacked(kind, ~std::uint64_t{0}));
  }
}

}  // namespace
}  // namespace hodo::symbol
