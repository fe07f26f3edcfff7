// A register whose value a driver found, and puts back when it is done.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/hw/msr.h"

namespace hodo::driver {

class SavedMsr {
 public:
  explicit SavedMsr(std::uint32_t number) : number_(number) {}

  // Reads the value that restore() writes back. Errors: those of the bus.
  Status save(hw::MsrBus& msrs);
  // Does nothing if nothing was saved, or it has been restored already.
  Status restore(hw::MsrBus& msrs);
  std::uint32_t number() const { return number_; }
  std::uint64_t value() const { return value_.value_or(0); }

 private:
  std::uint32_t number_;
  std::optional<std::uint64_t> value_;
};

}  // namespace hodo::driver
