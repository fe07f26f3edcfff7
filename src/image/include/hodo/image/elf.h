// The few facts of an ELF file that mapping and naming it take: class, segments, build-id.
//
// Read by our own bounded reader and not by libelf: only the file header, the program headers and
// the notes are looked at, a few dozen lines that can be fuzzed as a whole, and they work on bytes
// that are no file (a vDSO, guest memory). Symbols and DWARF, which are complicated, are libelf's
// and libdw's (src/symbol).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::image {

enum class ElfClass : std::uint8_t { elf32, elf64 };
enum class ElfType : std::uint8_t { rel, exec, dyn, core, other };

// A PT_LOAD program header as the file has it; nothing is rounded to pages.
struct Segment {
  std::uint64_t vaddr = 0;
  std::uint64_t offset = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  bool executable = false;
  bool writable = false;
};

struct Elf {
  ElfClass elf_class = ElfClass::elf64;
  ElfType type = ElfType::other;
  std::uint16_t machine = 0;  // e_machine: 3 EM_386, 62 EM_X86_64
  std::uint64_t entry = 0;
  std::string interpreter;             // PT_INTERP; empty: none
  std::vector<Segment> segments;       // in the file's order
  std::vector<std::uint8_t> build_id;  // NT_GNU_BUILD_ID, usually 20 bytes; empty: none

  // Where a byte of the file lies in memory before relocation, and back, through the segments' file
  // parts; nullopt outside of them.
  std::optional<std::uint64_t> vaddr_of(std::uint64_t file_offset) const;
  std::optional<std::uint64_t> offset_of(std::uint64_t vaddr) const;
  // The first segment's address rounded down to a page: what the load bias is counted from.
  std::uint64_t lowest_page() const;
};

// Of a file in memory, or of a file. Segments that reach behind the end of the file are kept as
// they are; unreadable notes count as absent. Little-endian only. Errors: malformed for what is no
// ELF file or contradicts itself; truncated if the headers reach behind the end; unsupported for
// big-endian files and for more than 65534 program headers; read_elf_file also as
// RegularFile::open.
Result<Elf> read_elf(std::span<const std::uint8_t> bytes);
Result<Elf> read_elf_file(const std::string& path);

// The descriptor of the NT_GNU_BUILD_ID note among notes as a PT_NOTE segment, a .note section or
// /sys/kernel/notes has them; empty if there is none. `align` is the segment's: 8, or anything else
// for 4.
std::vector<std::uint8_t> build_id_in_notes(std::span<const std::uint8_t> notes,
                                            std::uint64_t align = 4);

// Lower-case hexadecimal, as in /usr/lib/debug/.build-id.
std::string to_hex(std::span<const std::uint8_t> bytes);

}  // namespace hodo::image
