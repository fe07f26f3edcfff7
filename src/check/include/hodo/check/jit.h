// What to say of code that was made at run time.
#pragma once

#include <cstdint>

namespace hodo::check {

enum class Jit : std::uint8_t {
  known,   // what a known code generator can have made is explained
  allow,   // all code that is in no file is
  report,  // none is: that of a generator is unusual
};

}  // namespace hodo::check
