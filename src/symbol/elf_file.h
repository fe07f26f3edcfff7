// An ELF file opened by libelf: its sections, and their bytes when asked for.
#pragma once

#include <libelf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/image/file.h"

namespace hodo::symbol {

struct Section {
  std::string name;
  std::uint32_t type = 0;  // SHT_*
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t entry_size = 0;
  std::uint32_t link = 0;
  Elf_Scn* handle = nullptr;

  bool executable() const;
};

// libelf reads with pread and checks every section against the file's size; no mapping, so a file
// that changes meanwhile gives wrong bytes at worst. Movable. Use from one thread at a time.
class ElfFile {
 public:
  // nullopt: not readable, or no ELF file with sections.
  static std::optional<ElfFile> open(const std::string& path);
  // The bytes must outlive the file.
  static std::optional<ElfFile> from_bytes(std::span<const std::uint8_t> bytes);

  ::Elf* handle() const { return elf_.get(); }
  // Where the system says that it is; empty of bytes.
  std::string path() const;
  // By index; [0] is the null section.
  const std::vector<Section>& sections() const { return sections_; }
  const Section* section(std::string_view name) const;
  // As they lie in the file; empty if they do not (SHT_NOBITS), cannot be read or are absurdly
  // large. Live as long as this file.
  std::span<const std::uint8_t> bytes(const Section& section) const;
  // What its compressed sections say that they unpack to is no more than their kind of compression
  // gives, and fits into memory: libdw unpacks them as they are and believes what they say.
  bool unpacks_within_bounds() const;

 private:
  struct End {
    void operator()(::Elf* elf) const { elf_end(elf); }
  };
  ElfFile(std::optional<image::RegularFile> file, ::Elf* elf);
  void read_sections();

  std::optional<image::RegularFile> file_;
  std::unique_ptr<::Elf, End> elf_;
  std::vector<Section> sections_;
};

}  // namespace hodo::symbol
