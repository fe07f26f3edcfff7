// Where an indirect branch or a return has led to, looked at before anything runs there.
#pragma once

#include <cstdint>

#include "arena.h"
#include "emitter.h"

namespace hodo::engine {

class TargetCode {
 public:
  TargetCode(Emitter& out, const Arena& arena) : out_(out), arena_(arena) {}

  // In front of the branch at `ip`: where a target is no address, it is the branch that fails.
  void note_branch(std::uint64_t ip);
  // In front of the code at `ip`, where a branch or return may have led that leads elsewhere: goes
  // on only where RAX is `ip`. Flags are kept, whether the code reads them or not: what comes here
  // since it hashes alike, or has left the call that this is behind, may. Returns where it begins.
  std::uint8_t* check(std::uint64_t ip);

 private:
  void set_distance(std::uint64_t ip, unsigned more);

  Emitter& out_;
  const Arena& arena_;
};

}  // namespace hodo::engine
