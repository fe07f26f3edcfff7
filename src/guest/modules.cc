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

void read_symbols(const VirtualMemory& memory, const Layout& l, std::uint64_t kallsyms,
                  KernelModule& module) {
  const auto table = memory.read<std::uint64_t>(kallsyms + l.module_symbols.table);
  const auto count = memory.read<std::uint32_t>(kallsyms + l.module_symbols.count);
  const auto names = memory.read<std::uint64_t>(kallsyms + l.module_symbols.names);
  if (!table || !count || !names) return;
  for (std::uint32_t i = 0; i < *count && i < kMostSymbols; ++i) {
    const auto symbol = memory.read<ElfSymbol>(*table + i * sizeof(ElfSymbol));
    if (!symbol) break;
    if (!module.contains(symbol->value)) continue;
    auto name = memory.read_string(*names + symbol->name, kLongestSymbol);
    const bool global = symbol->info >> 4 != 0;  // ELF64_ST_BIND
    KernelModule::Code& code = module.text.contains(symbol->value) ? module.text : module.init;
    if (name && !name->empty())
      code.symbols.push_back({symbol->value, global ? 'T' : 't', std::move(*name)});
  }
}

std::optional<KernelModule::Code> read_code(const VirtualMemory& memory, std::uint64_t start_at,
                                            std::uint64_t size_at) {
  const auto start = memory.read<std::uint64_t>(start_at);
  const auto size = memory.read<std::uint32_t>(size_at);
  if (!start || !size || *size > kMostText) return std::nullopt;
  return KernelModule::Code{.start = *start, .size = *start == 0 ? 0 : *size, .symbols = {}};
}

// Without its symbols.
std::optional<KernelModule> read_module(const VirtualMemory& memory, const Layout& l,
                                        std::uint64_t address) {
  auto name = memory.read_string(address + l.module.name, kNameSize);
  auto text = read_code(memory, address + l.module.text, address + l.module.size);
  auto init = read_code(memory, address + l.module.init_text, address + l.module.init_size);
  if (!name || !text || !init) return std::nullopt;
  return KernelModule{.address = address,
                      .name = std::move(*name),
                      .text = std::move(*text),
                      .init = std::move(*init)};
}

}  // namespace

std::vector<KernelModule> read_modules(const VirtualMemory& memory, const Kernel& kernel) {
  std::vector<KernelModule> out;
  const std::uint64_t head = kernel.address_of("modules");
  if (head == 0 || !kernel.layout.module.known) return out;
  auto node = memory.read<std::uint64_t>(head);
  for (std::size_t i = 0; node && *node != head && i < kMostModules; ++i) {
    const std::uint64_t address = *node - kernel.layout.module.list;
    auto module = read_module(memory, kernel.layout, address);
    const auto kallsyms = memory.read<std::uint64_t>(address + kernel.layout.module.kallsyms);
    if (module && kallsyms) {
      read_symbols(memory, kernel.layout, *kallsyms, *module);
      out.push_back(std::move(*module));
    }
    node = memory.read<std::uint64_t>(*node);
  }
  return out;
}

bool still_loaded(const VirtualMemory& memory, const Kernel& kernel, const KernelModule& module) {
  const auto now = read_module(memory, kernel.layout, module.address);
  const auto same = [](const KernelModule::Code& a, const KernelModule::Code& b) {
    return a.start == b.start && a.size == b.size;
  };
  return now && now->name == module.name && same(now->text, module.text) &&
         same(now->init, module.init);
}

}  // namespace hodo::guest
