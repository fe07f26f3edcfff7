// A system call's number and arguments as the kernel understands them.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// The kernel takes the number and some of the arguments as 32 bits: what a program has above that
// in the registers means nothing to it, nor must it to the engine. While one of these lives, the
// registers have the number without that, and those arguments that the engine looks at.
class AskedCall {
 public:
  explicit AskedCall(ThreadArea& area);
  // Gives the arguments back, which a call leaves as they were.
  ~AskedCall();
  AskedCall(const AskedCall&) = delete;
  AskedCall& operator=(const AskedCall&) = delete;

  // Where the call has not been made, and will be made again: RAX, too.
  void undo() { area_.registers.rax = number_; }

 private:
  ThreadArea& area_;
  std::uint64_t number_;
  unsigned narrow_;  // of the arguments
  std::uint64_t arguments_[5];
};

}  // namespace hodo::engine
