// Keeps QEMU's own messages off the standard error of the program that it runs.
#pragma once

namespace hodo::plugin {

// From now on QEMU's line about a program that a signal kills ("qemu: uncaught target signal ...")
// is left out: natively the shell says so, and reads it from the status as before. Everything else
// that QEMU or this plugin writes to stderr goes through unchanged.
void leave_out_words_about_signals();

}  // namespace hodo::plugin
