#include "hodo/text/return_address.h"

#include "hodo/isa/stack_step.h"

namespace hodo::text {

bool takes_return_address(const Module& module, std::uint64_t start) {
  constexpr int kMostSteps = 64;
  std::int64_t depth = 0;             // the return address lies so far above RSP
  std::optional<std::int64_t> frame;  // and so far above RBP
  std::uint64_t at = start;
  for (int i = 0; i < kMostSteps; ++i) {
    const auto step = isa::decode_stack_step(module.bytes(at), at, module.mode());
    if (!step || !step->lowers) return false;
    if (const auto& place = step->writes) {
      if (place->of_frame ? frame == place->distance : depth == place->distance) return true;
    }
    if (step->frames) frame = depth;
    depth += *step->lowers;
    if (depth < 0) return true;
    const isa::InsnClass cls = step->insn.cls;
    if (cls == isa::InsnClass::jmp) {
      at = step->insn.target;
    } else if (isa::is_branch(cls) && cls != isa::InsnClass::cond &&
               cls != isa::InsnClass::syscall) {
      return false;
    } else {
      at += step->insn.length;
    }
  }
  return false;
}

}  // namespace hodo::text
