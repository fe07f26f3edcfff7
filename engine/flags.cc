#include "flags.h"

#include "code_pages.h"
#include "hodo/isa/encoding.h"

namespace hodo::engine {
namespace {

constexpr unsigned kMostInsns = 24;

}  // namespace

bool flags_dead(std::uint64_t ip) {
  unsigned open = isa::kAllFlags;
  for (unsigned i = 0; i < kMostInsns; ++i) {
    const auto* code = reinterpret_cast<const std::uint8_t*>(ip);
    const isa::Encoding e = isa::decode_encoding(code, readable_bytes(ip));
    if (e.length == 0 || (e.flags_read & open) != 0 || is_checked(ip)) return false;
    open &= ~unsigned{e.flags_killed};
    if (open == 0) return true;
    switch (e.cls) {
      case isa::InsnClass::jmp:
      case isa::InsnClass::call:
        ip = isa::direct_target(e, code, ip);
        break;
      case isa::InsnClass::other:
        ip += e.length;
        break;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace hodo::engine
