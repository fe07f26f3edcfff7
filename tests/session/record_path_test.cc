#include "records/record_path.h"

#include <gmock/gmock.h>

#include <sstream>

#include "code_fixture.h"
#include "records/bts_records.h"

namespace hodo::session {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "cond 1001>1008 2 mispredicted": kind, from>to, instructions, flags.
std::string text_of(const Branch& branch) {
  std::ostringstream out;
  out << name(branch.kind) << ' ' << std::hex << branch.from << '>' << branch.to << std::dec << ' '
      << branch.insns;
  if ((branch.flags & kNotTaken) != 0) out << " not_taken";
  if ((branch.flags & kAsync) != 0) out << " async";
  if ((branch.flags & kTraceEnd) != 0) out << " end";
  if ((branch.flags & kMispredicted) != 0) out << " mispredicted";
  if ((branch.flags & kResync) != 0) out << " resync";
  return out.str();
}

class Path : public ::testing::Test, public BranchSink {
 protected:
  void SetUp() override { code_.at(0x1000, kSample); }

  bool branches(const Context&, std::span<const Branch> batch) override {
    for (const Branch& branch : batch) listed_.push_back(text_of(branch));
    return true;
  }

  void begin(bool want_not_taken = false) {
    path_ = std::make_unique<RecordPath>(
        *this, stats_, losses_,
        [](const Context&, const flow::Loss&) { return std::optional<Explanation>(); },
        want_not_taken);
    executing_.code = &code_.source();
    path_->enter(executing_);
  }
  // Adds the records and gives the branches that come of them.
  std::vector<std::string> list(const std::vector<RecordedBranch>& records) {
    if (!path_) begin();
    for (const RecordedBranch& record : records) path_->add(record);
    path_->finish();
    return std::exchange(listed_, {});
  }

  Code code_;
  Executing executing_;
  flow::Stats stats_;
  LossTally losses_;
  std::unique_ptr<RecordPath> path_;
  std::vector<std::string> listed_;
};

TEST_F(Path, KindsAndInstructionsComeFromTheCode) {
  EXPECT_THAT(
      list({{.to = 0x1000},
            {.from = 0x1003, .to = 0x1010},
            {.from = 0x1010, .to = 0x1008},
            {.from = 0x1008, .to = 0},
            {.to = 0x100a},
            {.from = 0x100a, .to = 0x1000},
            {.from = 0x1001, .to = 0x1008, .flags = kMispredicted}}),
      ElementsAre("begin 0>1000 0", "call 1003>1010 3", "ret 1010>1008 1", "syscall 1008>0 1 end",
                  "begin 0>100a 0", "jmp 100a>1000 1", "cond 1001>1008 2 mispredicted"));
  EXPECT_EQ(stats_.instructions, 8u);
  EXPECT_EQ(stats_.not_taken, 1u);
  EXPECT_EQ(stats_.branches[static_cast<std::size_t>(BranchKind::cond)], 1u);
  EXPECT_THAT(losses_.lines(), IsEmpty());
}

TEST_F(Path, ASourceOutOfReachIsAGap) {
  EXPECT_THAT(list({{.from = 0x100a, .to = 0x1000}, {.from = 0x1010, .to = 0x1008}}),
              ElementsAre("jmp 100a>1000 1", "lost 1000>1010 0 resync", "ret 1010>1008 1"));
  ASSERT_EQ(losses_.lines().size(), 1u);
  EXPECT_EQ(losses_.lines()[0].cause, causes::kGap);
  EXPECT_EQ(losses_.lines()[0].count, 1u);
}

TEST_F(Path, EveryGapCountsButOnlyTheFirstIsTold) {
  std::vector<RecordedBranch> records;
  for (int i = 0; i < 5; ++i) {
    records.push_back({.from = 0x100a, .to = 0x1000});
    records.push_back({.from = 0x1010, .to = 0x100a});
  }
  list(records);
  ASSERT_EQ(losses_.lines().size(), 1u);
  EXPECT_EQ(losses_.lines()[0].count, 5u);
  EXPECT_EQ(losses_.lines()[0].sites.size(), 1u);
  EXPECT_EQ(stats_.total_losses(), 5u);
}

TEST_F(Path, AnEventTakesControlBeforeTheInstructionRuns) {
  // At a nop, at a direct jump that does not go there, and out of the trace.
  EXPECT_THAT(list({{.to = 0x1000},
                    {.from = 0x1000, .to = 0x1010},
                    {.from = 0x1010, .to = 0x100a},
                    {.from = 0x100a, .to = 0x1010},
                    {.from = 0x1010, .to = 0x1001},
                    {.from = 0x1003, .to = 0}}),
              ElementsAre("begin 0>1000 0", "irq 1000>1010 0 async", "ret 1010>100a 1",
                          "irq 100a>1010 0 async", "ret 1010>1001 1", "end 1003>0 1 async end"));
}

// A record of leaving the program at a return: a signal came before it ran.
TEST_F(Path, ASignalMayComeBeforeAReturn) {
  EXPECT_THAT(list({{.to = 0x1010}, {.from = 0x1010, .to = 0}, {.to = 0x1000}}),
              ElementsAre("begin 0>1010 0", "end 1010>0 0 async end", "begin 0>1000 0"));
  EXPECT_EQ(stats_.instructions, 0u);
  EXPECT_EQ(stats_.branches[static_cast<std::size_t>(BranchKind::ret)], 0u);
}

// Unless the fault of fetching code at address 0 follows. The record is the last of a batch, too.
TEST_F(Path, AReturnToAddressZeroIsKnownByItsFault) {
  for (const std::size_t before : {0u, 1u, 1022u, 1023u, 1024u}) {
    std::vector<RecordedBranch> records(before, {.from = 0x100a, .to = 0x1008});
    records.insert(records.end(), {{.from = 0x1010, .to = 0}, {.from = 0, .to = 0}});
    executing_.joins = false;
    begin();
    const auto listed = list(records);
    ASSERT_EQ(listed.size(), before + 1) << before;
    EXPECT_EQ(listed.back(), "ret 1010>0 1 end") << before;
  }
}

TEST_F(Path, AFetchThatFaultsIsAnEventAndNoLoss) {
  EXPECT_THAT(list({{.from = 0x1010, .to = 0x7000}, {.from = 0x7000, .to = 0}}),
              ElementsAre("ret 1010>7000 1", "end 7000>0 0 async end"));
  EXPECT_THAT(losses_.lines(), IsEmpty());
}

TEST_F(Path, WithoutCodeTheBranchIsStillThere) {
  EXPECT_THAT(list({{.from = 0x7000, .to = 0x8000}, {.from = 0x8010, .to = 0x1000}}),
              ElementsAre("unknown 7000>8000 0", "unknown 8010>1000 0"));
  ASSERT_EQ(losses_.lines().size(), 1u);
  EXPECT_EQ(losses_.lines()[0].cause, "no-code");
  EXPECT_EQ(losses_.lines()[0].count, 2u);
}

TEST_F(Path, ARecordThatSaysItsKindIsBelieved) {
  EXPECT_THAT(list({{.from = 0x1000, .to = 0x1010, .kind = BranchKind::exc},
                    {.from = 0x1010, .to = 0x1008, .kind = BranchKind::abort}}),
              ElementsAre("exc 1000>1010 0 async", "abort 1010>1008 1"));
}

TEST_F(Path, BranchesNotTakenAreListedIfWanted) {
  begin(true);
  EXPECT_THAT(list({{.to = 0x1000}, {.from = 0x1003, .to = 0x1010}}),
              ElementsAre("begin 0>1000 0", "cond 1001>1003 2 not_taken", "call 1003>1010 1"));
  EXPECT_EQ(stats_.instructions, 3u);
  EXPECT_EQ(stats_.not_taken, 1u);
  EXPECT_EQ(stats_.branches[static_cast<std::size_t>(BranchKind::cond)], 0u);
}

TEST_F(Path, NothingJoinsAfterARestart) {
  begin();
  path_->add({.from = 0x100a, .to = 0x1000});
  path_->restart(0x1010);
  EXPECT_THAT(list({{.from = 0x1010, .to = 0x1008}}),
              ElementsAre("jmp 100a>1000 1", "begin 0>1010 0 resync", "ret 1010>1008 1"));
  EXPECT_THAT(losses_.lines(), IsEmpty());
}

TEST_F(Path, NothingJoinsWhereOnlySomeBranchesAreRecorded) {
  executing_.joins = false;
  EXPECT_THAT(
      list({{.from = 0x100a, .to = 0x1000},
            {.from = 0x1010, .to = 0x1008},
            {.from = 0x100a, .to = 0x1000},
            {.from = 0x1010, .to = 0x1008}}),
      ElementsAre("jmp 100a>1000 1", "ret 1010>1008 1", "jmp 100a>1000 1", "ret 1010>1008 1"));
  EXPECT_THAT(losses_.lines(), IsEmpty());
}

TEST_F(Path, TheCodeIsThatOfTheTime) {
  code_.at(0x100a, {0xc3}, 50);
  begin();
  path_->set_time(49);
  path_->add({.from = 0x100a, .to = 0x1000});
  path_->restart();
  path_->set_time(50);
  EXPECT_THAT(list({{.from = 0x100a, .to = 0x1000}}),
              ElementsAre("jmp 100a>1000 1", "ret 100a>1000 1"));
}

// A branch stack is read some time after its branches: what they ran may have been replaced.
TEST_F(Path, ABranchThatTheCodeDoesNotHaveIsLookedForInWhatItReplaced) {
  code_.at(0x1010, {0x90}, 50);
  executing_.joins = false;
  begin();
  path_->set_time(60);
  EXPECT_THAT(list({{.from = 0x1010, .to = 0x1008}, {.from = 0x1000, .to = 0x1010}}),
              ElementsAre("ret 1010>1008 1", "irq 1000>1010 0 async"));
}

std::vector<std::uint8_t> bytes_of(const std::vector<hw::BtsRecord>& records) {
  std::vector<std::uint8_t> out(records.size() * sizeof(hw::BtsRecord));
  std::memcpy(out.data(), records.data(), out.size());
  return out;
}

TEST_F(Path, BtsRecordsMayBeCutAnywhere) {
  const auto bytes =
      bytes_of({{0, 0x1000, 16}, {0x1003, 0x1010, 16}, {0, 0, 0}, {0x1010, 0x1008, 0}});
  const auto expected =
      ElementsAre("begin 0>1000 0", "call 1003>1010 3", "ret 1010>1008 1 mispredicted");
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    begin();
    BtsRecords records(hw::DsLayout::bits64, *path_);
    records.add(std::span(bytes).first(cut), 0);
    records.add(std::span(bytes).subspan(cut), cut);
    EXPECT_EQ(records.cut(), 0u);
    EXPECT_THAT(list({}), expected) << cut;
  }
}

TEST_F(Path, ABtsRecordOneByteShortIsNoRecord) {
  const auto bytes = bytes_of({{0, 0x1000, 16}, {0x1003, 0x1010, 16}});
  begin();
  BtsRecords records(hw::DsLayout::bits64, *path_);
  records.add(std::span(bytes).first(bytes.size() - 1), 0);
  EXPECT_EQ(records.cut(), 23u);
  EXPECT_THAT(list({}), ElementsAre("begin 0>1000 0"));
}

TEST_F(Path, BtsRecordsOf32Bits) {
  const std::vector<std::uint32_t> words = {0, 0x1000, 16, 0x1003, 0x1010, 0};
  std::vector<std::uint8_t> bytes(words.size() * 4);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  begin();
  BtsRecords records(hw::DsLayout::bits32, *path_);
  records.add(bytes, 0);
  EXPECT_THAT(list({}), ElementsAre("begin 0>1000 0", "call 1003>1010 3 mispredicted"));
}

}  // namespace
}  // namespace hodo::session
