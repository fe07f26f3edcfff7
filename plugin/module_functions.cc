#include "module_functions.h"

#include <algorithm>

namespace hodo::plugin {

const ModuleFunctions::Known* ModuleFunctions::find(std::uint64_t address) const {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return known.module.contains(address); });
  return found == known_.end() ? nullptr : &*found;
}

void ModuleFunctions::read(const guest::VirtualMemory& memory, const guest::Kernel& kernel) {
  known_.clear();
  for (guest::KernelModule& module : guest::read_modules(memory, kernel)) {
    for (guest::KernelSymbol& symbol : module.symbols) symbol.name += " [" + module.name + "]";
    Known& known = known_.emplace_back(Known{std::move(module), {}});
    known.functions = {known.module.symbols, known.module.text + known.module.size};
  }
}

std::optional<guest::KernelFunction> ModuleFunctions::at(const guest::VirtualMemory& memory,
                                                         const guest::Kernel& kernel,
                                                         std::uint64_t address) {
  const Known* known = find(address);
  if (known == nullptr) {
    read(memory, kernel);
    known = find(address);
  }
  return known == nullptr ? std::nullopt : known->functions.at(address);
}

}  // namespace hodo::plugin
