#include "file_symbols.h"

#include <elf.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "elf_records.h"
#include "mini_debug_info.h"
#include "plt.h"

namespace hodo::symbol {
namespace {

std::optional<SymbolKind> kind_of(const Elf64_Sym& symbol, const std::vector<Section>& sections) {
  switch (ELF64_ST_TYPE(symbol.st_info)) {
    case STT_FUNC:
      return SymbolKind::function;
    case STT_GNU_IFUNC:
      return SymbolKind::ifunc;
    case STT_NOTYPE:
      if (symbol.st_shndx < sections.size() && sections[symbol.st_shndx].executable()) {
        return SymbolKind::label;
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// "realpath@@GLIBC_2.3": linkers write versions into .symtab.
std::string_view without_version(std::string_view name) {
  return name.substr(0, std::min(name.find('@'), name.size()));
}

std::uint64_t section_end(const Elf64_Sym& symbol, const std::vector<Section>& sections) {
  if (symbol.st_shndx >= sections.size()) return symbol.st_value;
  const Section& s = sections[symbol.st_shndx];
  return s.address + std::min(s.size, ~s.address);
}

}  // namespace

FileSymbols::FileSymbols(const ElfFile& file, const image::Elf& elf,
                         const std::function<std::optional<ElfFile>()>& debug_file) {
  // Relocatable files (.o, .ko) count their symbols from their sections' starts.
  if (elf.type == image::ElfType::rel) return;
  add_tables(file, elf.elf_class, SHT_DYNSYM);
  if (!add_tables(file, elf.elf_class, SHT_SYMTAB)) {
    const auto debug = debug_file();
    stripped_ = !debug || !add_tables(*debug, elf.elf_class, SHT_SYMTAB);
    if (stripped_) {
      const std::vector<std::uint8_t> bytes = mini_debug_info(file);
      const auto mini = ElfFile::from_bytes(bytes);
      stripped_ = !mini || !add_tables(*mini, elf.elf_class, SHT_SYMTAB);
    }
  }
  order();
  const std::size_t ordered = read_.size();
  add_stubs(file, elf);
  order(ordered);
  ranges_ = RangeMap(read_);
  symbols_.reserve(read_.size());
  origins_.reserve(read_.size());
  for (const Candidate& c : std::exchange(read_, {})) {
    symbols_.push_back(c.symbol);
    origins_.push_back(c.origin);
  }
}

void FileSymbols::add_table(const ElfFile& file, image::ElfClass elf_class, const Section& table) {
  const auto& sections = file.sections();
  if (table.link >= sections.size()) return;
  const auto bytes = file.bytes(sections[table.link]);
  const auto& names = strings_.emplace_back(bytes.begin(), bytes.end());
  std::uint32_t source = 0;  // local symbols follow that of their source
  for_each_symbol(file.bytes(table), elf_class, [&](const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) {
      source = static_cast<std::uint32_t>(sources_.size());
      sources_.push_back(string_at(names, symbol.st_name).value_or(std::string_view()));
    }
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) return;
    const auto kind = kind_of(symbol, sections);
    const auto name = string_at(names, symbol.st_name);
    if (!kind || !name || name->empty()) return;
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    read_.push_back({.symbol = {.name = without_version(*name),
                                .start = symbol.st_value,
                                .size = symbol.st_size,
                                .kind = *kind,
                                .global = binding != STB_LOCAL,
                                .weak = binding == STB_WEAK,
                                .sized = symbol.st_size != 0},
                     .origin = {.source = binding == STB_LOCAL ? source : 0,
                                .section_end = section_end(symbol, sections)}});
  });
}

bool FileSymbols::add_tables(const ElfFile& file, image::ElfClass elf_class, std::uint32_t type) {
  bool any = false;
  for (const Section& section : file.sections()) {
    if (section.type != type) continue;
    add_table(file, elf_class, section);
    any = true;
  }
  return any;
}

void FileSymbols::add_stubs(const ElfFile& file, const image::Elf& elf) {
  const auto name_at = [this, made = false](std::uint64_t vaddr) mutable -> std::string {
    if (!std::exchange(made, true)) ranges_ = RangeMap(read_);
    const auto found = ranges_.at(vaddr);
    if (!found || read_[*found].symbol.start != vaddr) return {};
    return std::string(read_[*found].symbol.name);
  };
  for (auto& stub : find_plt_stubs(file, elf, name_at)) {
    const auto& name = stub_names_.emplace_back(std::move(stub.name));
    read_.push_back(
        {.symbol = {.name = name, .start = stub.start, .size = stub.size, .kind = SymbolKind::plt},
         .origin = {}});
  }
}

// By address; of one address by name and kind, each once: .dynsym repeats what .symtab has.
void FileSymbols::order(std::size_t ordered) {
  const auto by_start = [](const Candidate& c) {
    return std::tuple(c.symbol.start, c.symbol.name, c.symbol.kind);
  };
  const auto middle = read_.begin() + static_cast<std::ptrdiff_t>(ordered);
  std::ranges::sort(middle, read_.end(), {}, by_start);
  std::ranges::inplace_merge(read_, middle, {}, by_start);
  const auto repeated = std::ranges::unique(read_, {}, by_start);
  read_.erase(repeated.begin(), repeated.end());
}

std::vector<Candidate> FileSymbols::candidates() const {
  std::vector<Candidate> out;
  out.reserve(symbols_.size());
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    Symbol symbol = symbols_[i];
    if (!symbol.sized) symbol.size = 0;
    out.push_back({symbol, origins_[i]});
  }
  return out;
}

const Symbol* FileSymbols::at(std::uint64_t vaddr) const {
  const auto index = ranges_.at(vaddr);
  return index ? &symbols_[*index] : nullptr;
}

std::string_view FileSymbols::mark_of(const Symbol& symbol) {
  std::call_once(marked_once_, [this] {
    std::vector<LocalSymbol> all;
    for (const std::uint32_t i : names_.by_name()) {
      all.push_back({&symbols_[i], sources_[origins_[i].source]});
    }
    namesakes_ = Namesakes(all);
  });
  return namesakes_.mark_of(symbol);
}

}  // namespace hodo::symbol
