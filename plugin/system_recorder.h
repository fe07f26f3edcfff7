// The recording plugin for virtual machines: QEMU's callbacks on one side, a trace unit for each
// virtual processor on the other. What its parts share:
//
//   system_recorder.cc     QEMU loads it: processors come, translated code and the machine go
//   system_translation.cc  which translated blocks report their execution, and to whom
//   system_execution.cc    a block is executed
//   system_crossings.cc    from kernel to user mode and back
//
// Every translated block that can be recorded is described once and reports its execution. Which
// ring a block is for is known when it is translated, so user blocks and kernel blocks have
// callbacks of their own. On the way into user mode the guest's kernel is asked who runs; blocks of
// processes that are not recorded cost a comparison. What leads out of user mode are the kernel's
// entries, so that of a kernel that is known and not traced only those report. To trace the kernel
// its task switches are followed, too.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "code_blocks.h"
#include "introspection.h"
#include "kernel_code.h"
#include "machine.h"
#include "qemu_api.h"
#include "spaces.h"
#include "vcpu.h"

namespace hodo::plugin {

inline constexpr unsigned kMostProcessors = 16;

// Which blocks report their execution. QEMU translates anew when it changes.
enum class Coverage : std::uint8_t {
  programs,   // no program has run yet: those of programs
  all,        // the kernel is not known: all
  starts,     // nobody who is to be recorded has run yet: where tasks are switched and get names
  crossings,  // those of programs, the kernel's entries, and all of the kernel where it is traced
};

struct SystemRecorder {
  qemu_plugin_id_t id = 0;
  std::string socket;
  relay::Key key{};
  Machine machine;
  Introspection introspection{machine};
  Spaces spaces{machine, introspection};
  KernelCode kernel_code{introspection};
  CodeBlocks blocks;
  std::array<std::unique_ptr<Vcpu>, kMostProcessors> vcpus;
  std::atomic<std::uint64_t> kernel_text = 0;  // an address where kernel code was translated
  std::atomic<Coverage> coverage = Coverage::programs;
  std::atomic<bool> met = false;  // somebody who is to be recorded
  std::atomic<bool> traces_kernel = false;
  std::atomic<bool> checked = false;

  // Null: where the guest's kernel is entered is not known.
  const guest::KernelEntries* entries() const {
    const KnownKernel* kernel = introspection.kernel();
    return kernel != nullptr && kernel->entries ? &*kernel->entries : nullptr;
  }
};

// The one of this process; QEMU's callbacks have no other way to it.
extern SystemRecorder* recorder;
// The same processors as recorder->vcpus, nearer: asked for every block.
extern std::array<Vcpu*, kMostProcessors> running;

// Has more or less become known of the guest's kernel, or of who runs in it?
void adapt_coverage();

}  // namespace hodo::plugin
