#include "hodo/guest/functions.h"

#include <algorithm>

namespace hodo::guest {
namespace {

// nm's letters for code; capitals are global.
bool is_code(char type) { return std::string_view("tTwW").find(type) != std::string_view::npos; }

}  // namespace

KernelFunctions::KernelFunctions(std::span<const KernelSymbol> symbols, std::uint64_t end) {
  std::vector<const KernelSymbol*> code;
  for (const KernelSymbol& symbol : symbols) {
    if (is_code(symbol.type) && symbol.address >> 63 != 0 && symbol.address < end)
      code.push_back(&symbol);
  }
  // Of several names of one place the global one counts, else the first: 'T' < 'W' < 't'.
  std::ranges::stable_sort(code, [](const KernelSymbol* a, const KernelSymbol* b) {
    return a->address != b->address ? a->address < b->address : a->type < b->type;
  });
  for (const KernelSymbol* symbol : code) {
    if (!functions_.empty() && functions_.back().start == symbol->address) continue;
    functions_.push_back({.start = symbol->address, .name = symbol->name});
  }
  for (std::size_t i = 0; i < functions_.size(); ++i) {
    const std::uint64_t next = i + 1 < functions_.size() ? functions_[i + 1].start : end;
    functions_[i].size = next - functions_[i].start;
  }
}

std::optional<KernelFunction> KernelFunctions::at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(functions_, address, {}, &KernelFunction::start);
  if (after == functions_.begin()) return std::nullopt;
  const KernelFunction& found = *std::prev(after);
  if (address - found.start >= found.size) return std::nullopt;
  return found;
}

}  // namespace hodo::guest
