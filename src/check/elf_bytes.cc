#include "elf_bytes.h"

#include <elf.h>

#include <algorithm>

namespace hodo::check {
namespace {

constexpr std::size_t kLongestName = 4096;
// Linkers make four to ten; looking one up is a walk over all.
constexpr std::size_t kMostSegments = 256;

}  // namespace

Result<ElfBytes> ElfBytes::read(std::span<const std::uint8_t> bytes) {
  auto elf = image::read_elf(bytes);
  if (!elf) return std::unexpected(elf.error());
  if (elf->elf_class != image::ElfClass::elf64 || elf->machine != EM_X86_64) {
    return fail(ErrorCode::unsupported, "only 64-bit x86 files are analysed");
  }
  if (elf->segments.size() > kMostSegments) {
    return fail(ErrorCode::unsupported, "more segments than any linker makes");
  }
  ElfBytes out(bytes, std::move(*elf));
  out.read_headers();
  return out;
}

void ElfBytes::read_headers() {
  ByteReader reader(file_);
  const auto header = reader.read<Elf64_Ehdr>();
  if (!header || !reader.seek(header->e_phoff)) return;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto p = reader.read<Elf64_Phdr>();
    if (!p) break;
    parts_.push_back({p->p_type, {p->p_vaddr, p->p_offset, p->p_filesz, p->p_flags}});
  }
  const auto dynamic = part(PT_DYNAMIC);
  if (!dynamic) return;
  const auto table = at(dynamic->vaddr);
  ByteReader entries(table.first(std::min<std::uint64_t>(table.size(), dynamic->size)));
  while (const auto entry = entries.read<Elf64_Dyn>()) {
    if (entry->d_tag == DT_NULL) break;
    dynamic_.push_back({entry->d_tag, entry->d_un.d_val});
  }
}

std::span<const std::uint8_t> ElfBytes::of(const image::Segment& segment) const {
  if (segment.offset >= file_.size()) return {};
  const std::uint64_t room = file_.size() - segment.offset;
  return file_.subspan(segment.offset, std::min(room, segment.file_size));
}

std::span<const std::uint8_t> ElfBytes::at(std::uint64_t vaddr) const {
  for (const image::Segment& s : elf_.segments) {
    if (vaddr - s.vaddr >= s.file_size) continue;
    const auto bytes = of(s);
    if (vaddr - s.vaddr < bytes.size()) return bytes.subspan(vaddr - s.vaddr);
  }
  return {};
}

std::optional<ElfBytes::Part> ElfBytes::part(std::uint32_t type) const {
  const auto found = std::ranges::find(parts_, type, &TypedPart::type);
  return found == parts_.end() ? std::nullopt : std::optional(found->part);
}

std::optional<std::uint64_t> ElfBytes::dynamic(std::int64_t tag) const {
  const auto found = std::ranges::find(dynamic_, tag, &Entry::tag);
  return found == dynamic_.end() ? std::nullopt : std::optional(found->value);
}

std::string_view ElfBytes::dynamic_string(std::uint64_t offset) const {
  const auto table = dynamic(DT_STRTAB);
  if (!table) return {};
  const auto bytes = at(*table);
  if (offset >= bytes.size()) return {};
  const auto rest = bytes.subspan(offset);
  const auto text = rest.first(std::min(rest.size(), kLongestName));
  const auto end = std::ranges::find(text, 0);
  if (end == text.end()) return {};
  return {reinterpret_cast<const char*>(text.data()), static_cast<std::size_t>(end - text.begin())};
}

std::vector<std::string> ElfBytes::needed() const {
  std::vector<std::string> out;
  for (const Entry& entry : dynamic_) {
    if (entry.tag == DT_NEEDED) out.emplace_back(dynamic_string(entry.value));
  }
  return out;
}

std::string ElfBytes::soname() const {
  const auto offset = dynamic(DT_SONAME);
  return offset ? std::string(dynamic_string(*offset)) : std::string();
}

void ElfBytes::add_rela(std::int64_t address_tag, std::int64_t size_tag,
                        std::vector<Relocation>& out) const {
  const auto address = dynamic(address_tag);
  const auto size = dynamic(size_tag);
  if (!address || !size) return;
  const auto bytes = at(*address);
  ByteReader reader(bytes.first(std::min<std::uint64_t>(bytes.size(), *size)));
  while (const auto r = reader.read<Elf64_Rela>()) {
    out.push_back({r->r_offset, static_cast<std::uint32_t>(ELF64_R_TYPE(r->r_info)),
                   static_cast<std::uint32_t>(ELF64_R_SYM(r->r_info)),
                   static_cast<std::uint64_t>(r->r_addend)});
  }
}

// The compact form of relative relocations (generic ABI, "Relative Relocation Table"): an even
// entry is the address of one, an odd entry a bitmap of the 63 words behind.
void ElfBytes::add_relr(std::vector<Relocation>& out) const {
  const auto address = dynamic(DT_RELR);
  const auto size = dynamic(DT_RELRSZ);
  if (!address || !size) return;
  const auto bytes = at(*address);
  ByteReader reader(bytes.first(std::min<std::uint64_t>(bytes.size(), *size)));
  // Each relocates a word of the file: more of them than words repeat themselves.
  const std::size_t most = file_.size() / 8;
  const auto add = [&](std::uint64_t place) {
    const auto value = read<std::uint64_t>(place);
    if (value && out.size() < most) {
      out.push_back({place, R_X86_64_RELATIVE, 0, *value});
    }
  };
  std::uint64_t next = 0;
  while (const auto entry = reader.read<std::uint64_t>()) {
    if ((*entry & 1) == 0) {
      add(*entry);
      next = *entry + 8;
      continue;
    }
    for (unsigned bit = 1; bit < 64; ++bit) {
      if ((*entry >> bit & 1) != 0) add(next + 8 * (bit - 1));
    }
    next += std::uint64_t{8} * 63;
  }
}

std::vector<Relocation> ElfBytes::relocations() const {
  std::vector<Relocation> out;
  add_rela(DT_RELA, DT_RELASZ, out);
  add_rela(DT_JMPREL, DT_PLTRELSZ, out);
  add_relr(out);
  return out;
}

std::string_view ElfBytes::symbol_name(std::uint32_t index) const {
  const auto table = dynamic(DT_SYMTAB);
  if (!table) return {};
  const auto symbol = read<Elf64_Sym>(*table + std::uint64_t{index} * sizeof(Elf64_Sym));
  return symbol ? dynamic_string(symbol->st_name) : std::string_view();
}

std::optional<std::uint64_t> ElfBytes::symbol_value(std::uint32_t index) const {
  const auto table = dynamic(DT_SYMTAB);
  if (!table || index == 0) return std::nullopt;
  const auto symbol = read<Elf64_Sym>(*table + std::uint64_t{index} * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF) return std::nullopt;
  return symbol->st_value;
}

}  // namespace hodo::check
