// The registers of a guest's processors, in whichever way this QEMU gives them:
// - by its plugin interface, from QEMU 9.0 on (API version 2: qemu_plugin_get_registers and
//   qemu_plugin_read_register), which answers for the processor that the calling thread executes;
// - else by the functions behind its gdb stub, which QEMU 7.2 exports without saying so.
#pragma once

#include <glib.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "qemu_api.h"

namespace hodo::plugin {

class Registers {
 public:
  // Finds one of the two ways; false if there is none. `wide`: of a 64-bit target.
  bool attach(bool wide);
  bool official() const { return official_read_ != nullptr; }

  // What callbacks that read registers have to be registered with.
  qemu_plugin_cb_flags callback_flags() const {
    return official() ? QEMU_PLUGIN_CB_R_REGS : QEMU_PLUGIN_CB_NO_REGS;
  }

  // The processor of that number, and the one that the calling thread executes; null if there is
  // none. By the plugin interface they only stand for the latter.
  void* cpu(unsigned index) const;
  void* current_cpu() const;

  // At the start of a block, or while one is translated, of the processor that does so. Numbers are
  // those of gdb's order for the target (QEMU's gdb-xml/i386-64bit.xml and i386-32bit.xml). 0 for a
  // register that this QEMU does not have.
  std::uint64_t read(void* cpu, int number) const;

 private:
  // Those of i386-64bit.xml that are no segments' or vectors'.
  static constexpr std::size_t kNumbers = 33;

  void find_handles() const;

  bool wide_ = true;
  GArray* (*official_list_)() = nullptr;
  int (*official_read_)(qemu_plugin_register*, GByteArray*) = nullptr;
  // By number; the list can be asked for only when a processor runs.
  mutable std::array<std::atomic<qemu_plugin_register*>, kNumbers> handles_{};
  mutable std::atomic<bool> have_handles_ = false;

  void* (*get_cpu_)(int) = nullptr;
  int (*gdb_read_)(void*, GByteArray*, int) = nullptr;
};

}  // namespace hodo::plugin
