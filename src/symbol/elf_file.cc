#include "elf_file.h"

#include <gelf.h>

#include <algorithm>
#include <filesystem>

namespace hodo::symbol {
namespace {

constexpr std::uint64_t kLargestSection = std::uint64_t{1} << 30;
// Of all compressed sections, unpacked. Debug information of the largest programs is a few GB.
constexpr std::uint64_t kLargestUnpacked = std::uint64_t{8} << 30;
// Zlib's most; text does not get near to it with zstd either.
constexpr std::uint64_t kMostRatio = 1032;

bool libelf_ready() {
  static const bool ready = elf_version(EV_CURRENT) != EV_NONE;
  return ready;
}

}  // namespace

bool Section::executable() const { return (flags & SHF_EXECINSTR) != 0; }

ElfFile::ElfFile(std::optional<image::RegularFile> file, ::Elf* elf)
    : file_(std::move(file)), elf_(elf) {
  read_sections();
}

std::optional<ElfFile> ElfFile::open(const std::string& path) {
  auto file = image::RegularFile::open(path);
  if (!file || !libelf_ready()) return std::nullopt;
  ::Elf* const elf = elf_begin(file->fd(), ELF_C_READ, nullptr);
  if (elf == nullptr) return std::nullopt;
  ElfFile opened(*std::move(file), elf);
  if (opened.sections_.empty()) return std::nullopt;
  return opened;
}

std::optional<ElfFile> ElfFile::from_bytes(std::span<const std::uint8_t> bytes) {
  if (!libelf_ready()) return std::nullopt;
  // libelf's parameter is not const, but what is opened this way is only read.
  auto* const data = const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  ::Elf* const elf = elf_memory(data, bytes.size());
  if (elf == nullptr) return std::nullopt;
  ElfFile opened(std::nullopt, elf);
  if (opened.sections_.empty()) return std::nullopt;
  return opened;
}

std::string ElfFile::path() const {
  if (!file_) return "";
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file_->fd()), error);
}

void ElfFile::read_sections() {
  std::size_t names = 0;
  if (elf_kind(elf_.get()) != ELF_K_ELF || elf_getshdrstrndx(elf_.get(), &names) != 0) return;
  // libelf would unpack names, too, however large they say they are. Nobody compresses them.
  GElf_Shdr of_names{};
  const bool named = gelf_getshdr(elf_getscn(elf_.get(), names), &of_names) != nullptr &&
                     (of_names.sh_flags & SHF_COMPRESSED) == 0;
  sections_.emplace_back();
  Elf_Scn* scn = nullptr;
  while ((scn = elf_nextscn(elf_.get(), scn)) != nullptr) {
    GElf_Shdr header{};
    if (gelf_getshdr(scn, &header) == nullptr) break;
    const char* const name = named ? elf_strptr(elf_.get(), names, header.sh_name) : nullptr;
    sections_.push_back({.name = name != nullptr ? name : "",
                         .type = header.sh_type,
                         .flags = header.sh_flags,
                         .address = header.sh_addr,
                         .size = header.sh_size,
                         .entry_size = header.sh_entsize,
                         .link = header.sh_link,
                         .handle = scn});
  }
}

const Section* ElfFile::section(std::string_view name) const {
  const auto it = std::ranges::find(sections_, name, &Section::name);
  return it != sections_.end() ? &*it : nullptr;
}

std::span<const std::uint8_t> ElfFile::bytes(const Section& section) const {
  if (section.handle == nullptr || section.type == SHT_NOBITS || section.size > kLargestSection) {
    return {};
  }
  const Elf_Data* const data = elf_rawdata(section.handle, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return {};
  return {static_cast<const std::uint8_t*>(data->d_buf), data->d_size};
}

bool ElfFile::unpacks_within_bounds() const {
  std::uint64_t left = kLargestUnpacked;
  for (const Section& section : sections_) {
    if ((section.flags & SHF_COMPRESSED) == 0) continue;
    GElf_Chdr header{};
    if (gelf_getchdr(section.handle, &header) == nullptr) continue;  // nor is it unpacked
    if (header.ch_size > left || header.ch_size / kMostRatio > section.size) return false;
    left -= header.ch_size;
  }
  return true;
}

}  // namespace hodo::symbol
