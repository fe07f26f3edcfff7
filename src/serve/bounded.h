// Answers made short enough to be read.
#pragma once

#include <cstddef>

#include "hodo/serve/method.h"

namespace hodo::serve {

// The value with its lists and strings cut until it has at most `most` bytes as text. What is left
// out is said where it was: a list's last element is then {"left_out": N}, a string ends in "..".
// A value that cannot be cut that far becomes {"left_out": ...} as a whole.
Json bounded(const Json& value, std::size_t most);

}  // namespace hodo::serve
