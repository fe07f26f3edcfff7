#include "saved_msr.h"

#include <utility>

namespace hodo::driver {

Status SavedMsr::save(hw::MsrBus& msrs) {
  auto value = msrs.read_msr(number_);
  if (!value) return std::unexpected(std::move(value.error()));
  value_ = *value;
  return {};
}

Status SavedMsr::restore(hw::MsrBus& msrs) {
  if (!value_) return {};
  const std::uint64_t value = *value_;
  value_.reset();
  return msrs.write_msr(number_, value);
}

}  // namespace hodo::driver
