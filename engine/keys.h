// Protection keys of memory: SDM vol. 3A, "Protection Keys"; pkeys(7).
#pragma once

#include <cstdint>

#include "hodo/relay/engine_start.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

// What they deny this thread: PKRU. There must be keys.
inline std::uint32_t key_rights() {
  std::uint32_t rights = 0, zero = 0;
  asm volatile("rdpkru" : "=a"(rights), "=d"(zero) : "c"(0));
  return rights;
}

// While one lives its thread may read memory whatever the keys say: code runs from pages that its
// own thread may not read. Nothing of the program runs meanwhile.
class OpenKeys {
 public:
  OpenKeys() : denied_(hodo_start_info.has_keys ? key_rights() : 0) {
    if (denied_ != 0) write(0);
  }
  ~OpenKeys() {
    if (denied_ != 0) write(denied_);
  }
  OpenKeys(const OpenKeys&) = delete;
  OpenKeys& operator=(const OpenKeys&) = delete;

 private:
  static void write(std::uint32_t rights) {
    asm volatile("wrpkru" ::"a"(rights), "c"(0), "d"(0) : "memory");
  }

  std::uint32_t denied_;
};

}  // namespace hodo::engine
