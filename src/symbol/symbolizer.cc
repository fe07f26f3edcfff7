#include "hodo/symbol/symbolizer.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "hodo/image/elf.h"
#include "hodo/symbol/demangle.h"

namespace hodo::symbol {

// One mapped file, opened when it is first asked about.
struct Symbolizer::Module {
  std::string path;
  std::vector<std::uint8_t> build_id;  // as recorded; empty: unknown
  DebugPaths debug;

  // Everything below is guarded by the mutex; what is handed out of it never moves.
  mutable std::mutex mutex;
  mutable bool tried = false;
  mutable std::shared_ptr<const SymbolTable> table;
  mutable std::optional<Error> error;
  mutable std::unordered_map<const Symbol*, std::string> names;  // demangled

  const SymbolTable* opened() const {
    if (!std::exchange(tried, true)) open();
    return table.get();
  }

  std::string_view name(const Symbol& symbol) const {
    auto it = names.find(&symbol);
    if (it == names.end()) it = names.emplace(&symbol, demangle(symbol.name)).first;
    return it->second;
  }

 private:
  void open() const {
    // "[heap]", "//anon" and their like are no files.
    if (!path.starts_with('/') || path.starts_with("//")) return;
    auto made = SymbolTable::open(path, debug);
    if (!made) {
      error = made.error();
    } else if (!build_id.empty() && !std::ranges::equal((*made)->elf().build_id, build_id)) {
      error =
          Error{ErrorCode::not_found, path + " has changed since the recording: its build-id was " +
                                          image::to_hex(build_id)};
    } else {
      table = *std::move(made);
    }
  }
};

Symbolizer::Symbolizer(DebugPaths debug) : debug_(std::move(debug)) {}
Symbolizer::~Symbolizer() = default;

Symbolizer::Module& Symbolizer::module(const std::string& path,
                                       const std::vector<std::uint8_t>& build_id) {
  auto& module = modules_[{path, build_id}];
  if (!module) {
    module = std::make_unique<Module>();
    module->path = path;
    module->build_id = build_id;
    module->debug = debug_;
  }
  return *module;
}

Status Symbolizer::add_image(const std::string& path, std::vector<std::uint8_t> bytes) {
  auto table = SymbolTable::from_bytes(std::move(bytes));
  if (!table) return std::unexpected(table.error());
  Module& image = module(path, {});
  image.table = *std::move(table);
  image.tried = true;
  return {};
}

void Symbolizer::map(Process process, const Mapping& mapping) {
  processes_[process].map(
      mapping.start, mapping.length,
      {&module(mapping.path, mapping.build_id), mapping.start, mapping.file_offset}, mapping.time);
}

void Symbolizer::unmap(Process process, std::uint64_t start, std::uint64_t length,
                       std::uint64_t time) {
  processes_[process].unmap(start, length, time);
}

void Symbolizer::exec(Process process, std::uint64_t time) { processes_[process].clear(time); }

void Symbolizer::fork(Process parent, Process child, std::uint64_t time) {
  processes_[child].fork_from(processes_[parent], time);
}

Symbolizer::Place Symbolizer::place(Process process, std::uint64_t ip, std::uint64_t time) const {
  const auto history = processes_.find(process);
  if (history == processes_.end()) return {};
  const Mapped* const mapped = history->second.find(ip, time).payload;
  if (mapped == nullptr) return {};
  return {mapped->module, mapped->file_offset + (ip - mapped->start)};
}

Location Symbolizer::resolve(Process process, std::uint64_t ip, std::uint64_t time) const {
  const auto [module, file_offset] = place(process, ip, time);
  if (module == nullptr) return {};
  Location location{.module = module->path, .file_offset = file_offset};
  const std::lock_guard lock(module->mutex);
  const SymbolTable* const table = module->opened();
  if (table == nullptr) return location;
  const auto vaddr = table->elf().vaddr_of(file_offset);
  const Symbol* const symbol = vaddr ? table->function_at(*vaddr) : nullptr;
  if (symbol == nullptr) return location;
  location.symbol = module->name(*symbol);
  location.symbol_offset = *vaddr - symbol->start;
  location.plt = symbol->kind == SymbolKind::plt;
  location.synthetic = symbol->kind == SymbolKind::synthetic;
  return location;
}

std::vector<SourceFrame> Symbolizer::source(Process process, std::uint64_t ip,
                                            std::uint64_t time) const {
  const auto [module, file_offset] = place(process, ip, time);
  if (module == nullptr) return {};
  const std::lock_guard lock(module->mutex);
  const SymbolTable* const table = module->opened();
  if (table == nullptr) return {};
  const auto vaddr = table->elf().vaddr_of(file_offset);
  if (!vaddr) return {};
  auto frames = table->source(*vaddr);
  for (auto& frame : frames) frame.function = demangle(frame.function);
  return frames;
}

std::vector<Error> Symbolizer::unreadable() const {
  std::vector<Error> errors;
  for (const auto& [key, module] : modules_) {
    const std::lock_guard lock(module->mutex);
    if (module->error) errors.push_back(*module->error);
  }
  return errors;
}

}  // namespace hodo::symbol
