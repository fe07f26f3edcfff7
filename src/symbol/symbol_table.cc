#include "hodo/symbol/symbol_table.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <functional>
#include <mutex>
#include <tuple>
#include <utility>

#include "debug_file.h"
#include "dwarf_source.h"
#include "elf_file.h"
#include "elf_records.h"
#include "hodo/symbol/demangle.h"
#include "kept_functions.h"
#include "kept_line_table.h"
#include "kept_source.h"
#include "namesakes.h"
#include "plt.h"
#include "range_map.h"
#include "synthetic_functions.h"
#include "unwind.h"

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

constexpr std::string_view kSynthetic = "sub_";

// The same between runs, and wherever the file is mapped.
std::string synthetic_name(std::uint64_t vaddr) {
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.begin(), digits.end(), vaddr, 16).ptr;
  return std::string(kSynthetic) + std::string(digits.begin(), end);
}

std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

// A stub is not the function it leads to: it wants the suffix.
template <class Each>
void for_each_spelling(const Symbol& symbol, Each each) {
  constexpr std::string_view kStub = "@plt";
  std::string_view name = symbol.name;
  const bool stub = symbol.kind == SymbolKind::plt;
  if (stub && name.ends_with(kStub)) name.remove_suffix(kStub.size());
  for (std::string& spelling : spellings(demangle(name))) {
    each(stub ? spelling.append(kStub) : spelling);
  }
}

}  // namespace

// Everything that one file and its debug file say about names.
struct SymbolTable::Loaded {
  // What somebody may write who means a symbol, but for its very name.
  struct Spelled {
    std::uint64_t hash = 0;
    std::uint32_t symbol = 0;  // index
    auto operator<=>(const Spelled&) const = default;
  };

  struct Named {
    std::uint64_t hash = 0;    // of its name
    std::uint32_t symbol = 0;  // index
  };

  std::deque<std::vector<std::uint8_t>> strings;  // copies of the string tables
  std::deque<std::string> stub_names;
  std::vector<std::string_view> sources{""};  // what STT_FILE symbols say
  std::vector<Candidate> candidates;
  RangeMap ranges;
  std::vector<Symbol> symbols;         // the candidates', in the same order
  std::vector<std::uint32_t> sourced;  // index in `sources` of each
  std::once_flag named_once;
  std::vector<Named> by_name;  // by hash, then by name: long names begin alike
  Namesakes namesakes;
  std::once_flag spelled_once;
  std::vector<Spelled> spelled;  // by hash
  bool stripped = false;         // no .symtab, here or in a debug file

  void add_table(const ElfFile& file, image::ElfClass elf_class, const Section& table);
  bool add_tables(const ElfFile& file, image::ElfClass elf_class, std::uint32_t type);
  void add_stubs(const ElfFile& file, const image::Elf& elf);
  // Puts them in order, but for the first `ordered`, which are in it.
  void order(std::size_t ordered = 0);
  void finish();
  // Fills in what answers by name, once.
  void name_all();
  // Those that are spelled so, but for those that have the very name.
  std::vector<Symbol> spelled_as(std::string_view wanted);

 private:
  void spell_all();
};

void SymbolTable::Loaded::add_table(const ElfFile& file, image::ElfClass elf_class,
                                    const Section& table) {
  const auto& sections = file.sections();
  if (table.link >= sections.size()) return;
  const auto bytes = file.bytes(sections[table.link]);
  const auto& names = strings.emplace_back(bytes.begin(), bytes.end());
  std::uint32_t source = 0;  // local symbols follow that of their source
  for_each_symbol(file.bytes(table), elf_class, [&](const Elf64_Sym& symbol) {
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FILE) {
      source = static_cast<std::uint32_t>(sources.size());
      sources.push_back(string_at(names, symbol.st_name).value_or(std::string_view()));
    }
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) return;
    const auto kind = kind_of(symbol, sections);
    const auto name = string_at(names, symbol.st_name);
    if (!kind || !name || name->empty()) return;
    const auto binding = ELF64_ST_BIND(symbol.st_info);
    candidates.push_back({.symbol = {.name = without_version(*name),
                                     .start = symbol.st_value,
                                     .size = symbol.st_size,
                                     .kind = *kind,
                                     .global = binding != STB_LOCAL,
                                     .sized = symbol.st_size != 0},
                          .weak = binding == STB_WEAK,
                          .source = binding == STB_LOCAL ? source : 0,
                          .section_end = section_end(symbol, sections),
                          .sizeless = symbol.st_size == 0});
  });
}

bool SymbolTable::Loaded::add_tables(const ElfFile& file, image::ElfClass elf_class,
                                     std::uint32_t type) {
  bool any = false;
  for (const Section& section : file.sections()) {
    if (section.type != type) continue;
    add_table(file, elf_class, section);
    any = true;
  }
  return any;
}

void SymbolTable::Loaded::add_stubs(const ElfFile& file, const image::Elf& elf) {
  const auto name_at = [this, made = false](std::uint64_t vaddr) mutable -> std::string {
    if (!std::exchange(made, true)) ranges = RangeMap(candidates);
    const auto found = ranges.at(vaddr);
    if (!found || candidates[*found].symbol.start != vaddr) return {};
    return std::string(candidates[*found].symbol.name);
  };
  for (auto& stub : find_plt_stubs(file, elf, name_at)) {
    const auto& name = stub_names.emplace_back(std::move(stub.name));
    candidates.push_back(
        {.symbol = {
             .name = name, .start = stub.start, .size = stub.size, .kind = SymbolKind::plt}});
  }
}

// By address; of one address by name and kind, each once: .dynsym repeats what .symtab has.
void SymbolTable::Loaded::order(std::size_t ordered) {
  const auto by_start = [](const Candidate& c) {
    return std::tuple(c.symbol.start, c.symbol.name, c.symbol.kind);
  };
  const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(ordered);
  std::ranges::sort(middle, candidates.end(), {}, by_start);
  std::ranges::inplace_merge(candidates, middle, {}, by_start);
  const auto repeated = std::ranges::unique(candidates, {}, by_start);
  candidates.erase(repeated.begin(), repeated.end());
}

void SymbolTable::Loaded::finish() {
  ranges = RangeMap(candidates);
  symbols.reserve(candidates.size());
  sourced.reserve(candidates.size());
  for (const Candidate& c : candidates) {
    symbols.push_back(c.symbol);
    sourced.push_back(c.source);
  }
}

void SymbolTable::Loaded::name_all() {
  std::call_once(named_once, [this] {
    by_name.reserve(symbols.size());
    for (std::uint32_t i = 0; i < symbols.size(); ++i) {
      by_name.push_back({hash_of(symbols[i].name), i});
    }
    std::ranges::sort(by_name, [this](const Named& a, const Named& b) {
      if (a.hash != b.hash) return a.hash < b.hash;
      return std::pair(symbols[a.symbol].name, a.symbol) <
             std::pair(symbols[b.symbol].name, b.symbol);
    });
    std::vector<LocalSymbol> all;
    all.reserve(by_name.size());
    for (const Named& one : by_name) {
      all.push_back({&symbols[one.symbol], sources[sourced[one.symbol]]});
    }
    namesakes = Namesakes(all);
  });
}

void SymbolTable::Loaded::spell_all() {
  for (std::uint32_t i = 0; i < symbols.size(); ++i) {
    for_each_spelling(symbols[i], [&](std::string_view spelling) {
      if (spelling != symbols[i].name) spelled.push_back({hash_of(spelling), i});
    });
  }
  std::ranges::sort(spelled);
  spelled.shrink_to_fit();
}

std::vector<Symbol> SymbolTable::Loaded::spelled_as(std::string_view wanted) {
  std::call_once(spelled_once, [this] { spell_all(); });
  std::vector<Symbol> found;
  const auto same = std::ranges::equal_range(spelled, hash_of(wanted), {}, &Spelled::hash);
  for (const Spelled& one : same) {
    bool is = false;
    for_each_spelling(symbols[one.symbol], [&](std::string_view s) { is |= s == wanted; });
    if (is) found.push_back(symbols[one.symbol]);
  }
  return found;
}

// The symbols and the functions that have none.
struct SymbolTable::Functions {
  std::deque<std::string> names;
  RangeMap ranges;
  std::vector<Symbol> symbols;  // by start

  void build(std::vector<Candidate> candidates, const std::vector<SyntheticFunction>& found);
};

namespace {

// What symbols with a size cover.
std::vector<CodeRange> named_code(std::span<const Candidate> candidates) {
  std::vector<CodeRange> out;
  for (const Candidate& c : candidates) {
    if (c.sizeless) continue;
    const std::uint64_t end = c.symbol.start + std::min(c.symbol.size, ~c.symbol.start);
    if (!out.empty() && c.symbol.start < out.back().end) {
      out.back().end = std::max(out.back().end, end);
    } else {
      out.push_back({c.symbol.start, end});
    }
  }
  return out;
}

}  // namespace

void SymbolTable::Functions::build(std::vector<Candidate> candidates,
                                   const std::vector<SyntheticFunction>& found) {
  for (Candidate& c : candidates) {
    if (c.sizeless) c.symbol.size = 0;
  }
  const std::size_t named = candidates.size();
  for (const SyntheticFunction& f : found) {
    const auto same = std::ranges::equal_range(std::span(candidates).first(named), f.start, {},
                                               [](const Candidate& c) { return c.symbol.start; });
    // A name without a size, and the size.
    for (Candidate& c : same) c.symbol.size = std::max(c.symbol.size, f.size);
    if (!same.empty()) continue;
    const auto& name = names.emplace_back(synthetic_name(f.start));
    candidates.push_back(
        {.symbol = {.name = name, .start = f.start, .size = f.size, .kind = SymbolKind::synthetic},
         .section_end = f.section_end,
         .sizeless = f.size == 0});
  }
  std::ranges::stable_sort(candidates, {}, [](const Candidate& c) { return c.symbol.start; });
  ranges = RangeMap(candidates);
  symbols.reserve(candidates.size());
  for (const Candidate& c : candidates) symbols.push_back(c.symbol);
}

struct SymbolTable::State {
  std::once_flag once;
  Loaded loaded;
  std::once_flag functions_once;
  Functions functions;
  std::once_flag landings_once;
  std::vector<image::LandingPad> landings;
  std::mutex dwarf_mutex;
  bool dwarf_tried = false;
  std::optional<DwarfSource> dwarf;
  std::optional<KeptSource> kept;
};

SymbolTable::SymbolTable(image::Elf elf) : elf_(std::move(elf)), state_(new State) {}
SymbolTable::~SymbolTable() = default;

Result<std::shared_ptr<const SymbolTable>> SymbolTable::open(const std::string& path,
                                                             DebugPaths debug,
                                                             std::shared_ptr<LineStore> lines) {
  auto elf = image::read_elf_file(path);
  if (!elf) return std::unexpected(elf.error());
  std::shared_ptr<SymbolTable> table(new SymbolTable(*std::move(elf)));
  table->path_ = path;
  table->debug_ = std::move(debug);
  table->lines_ = std::move(lines);
  return table;
}

Result<std::shared_ptr<const SymbolTable>> SymbolTable::from_bytes(
    std::vector<std::uint8_t> bytes) {
  auto elf = image::read_elf(bytes);
  if (!elf) return std::unexpected(elf.error());
  std::shared_ptr<SymbolTable> table(new SymbolTable(*std::move(elf)));
  table->bytes_ = std::move(bytes);
  return table;
}

std::optional<ElfFile> SymbolTable::open_file() const {
  return path_.empty() ? ElfFile::from_bytes(bytes_) : ElfFile::open(path_);
}

std::optional<ElfFile> SymbolTable::open_debug_file(const ElfFile& file) const {
  if (path_.empty()) return std::nullopt;
  const auto path = find_debug_file(path_, file, elf_.build_id, debug_);
  return path ? ElfFile::open(*path) : std::nullopt;
}

const SymbolTable::Loaded& SymbolTable::loaded() const {
  std::call_once(state_->once, [this] {
    Loaded& loaded = state_->loaded;
    const auto file = open_file();
    // Relocatable files (.o, .ko) count their symbols from their sections' starts.
    if (!file || elf_.type == image::ElfType::rel) return;
    loaded.add_tables(*file, elf_.elf_class, SHT_DYNSYM);
    if (!loaded.add_tables(*file, elf_.elf_class, SHT_SYMTAB)) {
      const auto debug = open_debug_file(*file);
      loaded.stripped = !debug || !loaded.add_tables(*debug, elf_.elf_class, SHT_SYMTAB);
    }
    loaded.order();
    const std::size_t ordered = loaded.candidates.size();
    loaded.add_stubs(*file, elf_);
    loaded.order(ordered);
    loaded.finish();
  });
  return state_->loaded;
}

const SymbolTable::Loaded& SymbolTable::named_table() const {
  loaded();
  state_->loaded.name_all();
  return state_->loaded;
}

const SymbolTable::Functions& SymbolTable::all_functions() const {
  const Loaded& known = loaded();
  std::call_once(state_->functions_once, [&] {
    const auto file = open_file();
    std::vector<SyntheticFunction> found;
    const auto find = [&](LookInto where) {
      return find_functions(*file, elf_, named_code(known.candidates), where);
    };
    if (file && elf_.type != image::ElfType::rel) {
      if (!known.stripped) {
        found = find(LookInto::tables);
      } else if (lines_ == nullptr) {
        found = find(LookInto::tables_and_code);
      } else {
        found = kept_functions(
            *lines_, [this] { return key(); }, [&] { return find(LookInto::tables_and_code); });
      }
    }
    state_->functions.build(std::move(state_->loaded.candidates), found);
  });
  return state_->functions;
}

const Symbol* SymbolTable::function_at(std::uint64_t vaddr) const {
  const Functions& all = all_functions();
  const auto index = all.ranges.at(vaddr);
  return index ? &all.symbols[*index] : nullptr;
}

std::span<const Symbol> SymbolTable::functions() const { return all_functions().symbols; }

std::span<const image::LandingPad> SymbolTable::landing_pads() const {
  std::call_once(state_->landings_once, [this] {
    const auto file = open_file();
    if (!file || elf_.type == image::ElfType::rel) return;
    state_->landings = unwind_tables(*file, elf_).landings;
    std::ranges::sort(state_->landings, {}, &image::LandingPad::pad);
  });
  return state_->landings;
}

const Symbol* SymbolTable::at(std::uint64_t vaddr) const {
  const Loaded& l = loaded();
  const auto index = l.ranges.at(vaddr);
  return index ? &l.symbols[*index] : nullptr;
}

const Symbol* SymbolTable::at_offset(std::uint64_t file_offset) const {
  const auto vaddr = elf_.vaddr_of(file_offset);
  return vaddr ? at(*vaddr) : nullptr;
}

std::string_view SymbolTable::mark_of(const Symbol& symbol) const {
  if (symbol.global) return {};
  return named_table().namesakes.mark_of(symbol);
}

std::span<const Symbol> SymbolTable::symbols() const { return loaded().symbols; }

std::vector<Symbol> SymbolTable::named(std::string_view name) const {
  const Loaded& l = named_table();
  std::vector<Symbol> found;
  const auto same = std::ranges::equal_range(l.by_name, hash_of(name), {}, &Loaded::Named::hash);
  for (const Loaded::Named& one : same) {
    if (l.symbols[one.symbol].name == name) found.push_back(l.symbols[one.symbol]);
  }
  if (!found.empty()) return found;
  found = state_->loaded.spelled_as(name);
  if (!found.empty() || !name.starts_with(kSynthetic)) return found;
  for (const Symbol& symbol : functions()) {
    if (symbol.kind == SymbolKind::synthetic && symbol.name == name) found.push_back(symbol);
  }
  return found;
}

// The DWARF for one thread.
class SymbolTable::DwarfLock {
 public:
  explicit DwarfLock(const SymbolTable& table) : table_(table), lock_(table.state_->dwarf_mutex) {}

  // Null: the file has none.
  DwarfSource* dwarf() const { return table_.opened_dwarf(); }
  // What is kept of it; null where nothing is.
  KeptSource* kept() const {
    State& state = *table_.state_;
    if (!state.kept && table_.lines_ != nullptr) {
      state.kept.emplace(
          table_.lines_, [&table = table_] { return table.key(); },
          [&table = table_] { return table.opened_dwarf(); });
    }
    return state.kept ? &*state.kept : nullptr;
  }

 private:
  const SymbolTable& table_;
  std::lock_guard<std::mutex> lock_;
};

DwarfSource* SymbolTable::opened_dwarf() const {
  auto& dwarf = state_->dwarf;
  if (!std::exchange(state_->dwarf_tried, true)) {
    auto file = open_file();
    auto debug = file ? open_debug_file(*file) : std::nullopt;
    if (file) dwarf = DwarfSource::open(*std::move(file));
    if (!dwarf && debug) dwarf = DwarfSource::open(*std::move(debug));
  }
  return dwarf ? &*dwarf : nullptr;
}

FilesKey SymbolTable::key() const {
  const auto file = open_file();
  return file ? key_of_files(path_, *file, elf_.build_id, debug_) : FilesKey{.settled = false};
}

std::vector<SourceFrame> SymbolTable::source(std::uint64_t vaddr) const {
  const DwarfLock lock(*this);
  if (KeptSource* const kept = lock.kept()) {
    if (auto frames = kept->frames(vaddr)) return *std::move(frames);
  }
  DwarfSource* const dwarf = lock.dwarf();
  return dwarf != nullptr ? dwarf->frames(vaddr) : std::vector<SourceFrame>{};
}

std::optional<SourceFrame> SymbolTable::inlined(std::string_view name) const {
  const DwarfLock lock(*this);
  DwarfSource* const dwarf = lock.dwarf();
  return dwarf != nullptr ? dwarf->inlined(name) : std::nullopt;
}

LineTable SymbolTable::lines() const {
  const auto find = [this] {
    const DwarfLock lock(*this);
    DwarfSource* const dwarf = lock.dwarf();
    return dwarf != nullptr ? dwarf->lines() : LineTable{};
  };
  if (lines_ == nullptr) return find();
  return kept_line_table(*lines_, [this] { return key(); }, find);
}

}  // namespace hodo::symbol
