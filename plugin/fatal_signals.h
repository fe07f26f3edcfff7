// The moment when a signal is about to end the program. QEMU tells plugins nothing of it: it puts
// back the signal's default action and sends the signal to its own process, by kill(2) of the C
// library (linux-user/signal.c, dump_core_and_abort, later die_with_signal). The guest's own calls
// of kill do not come that way.
#pragma once

namespace hodo::plugin {

// From here on `before` is called with the signal's number, in the thread that takes it, before the
// emulator sends it. False: this emulator calls kill in another way; ends are then only known as
// far as a parent knows them.
bool watch_fatal_signals(void (*before)(int signal));

}  // namespace hodo::plugin
