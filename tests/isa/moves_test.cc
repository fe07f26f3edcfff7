// Where registers get their values from, as encodings written by hand from the SDM's opcode tables.
#include "hodo/isa/moves.h"

#include <gtest/gtest.h>

#include <vector>

namespace hodo::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;
using What = Move::What;
constexpr std::uint64_t kIp = 0x401000;

Move move_of(const Bytes& bytes) {
  const auto out = decode_move(bytes, kIp);
  EXPECT_TRUE(out);
  return out.value_or(Move{});
}

TEST(Moves, TellLoadsFromRegistersAndFromFixedPlaces) {
  const Move load = move_of({0x48, 0x8b, 0x47, 0x10});  // mov rax, [rdi+0x10]
  EXPECT_EQ(load.what, What::load);
  EXPECT_EQ(load.to, 0);
  EXPECT_EQ(load.memory.base, 7);
  EXPECT_EQ(load.memory.displacement, 0x10);
  EXPECT_FALSE(load.memory.address);
  const Move fixed = move_of({0x4c, 0x8b, 0x3d, 0xf9, 0x0f, 0x00, 0x00});  // mov r15, [rip+0xff9]
  EXPECT_EQ(fixed.what, What::load);
  EXPECT_EQ(fixed.to, 15);
  EXPECT_EQ(fixed.memory.address, 0x402000);
  const Move thread = move_of({0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0});  // mov rax, fs:[40]
  EXPECT_EQ(thread.what, What::other);
  EXPECT_EQ(thread.changed, 1);
}

TEST(Moves, TellCopiesAndAddresses) {
  const Move copy = move_of({0x49, 0x89, 0xc4});  // mov r12, rax
  EXPECT_EQ(copy.what, What::copy);
  EXPECT_EQ(copy.to, 12);
  EXPECT_EQ(copy.from, 0);
  EXPECT_EQ(copy.changed, 1 << 12);
  const Move address = move_of({0x48, 0x8d, 0x05, 0xf9, 0x0f, 0x00, 0x00});  // lea rax, [rip+...]
  EXPECT_EQ(address.what, What::address);
  EXPECT_EQ(address.memory.address, 0x402000);
  const Move added = move_of({0x48, 0x83, 0xc0, 0xf0});  // add rax, -16
  EXPECT_EQ(added.what, What::address);
  EXPECT_EQ(added.to, 0);
  EXPECT_EQ(added.memory.base, 0);
  EXPECT_EQ(added.memory.displacement, -16);
  EXPECT_EQ(move_of({0x83, 0xc0, 0x10}).what, What::other);  // add eax, 16
}

TEST(Moves, TellWhatIsWrittenToMemory) {
  const Move store = move_of({0x48, 0x89, 0x4c, 0x24, 0x08});  // mov [rsp+8], rcx
  EXPECT_EQ(store.what, What::store);
  EXPECT_EQ(store.from, 1);
  EXPECT_EQ(store.to, kNoRegister);
  EXPECT_EQ(store.memory.base, 4);
  EXPECT_EQ(store.memory.displacement, 8);
  EXPECT_EQ(store.written, 8);
  EXPECT_EQ(store.changed, 0);
  const Move part = move_of({0x89, 0x4c, 0x24, 0x08});  // mov [rsp+8], ecx
  EXPECT_EQ(part.what, What::other);
  EXPECT_EQ(part.memory.displacement, 8);
  EXPECT_EQ(part.written, 4);
  EXPECT_EQ(move_of({0x0f, 0x11, 0x45, 0xf0}).written, 16);       // movups [rbp-16], xmm0
  EXPECT_EQ(move_of({0x48, 0x83, 0x45, 0xf8, 0x01}).written, 8);  // add qword [rbp-8], 1
  EXPECT_EQ(move_of({0x48, 0x39, 0x45, 0xf8}).written, 0);        // cmp [rbp-8], rax
  EXPECT_EQ(move_of({0x48, 0x8b, 0x45, 0xf8}).written, 0);        // mov rax, [rbp-8]
}

TEST(Moves, OfAPartOrByArithmeticOnlyChange) {
  EXPECT_EQ(move_of({0x8b, 0x07}).what, What::other);  // mov eax, [rdi]
  EXPECT_EQ(move_of({0x8b, 0x07}).changed, 1);         //
  const Move sum = move_of({0x48, 0x01, 0xd8});        // add rax, rbx
  EXPECT_EQ(sum.what, What::sum);
  EXPECT_EQ(sum.to, 0);
  EXPECT_EQ(sum.from, 3);
  EXPECT_EQ(move_of({0x01, 0xd8}).what, What::other);      // add eax, ebx
  EXPECT_EQ(move_of({0x48, 0x01, 0xd8}).changed, 1);       // add rax, rbx
  EXPECT_EQ(move_of({0x48, 0x39, 0xd8}).changed, 0);       // cmp rax, rbx
  EXPECT_EQ(move_of({0x48, 0x89, 0x07}).changed, 0);       // mov [rdi], rax
  EXPECT_EQ(move_of({0x5b}).changed, 1 << 3 | 1 << 4);     // pop rbx
  EXPECT_EQ(move_of({0xe8, 0, 0, 0, 0}).changed, 0x0fc7);  // call: all that are not preserved
}

TEST(Pointers, AreOfIndirectNearCallsAndJumps) {
  const auto pointer = [](const Bytes& bytes) { return decode_pointer(bytes, kIp); };
  EXPECT_EQ(pointer({0xff, 0xd0})->in, 0);                                       // call rax
  EXPECT_EQ(pointer({0x41, 0xff, 0xe7})->in, 15);                                // jmp r15
  EXPECT_EQ(pointer({0xff, 0x50, 0x18})->memory.displacement, 0x18);             // call [rax+0x18]
  EXPECT_EQ(pointer({0xff, 0x25, 0xfa, 0x0f, 0, 0})->memory.address, 0x402000);  // jmp [rip+...]
  EXPECT_FALSE(pointer({0xe8, 0, 0, 0, 0}));                                     // call direct
  EXPECT_FALSE(pointer({0xc3}));                                                 // ret
  EXPECT_FALSE(pointer({0xff, 0x18}));                                           // call far [rax]
  EXPECT_FALSE(pointer({0xff}));                                                 // cut off
}

}  // namespace
}  // namespace hodo::isa
