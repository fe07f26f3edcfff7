// Which function an address belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hodo/text/module.h"
#include "sweep.h"

namespace hodo::text {

class FunctionMap {
 public:
  FunctionMap() = default;
  // `first` counts where it overlaps `second`; what overlaps within one of them is cut.
  FunctionMap(std::vector<Function> first, std::vector<Function> second);

  using Joined = std::pair<std::uint32_t, std::uint32_t>;
  // What all() and joined() gave; nullopt for what no map gives.
  static std::optional<FunctionMap> restore(std::vector<Function> functions,
                                            std::vector<Joined> joined);

  // Learns which functions are parts of one: those that jump into each other's middle.
  void join(const std::vector<Sweep::Reference>& jumps);

  std::optional<std::uint32_t> index(std::uint64_t address) const;
  const Function* at(std::uint64_t address) const;
  // Both in one function, or in joined ones.
  bool same(std::uint64_t a, std::uint64_t b) const;
  // The function of that index and all that jump into its middle, or it into theirs; by address.
  std::vector<Function> parts(std::uint32_t index) const;
  std::span<const Function> all() const { return functions_; }
  std::span<const Joined> joined() const { return joined_; }

 private:
  std::vector<Function> functions_;  // by address, none overlap
  std::vector<Joined> joined_;       // sorted; the smaller index first
};

}  // namespace hodo::text
