// Code for tests of what reads it: bytes at an address.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "hodo/image/address_space.h"

namespace hodo::session {

class Code {
 public:
  Code& at(std::uint64_t address, const std::vector<std::uint8_t>& bytes, std::uint64_t time = 0) {
    auto slice = store_.memory(bytes);
    EXPECT_TRUE(slice);
    space_.map(address, bytes.size(), *slice, time);
    return *this;
  }
  const image::CodeSource& source() const { return space_; }

 private:
  image::ContentStore store_;
  image::AddressSpace space_;
};

// 1000 nop; 1001 je 1008; 1003 call 1010; 1008 syscall; 100a jmp 1000; 100c: none; 1010 ret
inline const std::vector<std::uint8_t> kSample = {0x90, 0x74, 0x05, 0xe8, 0x08, 0x00,
                                                  0x00, 0x00, 0x0f, 0x05, 0xeb, 0xf4,
                                                  0x06, 0x06, 0x06, 0x06, 0xc3};

}  // namespace hodo::session
