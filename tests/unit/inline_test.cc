// The unit driven without blocks: somebody else works out the outcomes and writes the frequent
// packets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "hodo/unit/inline_pt.h"
#include "rig.h"

namespace hodo::unit {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// Outcomes as an engine holds them: "TNT" under a stop bit.
std::uint64_t held(const std::string& outcomes) {
  std::uint64_t bits = InlinePt::kNoOutcomes;
  for (const char outcome : outcomes) bits = bits << 1 | (outcome == 'T' ? 1 : 0);
  return bits;
}

TEST(PtUnitWithoutBlocks, WritesWhatBlocksWouldHaveMade) {
  const Block head = cond(0x1000, 0x1000);
  const Block next = jmp(0x1010, 0x1000);
  const Block call_out = syscall(0x1010);
  Rig by_blocks;
  by_blocks.enter(head).enter(head).enter(next).enter(head).enter(call_out);
  by_blocks.unit.leave_context();
  by_blocks.enter(other(0x1020));

  Rig without;
  without.unit.enter_at(0x1000);
  without.unit.leave_after(held("TNN"));
  without.unit.enter_at(0x1020);
  EXPECT_THAT(without.text(), ElementsAreArray(by_blocks.text()));
}

TEST(PtUnitWithoutBlocks, WritesAnyNumberOfOutcomes) {
  for (unsigned count = 0; count <= 47; ++count) {
    std::string outcomes;
    for (unsigned i = 0; i < count; ++i) outcomes += i % 3 == 0 ? 'T' : 'N';
    Rig rig;
    rig.unit.enter_at(0x1000);
    rig.unit.flush_at(held(outcomes), 0x1000);
    std::string read;
    for (const pt::Packet& packet : rig.packets()) {
      if (packet.type != pt::PacketType::tnt) continue;
      for (unsigned i = packet.count; i-- > 0;) read += packet.payload >> i & 1 ? 'T' : 'N';
    }
    EXPECT_EQ(read, outcomes);
  }
}

TEST(PtUnitWithoutBlocks, InterruptSaysWhereItStood) {
  Rig rig;
  rig.unit.enter_at(0x1000);
  rig.unit.interrupt_after(held("T"), 0x1008);
  EXPECT_THAT(rig.text(),
              ElementsAre("TIP.PGE 0x1000", "TNT T (1)", "FUP 0x1008", "TIP.PGD no ip"));
}

TEST(PtUnitWithoutBlocks, ForgetsCallsAtASystemCall) {
  Rig rig;
  rig.unit.enter_at(0x1000);
  const std::uint64_t before = rig.unit.calls_forgotten();
  rig.unit.flush_at(held("T"), 0x1000);
  EXPECT_EQ(rig.unit.calls_forgotten(), before);
  rig.unit.leave_after(held(""));
  EXPECT_NE(rig.unit.calls_forgotten(), before);
}

// In front of a branch whose target is younger than the last time in the stream.
TEST(PtUnitWithoutBlocks, SaysThatTimeHasPassed) {
  Rig rig(hw::rtit_ctl::kTscEn);
  rig.unit.enter_at(0x1000);
  const std::size_t before = rig.text().size();
  rig.unit.pass_time(held("T"));
  rig.unit.branch_after(held(""), 0x2000);
  std::vector<std::string> text = rig.text();
  text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(text, ElementsAre("TNT T (1)", testing::StartsWith("TSC"), "TIP 0x2000"));
}

// The engine goes on writing inline while there is no room; none of that may reach the stream.
TEST(PtUnitWithoutBlocks, TakesBackWhatWasWrittenWithoutRoom) {
  Rig rig(kPlain, 4096);
  rig.draining = false;
  rig.unit.enter_at(0x1000);
  while (rig.unit.overflows() == 0)
    rig.unit.flush_at(held("TNTNTNTNTNTNTNTNTNTNTNTNTNTNTNTNTNTNTNTNTNT"), 0x1000);
  const std::uint64_t written = rig.unit.written();
  for (int i = 0; i < 1000; ++i) rig.unit.flush_at(held("TTTTTTTTTTTTTTT"), 0x1000);
  EXPECT_EQ(rig.unit.written(), written);
  rig.draining = true;
  rig.unit.flush_at(held("T"), 0x1234);
  EXPECT_THAT(rig.text(), testing::Contains("OVF"));
}

}  // namespace
}  // namespace hodo::unit
