// Asks an emulator whether it takes our plugin: it is started once, with nothing to run.
#pragma once

#include <chrono>
#include <string>

#include "hodo/base/result.h"

namespace hodo::capture {

// Errors: unsupported, with the reason in the emulator's own words and the remedy. Takes some 20
// ms, and never more than `patience`.
Status probe_plugin(const std::string& emulator, const std::string& plugin,
                    std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace hodo::capture
