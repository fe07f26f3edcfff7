#include "module_functions.h"

#include <algorithm>

namespace hodo::plugin {
namespace {

// As they are called in /proc/kallsyms.
guest::KernelFunctions functions_of(guest::KernelModule::Code& code, const std::string& module) {
  for (guest::KernelSymbol& symbol : code.symbols) symbol.name += " [" + module + "]";
  return {code.symbols, code.start + code.size};
}

}  // namespace

const ModuleFunctions::Known* ModuleFunctions::find(std::uint64_t address) const {
  const auto found = std::ranges::find_if(
      known_, [&](const Known& known) { return known.module.contains(address); });
  return found == known_.end() ? nullptr : &*found;
}

void ModuleFunctions::read(const guest::VirtualMemory& memory, const guest::Kernel& kernel) {
  known_.clear();
  for (guest::KernelModule& module : guest::read_modules(memory, kernel)) {
    Known& known = known_.emplace_back(Known{std::move(module), {}, {}});
    known.text = functions_of(known.module.text, known.module.name);
    known.init = functions_of(known.module.init, known.module.name);
  }
}

std::optional<guest::KernelFunction> ModuleFunctions::at(const guest::VirtualMemory& memory,
                                                         const guest::Kernel& kernel,
                                                         std::uint64_t address) {
  const Known* known = find(address);
  // Where it was loaded another one may be by now.
  if (known == nullptr || !guest::still_loaded(memory, kernel, known->module)) {
    read(memory, kernel);
    known = find(address);
  }
  if (known == nullptr) return std::nullopt;
  return known->module.text.contains(address) ? known->text.at(address) : known->init.at(address);
}

}  // namespace hodo::plugin
