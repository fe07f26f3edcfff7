#include "hodo/text/elf_bytes.h"

#include <elf.h>

#include <algorithm>
#include <ranges>

namespace hodo::text {
namespace {

constexpr std::size_t kLongestName = 4096;
// Linkers make four to ten; looking one up is a walk over all.
constexpr std::size_t kMostSegments = 256;

struct Class64 {
  using Ehdr = Elf64_Ehdr;
  using Phdr = Elf64_Phdr;
  using Shdr = Elf64_Shdr;
  using Dyn = Elf64_Dyn;
  using Relocation = Elf64_Rela;
  static std::uint32_t type(std::uint64_t info) {
    return static_cast<std::uint32_t>(ELF64_R_TYPE(info));
  }
  static std::uint32_t symbol(std::uint64_t info) {
    return static_cast<std::uint32_t>(ELF64_R_SYM(info));
  }
};
struct Class32 {
  using Ehdr = Elf32_Ehdr;
  using Phdr = Elf32_Phdr;
  using Shdr = Elf32_Shdr;
  using Dyn = Elf32_Dyn;
  using Relocation = Elf32_Rel;
  static std::uint32_t type(std::uint32_t info) { return ELF32_R_TYPE(info); }
  static std::uint32_t symbol(std::uint32_t info) { return ELF32_R_SYM(info); }
};

// Those that matter have the same numbers on both machines, but for IRELATIVE.
static_assert(R_X86_64_64 == R_386_32 && R_X86_64_RELATIVE == R_386_RELATIVE &&
              R_X86_64_JUMP_SLOT == R_386_JMP_SLOT && R_X86_64_GLOB_DAT == R_386_GLOB_DAT);

bool is_irelative(std::uint32_t type, bool narrow) {
  return type == (narrow ? R_386_IRELATIVE : R_X86_64_IRELATIVE);
}

bool is_descriptor(std::uint32_t type, bool narrow) {
  return type == (narrow ? R_386_TLS_DESC : R_X86_64_TLSDESC);
}

Relocation::Kind kind_of(std::uint32_t type, bool narrow) {
  using Kind = Relocation::Kind;
  if (is_irelative(type, narrow)) return Kind::relative;
  switch (type) {
    case R_X86_64_64:
      return Kind::absolute;
    case R_X86_64_RELATIVE:
      return Kind::relative;
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT:
      return Kind::slot;
    default:
      return Kind::other;
  }
}

}  // namespace

Result<ElfBytes> ElfBytes::read(std::span<const std::uint8_t> bytes) {
  auto elf = image::read_elf(bytes);
  if (!elf) return std::unexpected(elf.error());
  const int machine = elf->elf_class == image::ElfClass::elf64 ? EM_X86_64 : EM_386;
  if (elf->machine != machine) {
    return fail(ErrorCode::unsupported, "only files of x86-64 and i386 are analysed");
  }
  if (elf->segments.size() > kMostSegments) {
    return fail(ErrorCode::unsupported, "more segments than any linker makes");
  }
  ElfBytes out(bytes, std::move(*elf));
  if (out.is_narrow()) {
    out.read_headers<Class32>();
  } else {
    out.read_headers<Class64>();
  }
  return out;
}

template <class Class>
void ElfBytes::read_headers() {
  ByteReader reader(file_);
  const auto header = reader.read<typename Class::Ehdr>();
  if (!header || !reader.seek(header->e_phoff)) return;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto p = reader.read<typename Class::Phdr>();
    if (!p) break;
    parts_.push_back({p->p_type, {p->p_vaddr, p->p_offset, p->p_filesz, p->p_flags}});
  }
  const auto dynamic = part(PT_DYNAMIC);
  if (!dynamic) return;
  const auto table = at(dynamic->vaddr);
  ByteReader entries(table.first(std::min<std::uint64_t>(table.size(), dynamic->size)));
  while (const auto entry = entries.read<typename Class::Dyn>()) {
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

std::vector<ElfBytes::Part> ElfBytes::parts(std::initializer_list<std::uint32_t> types) const {
  std::vector<Part> out;
  for (const TypedPart& p : parts_) {
    if (std::ranges::find(types, p.type) != types.end()) out.push_back(p.part);
  }
  return out;
}

template <class Class>
std::optional<std::uint64_t> ElfBytes::find_section(std::string_view name) const {
  ByteReader file(file_);
  const auto header = file.read<typename Class::Ehdr>();
  if (!header || header->e_shoff == 0 || !file.seek(header->e_shoff)) return std::nullopt;
  std::vector<typename Class::Shdr> sections;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const auto section = file.read<typename Class::Shdr>();
    if (!section) break;
    sections.push_back(*section);
  }
  if (header->e_shstrndx >= sections.size()) return std::nullopt;
  const std::uint64_t names = sections[header->e_shstrndx].sh_offset;
  const auto is_called = [&](const auto& section) {
    ByteReader text(file_);
    if (!text.seek(names) || !text.take(section.sh_name)) return false;
    const auto found = text.take(name.size() + 1);
    return found && std::equal(name.begin(), name.end(), found->begin()) && found->back() == 0;
  };
  const auto found = std::ranges::find_if(sections, is_called);
  return found == sections.end() ? std::nullopt : std::optional<std::uint64_t>(found->sh_addr);
}

std::optional<std::uint64_t> ElfBytes::section(std::string_view name) const {
  return is_narrow() ? find_section<Class32>(name) : find_section<Class64>(name);
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
    if (entry.tag == DT_NEEDED || entry.tag == DT_FILTER) {
      out.emplace_back(dynamic_string(entry.value));
    }
  }
  return out;
}

std::vector<std::string> ElfBytes::wished() const {
  std::vector<std::string> out;
  for (const Entry& entry : dynamic_) {
    const bool audits = entry.tag == DT_AUDIT || entry.tag == DT_DEPAUDIT;
    if (!audits && entry.tag != DT_AUXILIARY) continue;
    for (const auto name : std::views::split(dynamic_string(entry.value), ':')) {
      out.emplace_back(std::string_view(name));
    }
  }
  return out;
}

std::string ElfBytes::soname() const {
  const auto offset = dynamic(DT_SONAME);
  return offset ? std::string(dynamic_string(*offset)) : std::string();
}

// What i386 adds to lies at the place itself.
template <class Class>
void ElfBytes::add_relocations(std::int64_t address_tag, std::int64_t size_tag,
                               std::vector<Relocation>& out) const {
  const auto address = dynamic(address_tag);
  const auto size = dynamic(size_tag);
  if (!address || !size) return;
  const auto bytes = at(*address);
  ByteReader reader(bytes.first(std::min<std::uint64_t>(bytes.size(), *size)));
  while (const auto r = reader.read<typename Class::Relocation>()) {
    Relocation made{.place = r->r_offset,
                    .kind = kind_of(Class::type(r->r_info), is_narrow()),
                    .symbol = Class::symbol(r->r_info),
                    .lazy = Class::type(r->r_info) == R_X86_64_JUMP_SLOT,
                    .describes = is_descriptor(Class::type(r->r_info), is_narrow()),
                    .chooses = is_irelative(Class::type(r->r_info), is_narrow())};
    if constexpr (requires { r->r_addend; }) {
      made.addend = static_cast<std::uint64_t>(r->r_addend);
    } else if (made.kind == Relocation::Kind::relative || made.kind == Relocation::Kind::absolute) {
      made.addend = word(made.place).value_or(0);
    }
    out.push_back(made);
  }
}

// The compact form of relative relocations (generic ABI, "Relative Relocation Table"): an even
// entry is the address of one, an odd entry a bitmap of the 63 (31) words behind.
template <class Word>
void ElfBytes::add_relr(std::vector<Relocation>& out) const {
  const auto address = dynamic(DT_RELR);
  const auto size = dynamic(DT_RELRSZ);
  if (!address || !size) return;
  const auto bytes = at(*address);
  ByteReader reader(bytes.first(std::min<std::uint64_t>(bytes.size(), *size)));
  // Each relocates a word of the file: more of them than words repeat themselves.
  const std::size_t most = file_.size() / sizeof(Word);
  const auto add = [&](std::uint64_t place) {
    const auto value = read<Word>(place);
    if (value && out.size() < most) {
      out.push_back({.place = place, .kind = Relocation::Kind::relative, .addend = *value});
    }
  };
  std::uint64_t next = 0;
  constexpr unsigned kBits = 8 * sizeof(Word);
  while (const auto entry = reader.read<Word>()) {
    if ((*entry & 1) == 0) {
      add(*entry);
      next = *entry + sizeof(Word);
      continue;
    }
    for (unsigned bit = 1; bit < kBits; ++bit) {
      if ((*entry >> bit & 1) != 0) add(next + sizeof(Word) * (bit - 1));
    }
    next += std::uint64_t{sizeof(Word)} * (kBits - 1);
  }
}

std::vector<Relocation> ElfBytes::relocations() const {
  std::vector<Relocation> out;
  if (is_narrow()) {
    add_relocations<Class32>(DT_REL, DT_RELSZ, out);
    add_relocations<Class32>(DT_JMPREL, DT_PLTRELSZ, out);
    add_relr<std::uint32_t>(out);
  } else {
    add_relocations<Class64>(DT_RELA, DT_RELASZ, out);
    add_relocations<Class64>(DT_JMPREL, DT_PLTRELSZ, out);
    add_relr<std::uint64_t>(out);
  }
  return out;
}

template <class Sym>
std::optional<ElfBytes::Symbol> ElfBytes::symbol_of(std::uint32_t index) const {
  const auto table = dynamic(DT_SYMTAB);
  const auto sym =
      table ? read<Sym>(*table + std::uint64_t{index} * sizeof(Sym)) : std::optional<Sym>();
  if (!sym) return std::nullopt;
  return Symbol{
      .name = sym->st_name, .value = sym->st_value, .defined = sym->st_shndx != SHN_UNDEF};
}

std::optional<ElfBytes::Symbol> ElfBytes::symbol(std::uint32_t index) const {
  return is_narrow() ? symbol_of<Elf32_Sym>(index) : symbol_of<Elf64_Sym>(index);
}

// DT_HASH says it; DT_GNU_HASH has the defined ones last, in chains of which an odd hash ends each
// (glibc's elf/dl-lookup.c, do_lookup_x).
std::optional<std::uint32_t> ElfBytes::symbol_count() const {
  if (const auto table = dynamic(DT_HASH)) return read<std::uint32_t>(*table + 4);
  const auto table = dynamic(DT_GNU_HASH);
  struct Header {
    std::uint32_t buckets, first, bloom, shift;
  };
  const auto header = table ? read<Header>(*table) : std::nullopt;
  if (!header) return std::nullopt;
  const std::uint64_t buckets =
      *table + sizeof *header + std::uint64_t{header->bloom} * word_size();
  std::uint32_t last = 0;
  ByteReader reader(at(buckets));
  for (std::uint32_t i = 0; i < header->buckets; ++i) {
    const auto first = reader.read<std::uint32_t>();
    if (!first) return std::nullopt;
    last = std::max(last, *first);
  }
  if (last < header->first) return header->first;
  const std::uint64_t chains = buckets + std::uint64_t{header->buckets} * 4;
  ByteReader chain(at(chains + (std::uint64_t{last} - header->first) * 4));
  while (const auto hash = chain.read<std::uint32_t>()) {
    ++last;
    if ((*hash & 1) != 0) return last;
  }
  return std::nullopt;
}

std::optional<std::vector<ElfBytes::Export>> ElfBytes::exports() const {
  std::vector<Export> out;
  if (!dynamic(DT_SYMTAB)) return out;
  const auto count = symbol_count();
  if (!count) return std::nullopt;
  for (std::uint32_t i = 1; i < *count; ++i) {
    const auto found = symbol(i);
    if (!found) return std::nullopt;
    // Of a function of another file, where a program that does not move has its stub.
    const bool stands_for = !found->defined && found->value != 0;
    if (found->defined || stands_for) {
      out.push_back({found->value, dynamic_string(found->name)});
    }
  }
  return out;
}

bool ElfBytes::is_constant(std::uint64_t vaddr) const {
  const auto relro = part(PT_GNU_RELRO);
  if (relro && vaddr - relro->vaddr < relro->size) return true;
  return std::ranges::none_of(elf_.segments, [&](const image::Segment& s) {
    return s.writable && vaddr - s.vaddr < s.memory_size;
  });
}

std::string_view ElfBytes::symbol_name(std::uint32_t index) const {
  const auto found = symbol(index);
  return found ? dynamic_string(found->name) : std::string_view();
}

std::optional<std::uint64_t> ElfBytes::symbol_value(std::uint32_t index) const {
  const auto found = index == 0 ? std::nullopt : symbol(index);
  return found && found->defined ? std::optional(found->value) : std::nullopt;
}

}  // namespace hodo::text
