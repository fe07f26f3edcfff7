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

void CallCode::load_top(Reg to) {  // MOVZX r32, byte [top]
  hot_.bytes({0x41, 0x0f, 0xb6});
  hot_.operand(to, kTop);
}
void CallCode::store_top(Reg from) {  // MOV [top], r8: of RAX and RCX
  hot_.bytes({0x41, 0x88});
  hot_.operand(from, kTop);
}
void CallCode::set_call(Reg index, const CallSite* site) {  // MOV dword [calls + index], site
  hot_.bytes({0x41, 0xc7, 0x44, 0x02u | unsigned{index} << 3, kCalls});
  hot_.word(low(site));
}

void CallCode::remember(Reg index, std::uint64_t return_address, bool flags_are_dead) {
  const unsigned r = index;
  if (flags_are_dead) {
    hot_.bytes({0x41, 0x80});  // ADD byte [top], 4
    hot_.operand(0, kTop);
    hot_.byte(4);
    load_top(index);
  } else {
    load_top(index);
    hot_.bytes({0x8d, 0x40 | r << 3 | r, 4});  // LEA r32, [r + 4]
    store_top(index);
    hot_.bytes({0x0f, 0xb6, 0xc0 | r << 3 | r});  // MOVZX r32, r8
  }
  set_call(index, call_site(return_address));
}

}  // namespace hodo::engine
