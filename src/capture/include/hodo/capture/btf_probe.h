// Is DEBUGCTL.BTF honoured here?
#pragma once

#include <optional>

namespace hodo::capture {

// Lets a child process step over a few instructions and a jump with PTRACE_SINGLEBLOCK: where BTF
// works it stops behind the jump, where a hypervisor ignores BTF, behind the first instruction.
// nullopt: ptrace is not permitted, or something else is wrong.
std::optional<bool> probe_btf();

}  // namespace hodo::capture
