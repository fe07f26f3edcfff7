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
  hot_.bytes({0xb4 | r, kCalls >> 8});                               // MOV AH or CH, that of calls
}
void CallCode::load_call(Reg to, Reg index) {  // MOV r32, [R10 + index]
  hot_.bytes({0x41, 0x8b, 0x04u | unsigned{to} << 3, 0x02u | unsigned{index} << 3});
}
void CallCode::set_call(Reg index, const CallSite* site) {  // MOV dword [R10 + index], site
  hot_.bytes({0x41, 0xc7, 0x04, 0x02u | unsigned{index} << 3});
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
