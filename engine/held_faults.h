// Synchronous signals that somebody sends while the program blocks them. In the kernel they are
// never blocked, for the engine's own faults: they are kept here. While the program is in a system
// call they are the kernel's, blocked there: it tells of them (sigpending), hands them out
// (sigtimedwait, sigsuspend). It keeps them over execve, and that they are blocked or ignored.
#pragma once

#include "kernel_signal.h"
#include "thread_area.h"

namespace hodo::engine {

// Keeps it: one of each number, as the kernel does for a thread. False: the program is to have it
// now. `mask`: what the kernel blocks where the signal came.
bool hold_fault(ThreadArea& area, unsigned number, const KernelInfo& info, std::uint64_t mask);

// One that the program ignores: natively it would not even wake the thread. False: it does not, or
// the signal is the recorder's or the engine's own.
bool drop_ignored_fault(ThreadArea& area, unsigned number, const KernelInfo& info);

// It is ignored from here on: what waits of it is dropped. That of other threads is not.
void drop_held_fault(ThreadArea& area, unsigned number);

// From here on those that are kept wait in the kernel, which blocks them until the next mask is
// set.
void give_held_faults_to_kernel(ThreadArea& area);

// For as long. Afterwards they come, and are the program's or kept again. So do those that are
// ignored, if one of them has just come: they do not end the call once more.
class HeldInKernel {
 public:
  explicit HeldInKernel(ThreadArea& area);
  ~HeldInKernel();
  HeldInKernel(const HeldInKernel&) = delete;
  HeldInKernel& operator=(const HeldInKernel&) = delete;

 private:
  bool any_;
};

// Around execve: what the next program begins with.
class HandedOn {
 public:
  explicit HandedOn(ThreadArea& area);
  ~HandedOn();
  HandedOn(const HandedOn&) = delete;
  HandedOn& operator=(const HandedOn&) = delete;

 private:
  const SignalActions& actions_;
  bool alone_;
};

}  // namespace hodo::engine
