// The kernel's files that say what it lets users record.
#pragma once

#include <string>

#include "hodo/capture/pmu.h"
#include "hodo/doctor/facts.h"

namespace hodo::doctor {

capture::SystemPaths paths_below(const std::string& root);
KernelFacts read_kernel_facts(const std::string& root, bool privileged);

}  // namespace hodo::doctor
