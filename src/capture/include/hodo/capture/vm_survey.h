// Who runs in a virtual machine, asked of a QEMU that runs it.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "hodo/base/result.h"
#include "hodo/guest/survey.h"

namespace hodo::capture {

// Looks at the processors' registers for `duration`, finds the guest's kernel, and holds the
// machine while it reads its task list: some ten milliseconds, and as long as it takes to read what
// page tables a few processes have. `progress` is called with the part that is done of a whole.
// Errors: as Qmp::connect, io (QEMU has gone, or cannot hand memory over).
Result<guest::Survey> survey_vm(const std::string& qmp_socket, std::chrono::milliseconds duration,
                                const std::function<void(std::uint64_t, std::uint64_t)>& progress);

}  // namespace hodo::capture
