// Which function of the kernel an address lies in, by the kernel's own symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/guest/kallsyms.h"

namespace hodo::guest {

struct KernelFunction {
  std::uint64_t start = 0;
  std::uint64_t size = 0;  // bytes, up to the next symbol: kallsyms has no sizes
  std::string_view name;
};

class KernelFunctions {
 public:
  KernelFunctions() = default;
  // The functions and labels among `symbols`, whose names must outlive this. Code ends before
  // `end`.
  KernelFunctions(std::span<const KernelSymbol> symbols, std::uint64_t end);

  // Nullopt: no symbol lies before `address`.
  std::optional<KernelFunction> at(std::uint64_t address) const;
  const std::vector<KernelFunction>& all() const { return functions_; }

 private:
  std::vector<KernelFunction> functions_;  // by address
};

}  // namespace hodo::guest
