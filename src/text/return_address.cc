#include "hodo/text/return_address.h"

#include <algorithm>
#include <array>

#include "hodo/isa/stack_step.h"

namespace hodo::text {

bool is_popped_return(std::span<const std::uint8_t> code) {
  constexpr std::uint8_t kUpper = 0x41;  // REX.B: R8 to R15
  constexpr std::array<std::uint8_t, 3> kLfence = {0x0f, 0xae, 0xe8};
  if (code.empty()) return false;
  const bool upper = code[0] == kUpper;
  if (upper) code = code.subspan(1);
  if (code.size() < 6 || !std::ranges::equal(code.subspan(1, kLfence.size()), kLfence))
    return false;
  auto jump = code.subspan(1 + kLfence.size());
  if ((jump[0] == kUpper) != upper) return false;
  if (upper) jump = jump.subspan(1);
  return jump.size() >= 2 && jump[0] == 0xff && (jump[1] & 0xf8) == 0xe0 &&
         code[0] == (0x58 | (jump[1] & 7));
}

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
    if (depth < 0) return !is_popped_return(module.bytes(at));
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
