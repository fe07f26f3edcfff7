// The engine has met what it cannot go on with: what it says of that before the process ends
// with relay::kEngineFailed.
#pragma once

#include <cstdint>

#include "kernel_signal.h"

namespace hodo::engine {

// A signal that the engine's own code raised, or code that it made: which, and at what address.
// `part` says where that is; `made_for`: the instruction of the program that it stands for, or 0.
[[noreturn]] void die_of_signal(const KernelInfo& info, const KernelContext& context,
                                const char* part, std::uint64_t made_for);

}  // namespace hodo::engine
