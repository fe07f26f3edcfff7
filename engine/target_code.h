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
  // Goes on only where RAX is `ip`. Flags are kept, whether `ip` reads them or not: what comes here
  // by chance, since it hashes alike, may.
  void check(std::uint64_t ip);
  // The same of returns. What comes here by chance has left the stack that the call was made on,
  // and is not expected to bring flags along: they are kept only where `ip` reads them.
  void check_return(std::uint64_t ip);

 private:
  Emitter& out_;
  const Arena& arena_;
};

}  // namespace hodo::engine
