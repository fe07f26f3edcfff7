#include "records/straight_line.h"

#include "code_fixture.h"

namespace hodo::session {
namespace {

using End = StraightLine::End;
using isa::InsnClass;

StraightLine walk(const Code& code, std::uint64_t start, std::uint64_t source,
                  Unrecorded unrecorded = Unrecorded::nothing, std::uint64_t time = 0) {
  return walk_straight(code.source(), start, source, isa::Mode::bits64, time, unrecorded);
}

TEST(StraightLine, RunsToTheSourceOverBranchesThatFallThrough) {
  Code code;
  code.at(0x1000, kSample);
  const StraightLine line = walk(code, 0x1000, 0x1003);
  EXPECT_EQ(line.end, End::joined);
  EXPECT_EQ(line.insns, 3u);
  EXPECT_EQ(line.not_taken, 1u);
  EXPECT_EQ(line.cls, InsnClass::call);
  EXPECT_EQ(line.target, 0x1010u);
}

TEST(StraightLine, ASourceAtTheStartIsOneInstruction) {
  Code code;
  code.at(0x1000, kSample);
  const StraightLine line = walk(code, 0x1010, 0x1010);
  EXPECT_EQ(line.end, End::joined);
  EXPECT_EQ(line.insns, 1u);
  EXPECT_EQ(line.cls, InsnClass::ret);
  EXPECT_EQ(line.target, 0u);
}

TEST(StraightLine, IsApartBehindAnInstructionThatLeaves) {
  Code code;
  code.at(0x1000, kSample);
  const StraightLine line = walk(code, 0x1003, 0x1008);
  EXPECT_EQ(line.end, End::apart);
  EXPECT_EQ(line.stopped, 0x1003u);
}

TEST(StraightLine, PassesASystemCallOnlyIfThoseAreNotRecorded) {
  Code code;
  code.at(0x1000, kSample);
  EXPECT_EQ(walk(code, 0x1008, 0x100a).end, End::apart);
  const StraightLine line = walk(code, 0x1008, 0x100a, Unrecorded::system_calls);
  EXPECT_EQ(line.end, End::joined);
  EXPECT_EQ(line.insns, 2u);
}

TEST(StraightLine, IsApartWhereTheSourceLiesInsideAnInstruction) {
  Code code;
  code.at(0x1000, kSample);
  EXPECT_EQ(walk(code, 0x1000, 0x1002).end, End::apart);
  EXPECT_EQ(walk(code, 0x1001, 0x1000).end, End::apart) << "backwards";
  code.at(0x3000, {0x66, 0x90, 0x90});
  EXPECT_EQ(walk(code, 0x3000, 0x3001).end, End::apart) << "and not on to where the code ends";
}

TEST(StraightLine, SaysWhereCodeOrSenseIsMissing) {
  Code code;
  code.at(0x1000, {0x90, 0x90});
  StraightLine line = walk(code, 0x1000, 0x1008);
  EXPECT_EQ(line.end, End::no_code);
  EXPECT_EQ(line.stopped, 0x1002u);
  code.at(0x2000, {0x90, 0x06, 0x90});
  line = walk(code, 0x2000, 0x2002);
  EXPECT_EQ(line.end, End::bad_code);
  EXPECT_EQ(line.stopped, 0x2001u);
}

TEST(StraightLine, ReadsAnInstructionThatCrossesMappings) {
  Code code;
  code.at(0x1000, {0x90, 0xe8, 0x00}).at(0x1003, {0x00, 0x00, 0x00, 0xc3});
  const StraightLine line = walk(code, 0x1000, 0x1001);
  EXPECT_EQ(line.end, End::joined);
  EXPECT_EQ(line.target, 0x1006u);
  Code cut;
  cut.at(0x1000, {0x90, 0xe8, 0x00}).at(0x1003, {0x00, 0x00});
  EXPECT_EQ(walk(cut, 0x1000, 0x1001).end, End::bad_code);
}

TEST(StraightLine, HoldsForAsLongAsTheCodeOnTheWay) {
  Code code;
  code.at(0x1000, kSample).at(0x1003, {0xcc}, 50);
  const StraightLine line = walk(code, 0x1000, 0x1003, Unrecorded::nothing, 20);
  EXPECT_EQ(line.cls, InsnClass::call);
  EXPECT_EQ(line.valid_until, 50u);
  EXPECT_EQ(walk(code, 0x1000, 0x1003, Unrecorded::nothing, 50).cls, InsnClass::int_);
}

TEST(StraightLine, DoesNotWalkFurtherThanCodeRuns) {
  Code code;
  code.at(0x10000, std::vector<std::uint8_t>(kLongestLine + 2, 0x90));
  EXPECT_EQ(walk(code, 0x10000, 0x10000 + kLongestLine).end, End::joined);
  EXPECT_EQ(walk(code, 0x10000, 0x10000 + kLongestLine + 1).end, End::apart);
}

}  // namespace
}  // namespace hodo::session
