// A small Linux guest for who has none: a Debian kernel and an initramfs made of busybox.
#pragma once

#include <string>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::cli {

struct DemoGuest {
  std::string kernel;
  std::string initramfs;
};

// $XDG_CACHE_HOME/hodoscope/vm-demo, else in ~/.cache; empty where neither is known.
std::string demo_folder();

// Makes what the guest needs in `folder`, which it creates. `kernel` is an image to start; empty:
// one in /boot, else that of Debian's package, which is fetched into the folder, once, with words
// about it on standard error. `script` is what the guest does, in busybox's shell, before it goes
// off, or stays if "stay" is on the kernel's command line. Errors: not_found: what is missing and
// the package to install; io, no_space, not_permitted: the folder.
Result<DemoGuest> make_demo_guest(const std::string& folder, const std::string& kernel,
                                  const std::string& script);

// QEMU's words for it; `boot`: more for the kernel's command line.
std::vector<std::string> demo_machine(const DemoGuest& guest, const std::string& boot = "");

}  // namespace hodo::cli
