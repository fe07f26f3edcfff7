#include "hodo/isa/disasm.h"

#include <gtest/gtest.h>

#include <vector>

namespace hodo::isa {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(Disassemble, ShowsAbsoluteTargets) {
  EXPECT_EQ(disassemble(Bytes{0x75, 0x10}, 0x401000, Mode::bits64), "jnz 0x0000000000401012");
  EXPECT_EQ(disassemble(Bytes{0xe8, 0, 0, 0, 0}, 0x8048000, Mode::bits32), "call 0x08048005");
}

TEST(Disassemble, ShowsOperandsInIntelSyntax) {
  EXPECT_EQ(disassemble(Bytes{0x48, 0x89, 0xe5}, 0, Mode::bits64), "mov rbp, rsp");
}

TEST(Disassemble, SaysSoWhereThereIsNoInstruction) {
  EXPECT_EQ(disassemble(Bytes{0x06}, 0, Mode::bits64), "(bad)");
  EXPECT_EQ(disassemble(Bytes{0xe8, 0}, 0, Mode::bits64), "(bad)");
  EXPECT_EQ(disassemble({}, 0, Mode::bits64), "(bad)");
}

}  // namespace
}  // namespace hodo::isa
