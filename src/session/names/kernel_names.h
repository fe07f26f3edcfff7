// Functions of a kernel that is in no file, by the names that the recording has for its code.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "hodo/image/timeline.h"
#include "hodo/perfdata/kernel_symbols.h"
#include "hodo/perfdata/model.h"

namespace hodo::session {

class KernelNames {
 public:
  explicit KernelNames(const perfdata::Model& recording);

  struct Named {
    std::string_view symbol;  // empty: code without a name
    std::string_view object;  // "[kernel]", or the module as "[ext4]"
    std::uint64_t start;
    std::uint64_t size;
  };
  bool empty() const { return symbols_.empty(); }
  std::optional<Named> at(std::uint64_t address, std::uint64_t time) const;

 private:
  std::vector<perfdata::KernelSymbol> symbols_;
  image::Timeline names_;
};

}  // namespace hodo::session
