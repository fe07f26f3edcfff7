#include "call_code.h"

#include "area_code.h"

namespace hodo::engine {

void CallCode::push_return(std::uint64_t address) {
  if (address < 0x8000'0000) {
    hot_.byte(0x68);  // PUSH imm32
    hot_.word(static_cast<std::uint32_t>(address));
    return;
  }
  cold_.align(8);
  hot_.bytes({0xff, 0x35});  // PUSH [RIP + disp32]
  hot_.word(static_cast<std::uint32_t>(cold_.at() - (hot_.at() + 4)));
  cold_.quad(address);
}

// By 32 bits: processors that keep words of memory in registers (Zen 4) do not do so with bytes,
// and each call would wait for the one before. There, a call and its return in a loop took 6 ticks
// of the TSC, with bytes 25.
void CallCode::load_top(Reg to) {  // MOV r32, [top]
  hot_.bytes({0x41, 0x8b});
  hot_.operand(to, kTop);
}
void CallCode::store_top(Reg from) {  // MOV [top], r32
  hot_.bytes({0x41, 0x89});
  hot_.operand(from, kTop);
}
void CallCode::move_index(Reg index, int by) {
  const unsigned r = index;
  hot_.bytes({0x8d, 0x40 | r << 3 | r, static_cast<unsigned>(by)});  // LEA r32, [r + by]
  hot_.bytes({0x0f, 0xb6, 0xc0 | r << 3 | r});                       // MOVZX r32, r8
}
void CallCode::set_call(Reg index, const CallSite* site) {  // MOV dword [calls + index], site
  hot_.bytes({0x41, 0xc7, 0x44, 0x02u | unsigned{index} << 3, kCalls});
  hot_.word(low(site));
}

void CallCode::remember(Reg index, std::uint64_t return_address, bool flags_are_dead) {
  load_top(index);
  if (flags_are_dead) {
    hot_.bytes({0x80, 0xc0u | index, 4});  // ADD r8, 4
  } else {
    move_index(index, 4);
  }
  store_top(index);
  set_call(index, call_site(return_address));
}

}  // namespace hodo::engine
