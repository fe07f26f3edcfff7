// From the guest's kernel to user mode and back.
#pragma once

#include <cstdint>

#include "hodo/unit/block.h"
#include "vcpu.h"

namespace hodo::plugin {

// `vcpu` is about to execute user code: finds out whose, and whether it is recorded.
void enter_user(Vcpu& vcpu);
// It has come out of user mode, to `entered`.
void leave_user(Vcpu& vcpu, const unit::Block& entered);
// The kernel's part of what `vcpu` executes begins to be recorded, or is not, as for its task.
void choose_kernel(Vcpu& vcpu);

// For units that trace the kernel, whose owner is a Vcpu: see unit::PtOutput.
bool interrupted(void* self, const unit::Block& handler, std::uint64_t& ip, bool& by_fault);
std::uint64_t cr3_of(void* self);

}  // namespace hodo::plugin
