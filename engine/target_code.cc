#include "target_code.h"

#include "area_code.h"
#include "low_memory.h"

namespace hodo::engine {

void TargetCode::note_branch(std::uint64_t ip) {
  auto* branch = static_cast<std::uint64_t*>(allocate_low(sizeof(std::uint64_t)));
  *branch = ip;
  out_.bytes({0x41, 0xc7, 0x42, offsetof(ThreadArea, branch)});  // MOV dword [R10 + disp8], branch
  out_.word(low(branch));
}

void TargetCode::check(std::uint64_t ip) {
  const std::uint64_t negated = 0 - ip;
  if (ip < 0x8000'0000) {
    out_.bytes({0x48, 0x8d, 0x88});  // LEA RCX, [RAX - ip]
    out_.word(static_cast<std::uint32_t>(negated));
  } else {
    out_.move64(rcx, negated);
    out_.bytes({0x48, 0x8d, 0x0c, 0x01});  // LEA RCX, [RCX + RAX]
  }
  out_.bytes({0xe3, 5});  // JRCXZ
  out_.jump(arena_.glue(kGlueMiss));
}

}  // namespace hodo::engine
