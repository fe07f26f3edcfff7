#include "hodo/perfdata/kernel_symbols.h"

#include <linux/perf_event.h>

#include "hodo/perfdata/records.h"

namespace hodo::perfdata {

std::vector<KernelSymbol> read_kernel_symbols(const Reader& reader) {
  constexpr std::size_t kLongestName = 511;  // KSYM_NAME_LEN of the kernel
  std::vector<KernelSymbol> out;
  auto cursor = reader.records();
  while (const auto record = cursor.next()) {
    const auto* symbol = std::get_if<Ksymbol>(&record->body);
    if (symbol == nullptr || out.size() == kMostKernelSymbols) continue;
    const bool gone = (symbol->flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) != 0;
    if (gone || symbol->size == 0 || symbol->size - 1 > ~symbol->address) continue;
    out.push_back({.address = symbol->address,
                   .size = symbol->size,
                   .from = record->id.time.value_or(0),
                   .name = std::string(symbol->name.substr(0, kLongestName))});
  }
  return out;
}

}  // namespace hodo::perfdata
