// The status flags that an instruction reads and replaces, as far as its encoding tells.
#pragma once

#include <cstdint>

#include "hodo/isa/encoding.h"

namespace hodo::isa {

struct FlagUse {
  std::uint8_t read = 0, killed = 0;
};

// `bytes`: the instruction, whose other fields are known.
FlagUse flag_use(const Encoding& e, const std::uint8_t* bytes);

}  // namespace hodo::isa
