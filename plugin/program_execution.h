// Executed blocks, on their way to the thread's unit.
#pragma once

#include <string_view>

#include "program_recorder.h"

namespace hodo::plugin {

// `unit`: pt, bts or lbr.
UnitCallbacks callbacks_of(std::string_view unit);

}  // namespace hodo::plugin
