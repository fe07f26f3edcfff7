// Which function of a kernel module an address lies in.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "hodo/guest/functions.h"
#include "hodo/guest/modules.h"

namespace hodo::plugin {

class ModuleFunctions {
 public:
  // Reads the kernel's list of modules where none is known that has `address` still. The name is
  // "FUNCTION [MODULE]", as /proc/kallsyms has it, and lives until the next call. Nullopt: code
  // that is of no module.
  std::optional<guest::KernelFunction> at(const guest::VirtualMemory& memory,
                                          const guest::Kernel& kernel, std::uint64_t address);
  // Whether it is code of a module that was known when at() was asked last.
  bool contains(std::uint64_t address) const { return find(address) != nullptr; }

 private:
  struct Known {
    guest::KernelModule module;
    guest::KernelFunctions text, init;  // of `module`
  };
  const Known* find(std::uint64_t address) const;
  void read(const guest::VirtualMemory& memory, const guest::Kernel& kernel);

  std::list<Known> known_;
};

}  // namespace hodo::plugin
