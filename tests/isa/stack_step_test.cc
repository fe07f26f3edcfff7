// What instructions do to the stack pointer, as encodings written by hand from the SDM's tables.
#include "hodo/isa/stack_step.h"

#include <gtest/gtest.h>

#include <vector>

namespace hodo::isa {
namespace {

StackStep step_of(const std::vector<std::uint8_t>& bytes, Mode mode = Mode::bits64) {
  const auto out = decode_stack_step(bytes, 0x1000, mode);
  EXPECT_TRUE(out);
  return out.value_or(StackStep{});
}

TEST(StackStep, SaysHowFarTheStackPointerMoves) {
  EXPECT_EQ(step_of({0x56}).lowers, 8);                             // push rsi
  EXPECT_EQ(step_of({0x5e}).lowers, -8);                            // pop rsi
  EXPECT_EQ(step_of({0x9c}).lowers, 8);                             // pushfq
  EXPECT_EQ(step_of({0x48, 0x83, 0xec, 0x18}).lowers, 0x18);        // sub rsp, 24
  EXPECT_EQ(step_of({0x48, 0x83, 0xc4, 0x18}).lowers, -0x18);       // add rsp, 24
  EXPECT_EQ(step_of({0x48, 0x8d, 0x64, 0x24, 0xf8}).lowers, 8);     // lea rsp, [rsp-8]
  EXPECT_EQ(step_of({0x48, 0x89, 0xe5}).lowers, 0);                 // mov rbp, rsp
  EXPECT_EQ(step_of({0xe8, 0, 0, 0, 0}).lowers, 0);                 // call
  EXPECT_EQ(step_of({0x56}, Mode::bits32).lowers, 4);               // push esi
  EXPECT_EQ(step_of({0x61}, Mode::bits32).lowers, -32);             // popa
  EXPECT_EQ(step_of({0x83, 0xec, 0x0c}, Mode::bits32).lowers, 12);  // sub esp, 12
}

TEST(StackStep, SaysWhereItDoesNotKnow) {
  EXPECT_EQ(step_of({0x5c}).lowers, std::nullopt);              // pop rsp
  EXPECT_EQ(step_of({0x48, 0x89, 0xc4}).lowers, std::nullopt);  // mov rsp, rax
  EXPECT_EQ(step_of({0x48, 0x29, 0xc4}).lowers, std::nullopt);  // sub rsp, rax
  EXPECT_EQ(step_of({0xc9}).lowers, std::nullopt);              // leave
  EXPECT_EQ(step_of({0x66, 0x56}).lowers, std::nullopt);        // push si
  EXPECT_FALSE(decode_stack_step(std::vector<std::uint8_t>{0x48}, 0, Mode::bits64));
}

TEST(StackStep, SaysWhereOnTheStackItWrites) {
  const auto place = [](const std::vector<std::uint8_t>& bytes) { return step_of(bytes).writes; };
  const auto exchanged = place({0x48, 0x87, 0x34, 0x24});  // xchg [rsp], rsi
  ASSERT_TRUE(exchanged);
  EXPECT_FALSE(exchanged->of_frame);
  EXPECT_EQ(exchanged->distance, 0);
  const auto added = place({0x48, 0x83, 0x45, 0x08, 0x08});  // add [rbp+8], 8
  ASSERT_TRUE(added);
  EXPECT_TRUE(added->of_frame);
  EXPECT_EQ(added->distance, 8);
  const auto popped = place({0x8f, 0x44, 0x24, 0x08});  // pop [rsp+8], which counts from behind
  ASSERT_TRUE(popped);
  EXPECT_EQ(popped->distance, 16);
  EXPECT_FALSE(place({0x48, 0x8b, 0x34, 0x24})) << "mov rsi, [rsp] reads";
  EXPECT_FALSE(place({0x56})) << "push";
  EXPECT_FALSE(place({0x48, 0x89, 0x34, 0xc4})) << "mov [rsp+rax*8], rsi";
  EXPECT_FALSE(place({0x48, 0x83, 0x3c, 0x24, 0})) << "cmp [rsp], 0";
}

TEST(StackStep, KnowsAFrame) {
  EXPECT_TRUE(step_of({0x48, 0x89, 0xe5}).frames);          // mov rbp, rsp
  EXPECT_TRUE(step_of({0x89, 0xe5}, Mode::bits32).frames);  // mov ebp, esp
  EXPECT_FALSE(step_of({0x48, 0x89, 0xec}).frames);         // mov rsp, rbp
}

}  // namespace
}  // namespace hodo::isa
