// Which functions of the guest are signal handlers, and how one was reached.
#pragma once

#include <cstdint>

#include "guest.h"

namespace hodo::plugin {

// The guest installed a handler (rt_sigaction). Never forgotten: a handler that was replaced may
// still be entered by a signal that was on its way.
void add_signal_handler(std::uint64_t address);
bool is_signal_handler(std::uint64_t address);

// This thread stands at the first instruction of `handler`. If a signal brought it there: where the
// program was, and whether the instruction there raised the signal itself. Signals that were
// delivered on top of each other, without the lower handlers having run, are looked through.
bool find_interrupted_ip(const Guest& guest, std::uint64_t handler, std::uint64_t& ip,
                         bool& faulted);

}  // namespace hodo::plugin
