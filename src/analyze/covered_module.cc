#include "covered_module.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace hodo::analyze {
namespace {

// Of one file: sizes of symbols are what the file says.
constexpr std::uint64_t kMostCode = std::uint64_t{1} << 30;

// The row that has `address`; null where there is none.
const symbol::LineRow* row_at(const std::vector<symbol::LineRow>& rows, std::uint64_t address) {
  auto after = std::ranges::upper_bound(rows, address, {}, &symbol::LineRow::address);
  // Rows of no bytes may stand before the one that counts.
  while (after != rows.begin()) {
    --after;
    if (address < after->end) return &*after;
    if (after->end != after->address) return nullptr;
  }
  return nullptr;
}

isa::Mode mode_of(const image::Elf& elf) {
  return elf.elf_class == image::ElfClass::elf32 ? isa::Mode::bits32 : isa::Mode::bits64;
}

// How many of them from the first on are taken apart at a time.
std::size_t together(std::span<const symbol::Symbol* const> functions) {
  return std::min<std::size_t>(functions.size(), 1024);
}

std::uint64_t end_of_segments(const image::Elf& elf) {
  std::uint64_t end = 0;
  for (const image::Segment& s : elf.segments) {
    end = std::max(end, s.vaddr + std::min(s.memory_size, ~s.vaddr));
  }
  return end;
}

}  // namespace

ModuleBuilder::ModuleBuilder(std::string path, const symbol::SymbolTable* table, std::uint64_t bias,
                             std::uint32_t space, std::uint64_t time)
    : table_(table), bias_(bias), space_(space), time_(time) {
  module_.path = std::move(path);
  if (table == nullptr) return;
  module_.location = table->path();
  module_.file = true;
  module_.lowest = table->elf().lowest_page();
  module_.base = module_.lowest + bias;
  module_.size = end_of_segments(table->elf()) - module_.lowest;
}

void ModuleBuilder::add_run(std::uint64_t first, std::uint64_t end, std::uint64_t count) {
  runs_.push_back({first, end});
  entries_.push_back(first);
  executions_.add(first, end, count);
}

CoveredModule ModuleBuilder::finish(session::Session& session, CoverageParts parts) {
  // Several processes' runs are each in order.
  std::ranges::sort(entries_);
  auto repeated = std::ranges::unique(entries_);
  entries_.erase(repeated.begin(), repeated.end());
  executions_.finish();
  merge_edges();
  if (table_ != nullptr) parts.not_run ? add_functions(session) : add_functions_that_ran(session);
  add_other_blocks();
  if (table_ != nullptr && parts.lines) add_lines(parts.not_run);
  return std::move(module_);
}

void ModuleBuilder::merge_edges() {
  std::vector<CoveredEdge>& edges = module_.edges;
  auto key = [](const CoveredEdge& e) {
    return std::tuple(e.from, e.to_module, e.to, e.kind, e.not_taken);
  };
  std::ranges::sort(edges, {}, key);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    if (kept != 0 && key(edges[kept - 1]) == key(edges[i])) {
      edges[kept - 1].count += edges[i].count;
    } else {
      edges[kept++] = edges[i];
    }
  }
  edges.resize(kept);
}

std::vector<const symbol::Symbol*> ModuleBuilder::functions_of_table() const {
  std::vector<const symbol::Symbol*> out;
  std::uint64_t code = 0;  // bytes
  for (const symbol::Symbol& symbol : table_->functions()) {
    bool function = symbol.kind == symbol::SymbolKind::function ||
                    symbol.kind == symbol::SymbolKind::ifunc ||
                    symbol.kind == symbol::SymbolKind::synthetic;
    if (!function || symbol.size == 0 || symbol.size > kMostCode - code) continue;
    // Of several names the one that is shown elsewhere, and nothing twice.
    const symbol::Symbol* chosen = table_->function_at(symbol.start);
    if (chosen == nullptr || chosen->start != symbol.start || chosen->name != symbol.name) continue;
    if (!out.empty() && symbol.start - out.back()->start < out.back()->size) continue;
    code += symbol.size;
    out.push_back(&symbol);
  }
  return out;
}

FunctionTexts ModuleBuilder::texts_of(std::span<const symbol::Symbol* const> functions,
                                      session::Session& session) const {
  const auto read = [&](std::uint64_t address, std::span<std::uint8_t> to) {
    return session.read_code(space_, address + bias_, time_, to);
  };
  return {functions, mode_of(table_->elf()), read};
}

void ModuleBuilder::add_functions(session::Session& session) {
  const auto functions = functions_of_table();
  for (std::span<const symbol::Symbol* const> rest = functions; !rest.empty();) {
    const FunctionTexts texts = texts_of(rest.first(together(rest)), session);
    for (std::size_t i = 0; i < texts.size(); ++i) add_function(*rest[i], texts[i]);
    rest = rest.subspan(texts.size());
  }
}

void ModuleBuilder::add_functions_that_ran(session::Session& session) {
  const auto functions = functions_of_table();
  const FunctionTexts texts = texts_of(functions, session);
  const auto counts = texts.block_counts(table_->store().get());
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const symbol::Symbol& symbol = *functions[i];
    if (executions_.any(symbol.start, symbol.start + symbol.size)) {
      add_function(symbol, texts[i]);
      continue;
    }
    module_.functions.push_back({.name = std::string(symbol.name),
                                 .address = symbol.start,
                                 .size = symbol.size,
                                 .blocks = counts[i],
                                 .synthetic = symbol.kind == symbol::SymbolKind::synthetic,
                                 .listed = false});
  }
}

void ModuleBuilder::add_function(const symbol::Symbol& symbol, std::span<const std::uint8_t> code) {
  auto first = std::ranges::lower_bound(entries_, symbol.start);
  auto last = std::ranges::lower_bound(entries_, symbol.start + code.size());
  FunctionCode parts =
      take_apart(code, symbol.start, mode_of(table_->elf()), std::span(first, last));
  CoveredFunction out{.name = std::string(symbol.name),
                      .address = symbol.start,
                      .size = symbol.size,
                      .entered = executions_.at(symbol.start),
                      .synthetic = symbol.kind == symbol::SymbolKind::synthetic};
  for (CoveredBlock& block : parts.blocks) {
    block.count = executions_.at(block.address);
    ++out.blocks;
    out.blocks_hit += block.count != 0;
    module_.blocks.push_back(block);
  }
  conditionals_.insert(conditionals_.end(), parts.conditionals.begin(), parts.conditionals.end());
  module_.functions.push_back(std::move(out));
}

// What ran outside of functions, or where a function's code could not be followed: up to where the
// next block begins.
void ModuleBuilder::add_other_blocks() {
  // Those of functions, which do not overlap, are in order.
  std::vector<std::uint64_t> known;
  known.reserve(module_.blocks.size());
  for (const CoveredBlock& block : module_.blocks) known.push_back(block.address);
  std::map<std::uint64_t, std::uint64_t> found;  // address to end
  for (const Run& run : runs_) {
    // Blocks of a function lie one behind the other: one that begins in them is one of them.
    for (std::uint64_t at = run.first; at < run.end;) {
      auto next = std::ranges::upper_bound(entries_, at);
      std::uint64_t end = next == entries_.end() ? run.end : std::min(run.end, *next);
      auto block = std::ranges::upper_bound(known, at);
      if (block != known.end()) end = std::min(end, *block);
      bool is_known = block != known.begin() && *(block - 1) == at;
      if (!is_known) {
        std::uint64_t& last = found.try_emplace(at, end).first->second;
        last = std::max(last, end);
      }
      at = end;
    }
  }
  const auto of_functions = static_cast<std::ptrdiff_t>(module_.blocks.size());
  for (auto [address, end] : found) {
    module_.blocks.push_back({.address = address,
                              .size = static_cast<std::uint32_t>(end - address),
                              .count = executions_.at(address)});
  }
  std::ranges::inplace_merge(module_.blocks, module_.blocks.begin() + of_functions, {},
                             &CoveredBlock::address);
}

const CoveredFunction* ModuleBuilder::function_at(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(module_.functions, address, {}, &CoveredFunction::address);
  if (after == module_.functions.begin()) return nullptr;
  const CoveredFunction& f = *(after - 1);
  return address - f.address < f.size ? &f : nullptr;
}

void ModuleBuilder::add_lines(bool branches) {
  symbol::LineTable table = table_->lines();
  module_.files = std::move(table.files);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> lines;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> begun;  // at the row's address
  std::uint64_t begun_at = 0;
  for (const symbol::LineRow& row : table.rows) {
    if (row.address != std::exchange(begun_at, row.address)) begun.clear();
    if (row.statement) begun.emplace_back(row.file, row.line);
    if (row.end == row.address || function_at(row.address) == nullptr) continue;
    std::uint64_t ran = executions_.at(row.address);
    auto it = lines.find({row.file, row.line});
    // Compilers number instructions that belong to no statement, too. One that begins may have a
    // row of its own, without code.
    const bool statement = std::ranges::find(begun, std::pair(row.file, row.line)) != begun.end();
    if (it == lines.end() && !statement && ran == 0) continue;
    std::uint64_t& count = it == lines.end() ? lines[{row.file, row.line}] : it->second;
    count = std::max(count, ran);
  }
  for (auto [where, count] : lines) module_.lines.push_back({where.first, where.second, count});
  for (CoveredFunction& f : module_.functions) {
    if (const symbol::LineRow* row = row_at(table.rows, f.address)) {
      f.file = row->file;
      f.line = row->line;
    }
  }
  if (branches) add_branches(table.rows);
}

void ModuleBuilder::add_branches(const std::vector<symbol::LineRow>& rows) {
  for (std::uint64_t address : conditionals_) {
    const symbol::LineRow* row = row_at(rows, address);
    if (row == nullptr) continue;
    CoveredBranch branch{.address = address, .file = row->file, .line = row->line};
    auto edge = std::ranges::lower_bound(module_.edges, address, {}, &CoveredEdge::from);
    for (; edge != module_.edges.end() && edge->from == address; ++edge) {
      (edge->not_taken ? branch.not_taken : branch.taken) += edge->count;
    }
    module_.branches.push_back(branch);
  }
}

}  // namespace hodo::analyze
