// Writes the few instructions that the engine adds to a program's own.
//
// None of the helpers but those named for it changes a status flag: copies of a program's
// instructions stand around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace hodo::engine {

enum Reg : std::uint8_t {
  rax,
  rcx,
  rdx,
  rbx,
  rsp,
  rbp,
  rsi,
  rdi,
  r8,
  r9,
  r10,
  r11,
  r12,
  r13,
  r14,
  r15
};

class Emitter {
 public:
  explicit Emitter(std::uint8_t* at) : at_(at) {}
  std::uint8_t* at() const { return at_; }

  void byte(unsigned value) { *at_++ = static_cast<std::uint8_t>(value); }
  void bytes(std::initializer_list<unsigned> values) {
    for (const unsigned value : values) byte(value);
  }
  void word(std::uint32_t value) {
    std::memcpy(at_, &value, 4);
    at_ += 4;
  }
  void quad(std::uint64_t value) {
    std::memcpy(at_, &value, 8);
    at_ += 8;
  }
  // Data of the engine is aligned: the program may have set EFLAGS.AC.
  void align(std::uint64_t to) {
    while (reinterpret_cast<std::uint64_t>(at_) % to != 0) byte(0x90);
  }
  void copy(const std::uint8_t* from, std::size_t count) {
    std::memcpy(at_, from, count);
    at_ += count;
  }

  // An instruction with a 64-bit register and a place in the thread's area: REX.W opcode reg, [R10
  // + offset].
  void area(unsigned opcode, Reg reg, std::size_t offset) {
    bytes({0x49u | (reg >> 3) << 2, opcode});
    operand(reg & 7u, offset);
  }
  void load(Reg reg, std::size_t offset) { area(0x8b, reg, offset); }
  void store(std::size_t offset, Reg reg) { area(0x89, reg, offset); }
  // ModRM and displacement of [R10 + offset].
  void operand(unsigned reg, std::size_t offset) {
    if (offset == 0) {
      byte(0x02 | reg << 3);
    } else if (offset <= 127) {
      bytes({0x42 | reg << 3, static_cast<unsigned>(offset)});
    } else {
      byte(0x82 | reg << 3);
      word(static_cast<std::uint32_t>(offset));
    }
  }
  void move(Reg to, std::uint32_t value) {
    byte(0xb8 | to);
    word(value);
  }
  void move64(Reg to, std::uint64_t value) {
    bytes({0x48u | (to >> 3), 0xb8u | (to & 7)});
    quad(value);
  }

  // Branches with a 32-bit displacement; the address of the displacement.
  std::uint8_t* jump(const std::uint8_t* target) {
    byte(0xe9);
    return displacement(target);
  }
  void call(const std::uint8_t* target) {
    byte(0xe8);
    displacement(target);
  }
  std::uint8_t* jump_if(unsigned condition, const std::uint8_t* target) {
    bytes({0x0f, 0x80 | condition});
    return displacement(target);
  }
  static void point(std::uint8_t* displacement, const std::uint8_t* target) {
    const auto distance = static_cast<std::int32_t>(target - (displacement + 4));
    // Aligned or not: one store, so that a thread that runs here sees the old or the new target.
    __atomic_store_n(reinterpret_cast<std::int32_t*>(displacement), distance, __ATOMIC_RELAXED);
  }
  static bool reaches(const std::uint8_t* displacement, const std::uint8_t* target) {
    const std::int64_t distance = target - (displacement + 4);
    return distance == static_cast<std::int32_t>(distance);
  }

 private:
  std::uint8_t* displacement(const std::uint8_t* target) {
    std::uint8_t* field = at_;
    word(target == nullptr ? 0 : static_cast<std::uint32_t>(target - (at_ + 4)));
    return field;
  }

  std::uint8_t* at_;
};

}  // namespace hodo::engine
