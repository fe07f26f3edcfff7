#include "hodo/symbol/symbol_table.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "debug_file.h"
#include "dwarf_source.h"
#include "elf_file.h"
#include "file_symbols.h"
#include "function_table.h"
#include "inlined_calls.h"
#include "kept_answer.h"
#include "kept_line_table.h"
#include "kept_source.h"
#include "synthetic_functions.h"
#include "unwind.h"

namespace hodo::symbol {
namespace {

// What symbols with a size cover.
std::vector<CodeRange> named_code(std::span<const Candidate> candidates) {
  std::vector<CodeRange> out;
  for (const Candidate& c : candidates) {
    if (!c.symbol.sized) continue;
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

struct SymbolTable::State {
  std::once_flag symbols_once;
  std::optional<FileSymbols> symbols;  // none: the file cannot be read
  std::once_flag functions_once;
  FunctionTable functions;
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

FileSymbols* SymbolTable::file_symbols() const {
  std::call_once(state_->symbols_once, [this] {
    const auto file = open_file();
    if (file) state_->symbols.emplace(*file, elf_, [&] { return open_debug_file(*file); });
  });
  return state_->symbols ? &*state_->symbols : nullptr;
}

FunctionTable SymbolTable::make_functions() const {
  const FileSymbols* const known = file_symbols();
  const auto file = open_file();
  if (known == nullptr || !file || elf_.type == image::ElfType::rel) return {};
  std::vector<Candidate> named = known->candidates();
  const auto where = known->stripped() ? LookInto::tables_and_code : LookInto::tables;
  const auto found = find_functions(*file, elf_, named_code(named), where);
  return {std::move(named), found};
}

const FunctionTable& SymbolTable::all_functions() const {
  std::call_once(state_->functions_once, [this] {
    const auto make = [this] {
      FunctionTable made = make_functions();
      made.mark([this](const Symbol& symbol) { return file_symbols()->mark_of(symbol); });
      return made;
    };
    state_->functions = lines_ == nullptr
                            ? make_functions()
                            : kept_function_table(*lines_, [this] { return key(); }, make);
  });
  return state_->functions;
}

const Symbol* SymbolTable::function_at(std::uint64_t vaddr) const {
  return all_functions().at(vaddr);
}

std::span<const Symbol> SymbolTable::functions() const { return all_functions().symbols(); }

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
  const FileSymbols* const known = file_symbols();
  return known != nullptr ? known->at(vaddr) : nullptr;
}

const Symbol* SymbolTable::at_offset(std::uint64_t file_offset) const {
  const auto vaddr = elf_.vaddr_of(file_offset);
  return vaddr ? at(*vaddr) : nullptr;
}

std::string_view SymbolTable::mark_of(const Symbol& symbol) const {
  if (symbol.global) return {};
  if (lines_ != nullptr) return all_functions().mark_of(symbol);
  FileSymbols* const known = file_symbols();
  return known != nullptr ? known->mark_of(symbol) : std::string_view();
}

std::span<const Symbol> SymbolTable::symbols() const {
  const FileSymbols* const known = file_symbols();
  return known != nullptr ? known->symbols() : std::span<const Symbol>();
}

std::vector<Symbol> SymbolTable::named(std::string_view name) const {
  FileSymbols* const known = file_symbols();
  if (known == nullptr) return {};
  std::vector<Symbol> found = known->named(name);
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

std::vector<SourceFrame> SymbolTable::compiled_source(std::uint64_t vaddr) const {
  const DwarfLock lock(*this);
  if (KeptSource* const kept = lock.kept()) {
    if (auto frames = kept->frames(vaddr)) return *std::move(frames);
  }
  DwarfSource* const dwarf = lock.dwarf();
  return dwarf != nullptr ? dwarf->frames(vaddr) : std::vector<SourceFrame>{};
}

std::vector<SourceFrame> SymbolTable::source(std::uint64_t vaddr) const {
  std::vector<SourceFrame> out = compiled_source(vaddr);
  for (SourceFrame& frame : out) frame.file = debug_.sources.found(std::move(frame.file));
  return out;
}

std::optional<SourceFrame> SymbolTable::inlined(std::string_view name) const {
  const DwarfLock lock(*this);
  DwarfSource* const dwarf = lock.dwarf();
  auto out = dwarf != nullptr ? dwarf->inlined(name) : std::nullopt;
  if (out) out->file = debug_.sources.found(std::move(out->file));
  return out;
}

std::vector<InlinedCall> SymbolTable::inlined_calls(std::string_view name) const {
  bool whole = true;
  const auto find = [&]() -> std::optional<std::vector<InlinedCall>> {
    const DwarfLock lock(*this);
    DwarfSource* const dwarf = lock.dwarf();
    if (dwarf == nullptr) return std::nullopt;
    auto calls = dwarf->inlined_calls(name);
    whole = dwarf->missing().empty();
    return calls;
  };
  if (lines_ == nullptr) return find().value_or(std::vector<InlinedCall>());
  const auto files = [&] {
    FilesKey out = key();
    out.settled = out.settled && whole;
    return out;
  };
  return kept_answer<std::vector<InlinedCall>>(*lines_, files,
                                               "inlined calls of " + std::string(name),
                                               read_inlined_calls, write_inlined_calls, find);
}

std::string SymbolTable::missing_part() const {
  const DwarfLock lock(*this);
  return state_->dwarf ? state_->dwarf->missing() : "";
}

LineTable SymbolTable::lines() const {
  const auto find = [this] {
    const DwarfLock lock(*this);
    DwarfSource* const dwarf = lock.dwarf();
    return dwarf != nullptr ? dwarf->lines() : LineTable{};
  };
  LineTable out =
      lines_ == nullptr ? find() : kept_line_table(*lines_, [this] { return key(); }, find);
  for (std::string& file : out.files) file = debug_.sources.found(std::move(file));
  return out;
}

}  // namespace hodo::symbol
