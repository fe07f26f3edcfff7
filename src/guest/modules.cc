#include "hodo/guest/modules.h"

namespace hodo::guest {
namespace {

constexpr std::size_t kMostModules = 1024;
constexpr std::uint32_t kMostSymbols = 1 << 17;
constexpr std::size_t kMostText = 64 << 20;
constexpr std::size_t kNameSize = 56;  // MODULE_NAME_LEN
constexpr std::size_t kLongestSymbol = 512;

// Elf64_Sym; the kernel has put addresses into st_value (simplify_symbols in kernel/module).
struct ElfSymbol {
  std::uint32_t name;
  std::uint8_t info, other;
  std::uint16_t section;
  std::uint64_t value, size;
};
static_assert(sizeof(ElfSymbol) == 24);

std::vector<KernelSymbol> read_symbols(const VirtualMemory& memory, const Layout& l,
                                       std::uint64_t kallsyms, const KernelModule& module) {
  const auto table = memory.read<std::uint64_t>(kallsyms + l.module_symbols.table);
  const auto count = memory.read<std::uint32_t>(kallsyms + l.module_symbols.count);
  const auto names = memory.read<std::uint64_t>(kallsyms + l.module_symbols.names);
  std::vector<KernelSymbol> out;
  if (!table || !count || !names) return out;
  for (std::uint32_t i = 0; i < *count && i < kMostSymbols; ++i) {
    const auto symbol = memory.read<ElfSymbol>(*table + i * sizeof(ElfSymbol));
    if (!symbol) break;
    if (!module.contains(symbol->value)) continue;
    auto name = memory.read_string(*names + symbol->name, kLongestSymbol);
    const bool global = symbol->info >> 4 != 0;  // ELF64_ST_BIND
    if (name && !name->empty())
      out.push_back({symbol->value, global ? 'T' : 't', std::move(*name)});
  }
  return out;
}

std::optional<KernelModule> read_module(const VirtualMemory& memory, const Layout& l,
                                        std::uint64_t address) {
  auto name = memory.read_string(address + l.module.name, kNameSize);
  const auto text = memory.read<std::uint64_t>(address + l.module.text);
  const auto size = memory.read<std::uint32_t>(address + l.module.size);
  const auto kallsyms = memory.read<std::uint64_t>(address + l.module.kallsyms);
  if (!name || !text || !size || !kallsyms || *size > kMostText) return std::nullopt;
  KernelModule module{.name = std::move(*name), .text = *text, .size = *size, .symbols = {}};
  module.symbols = read_symbols(memory, l, *kallsyms, module);
  return module;
}

}  // namespace

std::vector<KernelModule> read_modules(const VirtualMemory& memory, const Kernel& kernel) {
  std::vector<KernelModule> out;
  const std::uint64_t head = kernel.address_of("modules");
  if (head == 0 || !kernel.layout.module.known) return out;
  auto node = memory.read<std::uint64_t>(head);
  for (std::size_t i = 0; node && *node != head && i < kMostModules; ++i) {
    auto module = read_module(memory, kernel.layout, *node - kernel.layout.module.list);
    if (module) out.push_back(std::move(*module));
    node = memory.read<std::uint64_t>(*node);
  }
  return out;
}

}  // namespace hodo::guest
