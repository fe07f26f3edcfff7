// What calls and returns do to the program's stack, and to the stack of calls that has not been
// returned from (ThreadArea::calls).
#pragma once

#include <cstdint>

#include "cache.h"
#include "emitter.h"

namespace hodo::engine {

class CallCode {
 public:
  CallCode(Emitter& hot, Emitter& cold) : hot_(hot), cold_(cold) {}

  void push_return(std::uint64_t address);
  // Remembers the call, by way of a register that is free.
  void remember(Reg index, std::uint64_t return_address, bool flags_are_dead);

  // The pieces, for returns.
  // An index is RAX or RCX.
  void load_top(Reg to);
  void store_top(Reg from);
  void move_index(Reg index, int by);  // around the 64 calls
  void load_call(Reg to, Reg index);
  void set_call(Reg index, const CallSite* site);

 private:
  Emitter& hot_;
  Emitter& cold_;
};

}  // namespace hodo::engine
