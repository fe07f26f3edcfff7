#include "hodo/image/elf.h"

#include <elf.h>

#include <algorithm>
#include <concepts>
#include <cstring>

#include "hodo/base/byte_reader.h"
#include "hodo/base/page.h"
#include "hodo/image/file.h"

namespace hodo::image {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kLargestNotes = 1 << 20;  // the kernel's and every linker's are below 1 KiB
constexpr std::uint64_t kLongestInterpreter = 4096;  // PATH_MAX, as in the kernel's load_elf_binary

// Reads exactly `size` bytes at `offset`, or fails as truncated.
template <class F>
concept ReadAt = requires(const F& read, std::uint64_t n) {
  { read(n, n) } -> std::same_as<Result<Bytes>>;
};

struct Class32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  static constexpr ElfClass kClass = ElfClass::elf32;
};
struct Class64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  static constexpr ElfClass kClass = ElfClass::elf64;
};

ElfType type_of(std::uint16_t e_type) {
  switch (e_type) {
    case ET_REL:
      return ElfType::rel;
    case ET_EXEC:
      return ElfType::exec;
    case ET_DYN:
      return ElfType::dyn;
    case ET_CORE:
      return ElfType::core;
    default:
      return ElfType::other;
  }
}

// Of what reads past a header: an optional part, absent where it cannot be read.
template <ReadAt Read>
Bytes optional_part(const Read& read, std::uint64_t offset, std::uint64_t size,
                    std::uint64_t limit) {
  auto bytes = size <= limit ? read(offset, size) : Result<Bytes>{};
  return bytes ? *std::move(bytes) : Bytes{};
}

template <class Phdr>
Segment segment_of(const Phdr& header) {
  return {.vaddr = header.p_vaddr,
          .offset = header.p_offset,
          .file_size = std::min<std::uint64_t>(header.p_filesz, header.p_memsz),
          .memory_size = header.p_memsz,
          .executable = (header.p_flags & PF_X) != 0,
          .writable = (header.p_flags & PF_W) != 0};
}

template <class Phdr, ReadAt Read>
void add_program_header(const Phdr& header, const Read& read, Elf& elf) {
  if (header.p_type == PT_LOAD) {
    elf.segments.push_back(segment_of(header));
  } else if (header.p_type == PT_NOTE && elf.build_id.empty()) {
    const auto notes = optional_part(read, header.p_offset, header.p_filesz, kLargestNotes);
    elf.build_id = build_id_in_notes(notes, header.p_align);
  } else if (header.p_type == PT_INTERP && elf.interpreter.empty()) {
    const auto path = optional_part(read, header.p_offset, header.p_filesz, kLongestInterpreter);
    elf.interpreter.assign(path.begin(), std::ranges::find(path, 0));
  }
}

template <class Class, ReadAt Read>
Result<Elf> parse_class(const Read& read) {
  const auto head = read(0, sizeof(typename Class::Ehdr));
  if (!head) return std::unexpected(head.error());
  const auto ehdr = *ByteReader(*head).read<typename Class::Ehdr>();
  Elf elf{.elf_class = Class::kClass,
          .type = type_of(ehdr.e_type),
          .machine = ehdr.e_machine,
          .entry = ehdr.e_entry};
  if (ehdr.e_phnum == 0) return elf;
  if (ehdr.e_phnum == PN_XNUM) return fail(ErrorCode::unsupported, "too many program headers");
  if (ehdr.e_phentsize != sizeof(typename Class::Phdr)) {
    return fail(ErrorCode::malformed, "program headers of an unknown size",
                offsetof(typename Class::Ehdr, e_phentsize));
  }
  const auto table = read(ehdr.e_phoff, std::uint64_t{ehdr.e_phnum} * ehdr.e_phentsize);
  if (!table) return std::unexpected(table.error());
  ByteReader headers(*table);
  while (const auto header = headers.read<typename Class::Phdr>()) {
    add_program_header(*header, read, elf);
  }
  return elf;
}

template <ReadAt Read>
Result<Elf> parse(const Read& read) {
  const auto ident = read(0, EI_NIDENT);
  if (!ident || std::memcmp(ident->data(), ELFMAG, SELFMAG) != 0) {
    if (!ident && ident.error().code != ErrorCode::truncated) return std::unexpected(ident.error());
    return fail(ErrorCode::malformed, "not an ELF file", 0);
  }
  if ((*ident)[EI_DATA] != ELFDATA2LSB) {
    return fail(ErrorCode::unsupported, "a big-endian ELF file", EI_DATA);
  }
  switch ((*ident)[EI_CLASS]) {
    case ELFCLASS32:
      return parse_class<Class32>(read);
    case ELFCLASS64:
      return parse_class<Class64>(read);
    default:
      return fail(ErrorCode::malformed, "neither 32-bit nor 64-bit ELF", EI_CLASS);
  }
}

std::unexpected<Error> ends_early(std::uint64_t offset) {
  return fail(ErrorCode::truncated, "the ELF headers reach behind the end of the file", offset);
}

}  // namespace

std::optional<std::uint64_t> Elf::vaddr_of(std::uint64_t file_offset) const {
  for (const Segment& s : segments) {
    if (file_offset - s.offset < s.file_size) return s.vaddr + (file_offset - s.offset);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Elf::offset_of(std::uint64_t vaddr) const {
  for (const Segment& s : segments) {
    if (vaddr - s.vaddr < s.file_size) return s.offset + (vaddr - s.vaddr);
  }
  return std::nullopt;
}

std::uint64_t Elf::lowest_page() const {
  const auto lowest = std::ranges::min_element(segments, {}, &Segment::vaddr);
  return lowest == segments.end() ? 0 : lowest->vaddr & ~(kPage - 1);
}

Result<Elf> read_elf(std::span<const std::uint8_t> bytes) {
  return parse([bytes](std::uint64_t offset, std::uint64_t size) -> Result<Bytes> {
    ByteReader reader(bytes);
    if (!reader.seek(offset)) return ends_early(offset);
    const auto part = reader.take(size);
    if (!part) return ends_early(offset);
    return Bytes(part->begin(), part->end());
  });
}

Result<Elf> read_elf_file(const std::string& path) {
  const auto file = RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto elf = parse([&file](std::uint64_t offset, std::uint64_t size) -> Result<Bytes> {
    Bytes part(static_cast<std::size_t>(size));
    const auto n = file->read_at(offset, part);
    if (!n) return std::unexpected(n.error());
    if (*n < size) return ends_early(offset);
    return part;
  });
  if (!elf) elf.error().message = path + ": " + elf.error().message;
  return elf;
}

std::vector<std::uint8_t> build_id_in_notes(std::span<const std::uint8_t> notes,
                                            std::uint64_t align) {
  const std::uint64_t unit = align == 8 ? 8 : 4;
  const auto padding = [unit](std::size_t offset) { return (unit - offset % unit) % unit; };
  ByteReader reader(notes);
  while (const auto header = reader.read<Elf64_Nhdr>()) {  // the same 12 bytes in both classes
    const auto name = reader.take(header->n_namesz);
    if (!name || !reader.take(padding(reader.offset()))) break;
    const auto descriptor = reader.take(header->n_descsz);
    if (!descriptor) break;
    if (header->n_type == NT_GNU_BUILD_ID && name->size() == sizeof ELF_NOTE_GNU &&
        std::memcmp(name->data(), ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
      return {descriptor->begin(), descriptor->end()};
    }
    if (!reader.take(padding(reader.offset()))) break;
  }
  return {};
}

std::string to_hex(std::span<const std::uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const auto b : bytes) {
    text += kDigits[b >> 4];
    text += kDigits[b & 15];
  }
  return text;
}

}  // namespace hodo::image
