#include "hodo/image/core_dump.h"

#include <elf.h>

#include <algorithm>
#include <span>
#include <utility>

#include "hodo/base/byte_reader.h"
#include "hodo/image/file.h"

namespace hodo::image {
namespace {

using CoreBytes = std::span<const std::uint8_t>;

// Of prstatus and prpsinfo of a 64-bit process (linux/elfcore.h).
constexpr std::size_t kSignalAt = 12;
constexpr std::size_t kThreadAt = 32;
constexpr std::size_t kRegistersAt = 112;
constexpr std::size_t kProcessAt = 24;

constexpr std::uint64_t kMostNotes = std::uint64_t{256} << 20;  // 100,000 threads have 200 MB

std::unexpected<Error> malformed(const std::string& path, std::string_view what) {
  return fail(ErrorCode::malformed, path + ": " + std::string(what));
}

template <class T>
std::optional<T> at(CoreBytes bytes, std::size_t offset) {
  ByteReader reader(bytes);
  return reader.seek(offset) ? reader.read<T>() : std::nullopt;
}

// A thread's prstatus.
bool take_status(CoreBytes note, CoreDump& core) {
  ByteReader registers(note);
  const auto tid = at<std::int32_t>(note, kThreadAt);
  const auto signal = at<std::int16_t>(note, kSignalAt);
  CoreThread thread;
  if (!tid || !signal || !registers.seek(kRegistersAt)) return false;
  for (std::uint64_t& value : thread.registers) {
    const auto read = registers.read<std::uint64_t>();
    if (!read) return false;
    value = *read;
  }
  thread.tid = *tid;
  if (core.threads.empty()) core.signal = *signal;
  core.threads.push_back(thread);
  return true;
}

constexpr std::uint64_t padded(std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; }

bool take_notes(CoreBytes bytes, CoreDump& core) {
  ByteReader reader(bytes);
  while (reader.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto header = reader.read<Elf64_Nhdr>();
    const auto name = reader.take(padded(header->n_namesz));
    const auto note = reader.take(header->n_descsz);
    if (!name || !note) return false;
    (void)reader.take(
        std::min<std::uint64_t>(padded(note->size()) - note->size(), reader.remaining()));
    if (header->n_type == NT_PRSTATUS && !take_status(*note, core)) return false;
    if (header->n_type == NT_PRPSINFO) core.pid = at<std::int32_t>(*note, kProcessAt).value_or(0);
  }
  return true;
}

Result<Elf64_Ehdr> read_header(const RegularFile& file, const std::string& path) {
  std::array<std::uint8_t, sizeof(Elf64_Ehdr)> bytes{};
  const auto got = file.read_at(0, bytes);
  if (!got) return std::unexpected(got.error());
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  const bool is_elf =
      *got >= EI_NIDENT && std::equal(bytes.begin(), bytes.begin() + SELFMAG, ELFMAG);
  if (!is_elf) return malformed(path, "not an ELF file");
  if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
    return fail(ErrorCode::unsupported, path + ": is not of a 64-bit x86 process");
  }
  if (header->e_type != ET_CORE || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return fail(ErrorCode::unsupported, path + ": is no core file");
  }
  if (*got < bytes.size()) return fail(ErrorCode::truncated, path + ": ends in its header");
  return *header;
}

// The kernel writes them as one segment, before all others.
Result<Elf64_Phdr> find_notes(const RegularFile& file, const Elf64_Ehdr& header,
                              const std::string& path) {
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    std::array<std::uint8_t, sizeof(Elf64_Phdr)> bytes{};
    if (header.e_phoff > file.size()) break;
    if (Status read = file.read(header.e_phoff + i * bytes.size(), bytes); !read) {
      return std::unexpected(read.error());
    }
    const auto segment = at<Elf64_Phdr>(bytes, 0);
    if (segment->p_type == PT_NOTE) return *segment;
  }
  return malformed(path, "has no notes, which tell of its threads");
}

}  // namespace

Result<CoreDump> read_core_dump(const std::string& path) {
  auto file = RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto header = read_header(*file, path);
  if (!header) return std::unexpected(header.error());
  auto segment = find_notes(*file, *header, path);
  if (!segment) return std::unexpected(segment.error());
  if (segment->p_filesz > kMostNotes) return malformed(path, "has notes of more than 256 MB");
  if (segment->p_offset > file->size() || segment->p_filesz > file->size() - segment->p_offset) {
    return fail(ErrorCode::truncated, path + ": ends in its notes");
  }
  std::vector<std::uint8_t> notes(static_cast<std::size_t>(segment->p_filesz));
  if (Status read = file->read(segment->p_offset, notes); !read) {
    return std::unexpected(read.error());
  }
  CoreDump core;
  if (!take_notes(notes, core)) return malformed(path, "a note goes beyond its segment");
  if (core.threads.empty()) return malformed(path, "names no thread");
  return core;
}

}  // namespace hodo::image
