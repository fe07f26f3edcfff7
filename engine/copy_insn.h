// The program's own instructions: how they get into the cache.
#pragma once

#include <cstdint>

#include "emitter.h"
#include "hodo/isa/encoding.h"
#include "stand_ins.h"

namespace hodo::engine {

// The program's bytes at `ip`.
inline const std::uint8_t* code(std::uint64_t ip) {
  return reinterpret_cast<const std::uint8_t*>(ip);
}

class InsnCopier {
 public:
  explicit InsnCopier(Emitter& hot) : hot_(hot) {}

  // The instruction at `ip`, which is no branch.
  void copy(const isa::Encoding& e, std::uint64_t ip);
  // MOV RAX, operand of the branch at `ip`. Spilled registers still hold the program's values.
  void load_target(const isa::Encoding& e, std::uint64_t ip);

 private:
  void copy_in_place(const isa::Encoding& e, const std::uint8_t* insn, InPlace place);
  void copy_simply(const isa::Encoding& e);
  void copy_bytes(const isa::Encoding& e, std::uint8_t* insn, std::uint64_t behind, bool may_write);
  void emit(const isa::Encoding& e, std::uint8_t* insn, std::uint64_t behind);
  void emit_far(const isa::Encoding& e, std::uint8_t* insn, std::uint64_t target);

  Emitter& hot_;
};

}  // namespace hodo::engine
