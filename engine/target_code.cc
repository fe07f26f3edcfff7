#include "target_code.h"

#include "area_code.h"
#include "hodo/relay/engine_start.h"
#include "low_memory.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

void TargetCode::note_branch(std::uint64_t ip) {
  auto* branch = static_cast<std::uint64_t*>(allocate_low(sizeof(std::uint64_t)));
  *branch = ip;
  out_.bytes({0x41, 0xc7, 0x42, offsetof(ThreadArea, branch)});  // MOV dword [R10 + disp8], branch
  out_.word(low(branch));
}

// LEA RCX, [RAX - ip + more]
void TargetCode::set_distance(std::uint64_t ip, unsigned more) {
  const std::uint64_t negated = more - ip;
  if (ip < 0x8000'0000) {
    out_.bytes({0x48, 0x8d, 0x88});
    out_.word(static_cast<std::uint32_t>(negated));
  } else {
    out_.move64(rcx, negated);
    out_.bytes({0x48, 0x8d, 0x0c, 0x01});  // LEA RCX, [RCX + RAX]
  }
}

// LOOP is not taken where JRCXZ is. Each taken branch counts where a processor predicts the next
// indirect one by those before: python3 takes 3 % less time with LOOP on Zen 4. On Intel's
// processors that takes seven operations.
std::uint8_t* TargetCode::check(std::uint64_t ip) {
  if (!hodo_start_info.loop_is_fast) {
    std::uint8_t* begin = out_.at();
    set_distance(ip, 0);
    out_.bytes({0xe3, 5});  // JRCXZ
    out_.jump(arena_.glue(kGlueMiss));
    return begin;
  }
  const std::uint8_t* miss = out_.at();
  out_.jump(arena_.glue(kGlueMiss));
  std::uint8_t* begin = out_.at();
  set_distance(ip, 1);
  out_.bytes({0xe2, static_cast<unsigned>(miss - (out_.at() + 2)) & 0xff});  // LOOP
  return begin;
}

}  // namespace hodo::engine
