// BTS records in a DS area in memory: by the registers, the threshold and a handler that may be
// late.
#include "hodo/unit/bts_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ds_memory.h"
#include "hodo/unit/branch_walk.h"
#include "rig.h"

namespace hodo::unit {
namespace {

using hw::BtsRecord;
using hw::DsLayout;
using ::testing::ElementsAre;

constexpr std::uint64_t kPredicted = hw::bts_flags::kPredicted;

// A unit, a buffer of a few records and the handler of its interrupt.
class BtsRig {
 public:
  explicit BtsRig(unsigned records, DsLayout layout = DsLayout::bits64, unsigned threshold = 0) {
    const std::size_t size = hw::bts_record_bytes(layout);
    const std::uint64_t buffer = *memory.allocate(records * size);
    control = {.ds_area = *memory.allocate(hw::ds_area_bytes(layout)),
               .memory = &memory,
               .layout = layout,
               .interrupts = threshold != 0,
               .interrupt = [](void* rig) { static_cast<BtsRig*>(rig)->interrupted(); },
               .owner = this};
    memory.set_area(control.ds_area,
                    {.bts = {.base = buffer,
                             .index = buffer,
                             .maximum = buffer + records * size,
                             .threshold = buffer + threshold * size}},
                    layout);
  }

  void start() { unit.start(control); }
  // A branch n -> 0x1000 + n of user code.
  void run(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t n = first; n <= last; ++n) unit.branch({.from = n, .to = 0x1000 + n});
  }
  hw::DsArea area() { return memory.area(control.ds_area, control.layout); }
  // Records between base and index.
  unsigned used() {
    return static_cast<unsigned>(area().bts.used() / hw::bts_record_bytes(control.layout));
  }
  // The sources of all records that the buffer has room for, in order of address.
  std::vector<std::uint64_t> froms() {
    std::vector<std::uint64_t> out;
    const auto bts = area().bts;
    ByteReader in(memory.at(bts.base, bts.maximum - bts.base));
    while (auto record = read_bts_record(in, control.layout)) out.push_back(record->from);
    return out;
  }
  void reset_index() {
    hw::DsArea a = area();
    a.bts.index = a.bts.base;
    memory.set_area(control.ds_area, a, control.layout);
  }

  FakeMemory memory;
  BtsControl control;
  BtsUnit unit;
  unsigned interrupts = 0;
  std::function<void()> handler;

 private:
  void interrupted() {
    ++interrupts;
    if (handler) handler();
  }
};

TEST(BtsUnit, WritesRecordsAtTheIndexAndMovesIt) {
  BtsRig rig(4);
  rig.start();
  rig.unit.branch({.from = 0x401000, .to = 0x402000});
  rig.unit.branch({.from = 0x402008, .to = 0x401002, .mispredicted = true});
  ByteReader in(rig.memory.at(rig.area().bts.base, 48));
  EXPECT_EQ(read_bts_record(in, DsLayout::bits64), (BtsRecord{0x401000, 0x402000, kPredicted}));
  EXPECT_EQ(read_bts_record(in, DsLayout::bits64), (BtsRecord{0x402008, 0x401002, 0}));
  EXPECT_EQ(rig.used(), 2);
}

TEST(BtsUnit, IsCircularWithoutBtint) {
  BtsRig rig(3);
  rig.start();
  rig.run(1, 3);
  EXPECT_EQ(rig.used(), 0) << "the index wraps when the last record is written";
  rig.run(4, 4);
  EXPECT_THAT(rig.froms(), ElementsAre(4, 2, 3));
  EXPECT_EQ(rig.used(), 1);
  EXPECT_EQ(rig.unit.dropped(), 0);
}

TEST(BtsUnit, LeavesTheOldestRecordAloneUntilItsPlaceIsNeeded) {
  BtsRig rig(2);
  rig.start();
  rig.run(1, 2);
  const Block branch = cond(0x401000, 0x402000);
  rig.unit.take(branch, branch.end(), 0);
  EXPECT_THAT(rig.froms(), ElementsAre(1, 2));
}

TEST(BtsUnit, InterruptsAtTheThreshold) {
  BtsRig rig(4, DsLayout::bits64, 3);
  rig.handler = [&] {
    EXPECT_EQ(rig.used(), 3);
    rig.reset_index();
  };
  rig.start();
  rig.run(1, 2);
  EXPECT_EQ(rig.interrupts, 0);
  rig.run(3, 8);
  EXPECT_EQ(rig.interrupts, 2);
  EXPECT_EQ(rig.used(), 2);
  EXPECT_THAT(rig.froms(), ElementsAre(7, 8, 6, 0));
}

TEST(BtsUnit, DropsAndCountsWhatALateHandlerLeavesNoRoomFor) {
  BtsRig rig(4, DsLayout::bits64, 3);
  rig.start();
  rig.run(1, 10);
  EXPECT_EQ(rig.used(), 4);
  EXPECT_THAT(rig.froms(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(rig.unit.dropped(), 6);
  EXPECT_EQ(rig.interrupts, 8) << "asked for at the threshold and by every branch beyond it";
  rig.reset_index();  // late, and without stopping the unit
  rig.run(11, 12);
  EXPECT_EQ(rig.used(), 2);
  EXPECT_THAT(rig.froms(), ElementsAre(11, 12, 3, 4));
  EXPECT_EQ(rig.unit.dropped(), 6);
}

TEST(BtsUnit, BranchesThatFallThroughAskForNoInterrupt) {
  BtsRig rig(4, DsLayout::bits64, 2);
  rig.start();
  rig.run(1, 2);
  const Block branch = cond(0x401000, 0x402000);
  rig.unit.take(branch, branch.end(), 0);
  EXPECT_EQ(rig.interrupts, 1);
  EXPECT_EQ(rig.used(), 2);
}

TEST(BtsUnit, HandlerMayStopTheUnit) {
  BtsRig rig(4, DsLayout::bits64, 2);
  rig.handler = [&] { rig.unit.stop(); };
  rig.start();
  rig.run(1, 10);
  EXPECT_EQ(rig.used(), 2);
  EXPECT_EQ(rig.interrupts, 1);
  EXPECT_FALSE(rig.unit.recording());
}

// 12-byte records, 4-byte fields; from | to | flags.
TEST(BtsUnit, WritesTheNarrowLayout) {
  BtsRig rig(2, DsLayout::bits32);
  rig.start();
  rig.unit.branch({.from = 0x8048000, .to = 0x8049000});
  const auto bytes = rig.memory.at(rig.area().bts.base, 12);
  EXPECT_THAT(bytes, ElementsAre(0, 0x80, 4, 8, 0, 0x90, 4, 8, 0x10, 0, 0, 0));
  rig.run(2, 3);
  EXPECT_THAT(rig.froms(), ElementsAre(3, 2));
}

TEST(BtsUnit, TakesBlocksInTheNarrowLayout) {
  BtsRig rig(2, DsLayout::bits32);
  rig.start();
  const Block jump = jmp(0x401000, 0x402000);
  const Block plain = other(0x402000);
  rig.unit.take(jump, 0x402000, 1);
  rig.unit.take(plain, plain.end(), 1);
  EXPECT_EQ(rig.used(), 1);
}

TEST(BtsUnit, QualifiesByTheLevelThatExecutesTheBranch) {
  BtsRig user(8);
  user.control.skip_os = true;
  user.start();
  user.unit.branch({.from = 1, .to = 2, .from_cpl = 3, .to_cpl = 0});  // SYSCALL
  user.unit.branch({.from = 3, .to = 4, .from_cpl = 0, .to_cpl = 0});
  user.unit.branch({.from = 5, .to = 6, .from_cpl = 0, .to_cpl = 3});  // SYSRET
  user.unit.branch({.from = 7, .to = 8});
  EXPECT_THAT(user.froms(), ElementsAre(1, 7, 0, 0, 0, 0, 0, 0));

  BtsRig os(8);
  os.control.skip_user = true;
  os.start();
  const Block jump = jmp(0x401000, 0x402000);
  os.unit.take(jump, 0x402000, 1);
  os.unit.branch({.from = 1, .to = 2, .from_cpl = 3, .to_cpl = 0});
  os.unit.branch({.from = 3, .to = 4, .from_cpl = 0, .to_cpl = 0});
  EXPECT_THAT(os.froms(), ElementsAre(3, 0, 0, 0, 0, 0, 0, 0));
}

TEST(BtsUnit, WritesNothingWithoutASoundArea) {
  BtsRig rig(2);
  hw::DsArea area = rig.area();
  const hw::DsArea good = area;
  area.bts.maximum = area.bts.base + 23;  // one byte short of a record
  rig.memory.set_area(rig.control.ds_area, area);
  rig.start();
  rig.run(1, 3);
  EXPECT_EQ(rig.unit.dropped(), 3);

  area = good;
  area.bts.index += 8;  // between two records
  rig.memory.set_area(rig.control.ds_area, area);
  rig.run(4, 4);
  EXPECT_EQ(rig.unit.dropped(), 4);

  area = good;
  area.bts.maximum = area.bts.base + 72;  // more than is mapped
  rig.memory.set_area(rig.control.ds_area, area);
  rig.run(5, 5);
  EXPECT_EQ(rig.unit.dropped(), 5);

  rig.memory.set_area(rig.control.ds_area, good);
  rig.run(6, 6);
  EXPECT_THAT(rig.froms(), ElementsAre(6, 0));
  EXPECT_EQ(rig.unit.dropped(), 5);

  rig.control.ds_area = 1;  // nothing is mapped there
  rig.start();
  rig.run(7, 7);
  EXPECT_EQ(rig.unit.dropped(), 6);
}

TEST(BtsUnit, BringsTheIndexUpToDateWhenItIsDrainedAndWhenItStops) {
  BtsRig rig(16, DsLayout::bits64, 16);
  rig.start();
  const Block branch = jmp(0x401000, 0x402000);
  rig.unit.take(branch, branch.taken, 1);
  rig.unit.drain();
  EXPECT_EQ(rig.used(), 1);
  rig.unit.take(branch, branch.taken, 1);
  rig.unit.stop();
  EXPECT_EQ(rig.used(), 2);
}

// What it leaves after each record is the digest of all that it has put into the buffer.
TEST(BtsUnit, LeavesTheDigestOfItsRecords) {
  constexpr std::uint64_t kKey = 42;
  for (const bool late : {false, true}) {
    BtsRig rig(4, DsLayout::bits64, 3);
    std::uint64_t left = 0;
    rig.control.remains = &left;
    rig.control.key = kKey;
    RecordDigest expected(kKey);
    std::uint64_t place = 0;
    const auto expect = [&](const BtsRecord& record) {
      expected.add(place, record.from, record.to, record.flags);
      place += sizeof(record);
    };
    if (!late) rig.handler = [&] { rig.reset_index(); };
    rig.start();
    const Block branch = cond(0x401000, 0x402000);
    for (std::uint64_t n = 1; n <= 20; ++n) {
      const std::uint64_t dropped = rig.unit.dropped();
      rig.unit.take(branch, branch.end(), 0);
      if (n % 2 == 0) {
        rig.run(n, n);
        if (rig.unit.dropped() == dropped) expect({n, 0x1000 + n, kPredicted});
      } else {
        rig.unit.take(branch, branch.taken, 1);
        if (rig.unit.dropped() == dropped) expect({branch.source(), branch.taken, kPredicted});
      }
      ASSERT_EQ(left, expected.value()) << n << " " << late;
      ASSERT_EQ(rig.unit.digest(), expected.value()) << n << " " << late;
      if (n == 10) rig.unit.reload();
      if (n == 15) rig.reset_index();
    }
    EXPECT_EQ(rig.unit.dropped() != 0, late);
    rig.unit.stop();
    rig.run(1, 2);
    EXPECT_EQ(rig.unit.digest(), expected.value());
  }
}

// Of some records, each changed as somebody might who does not know the key.
TEST(RecordDigest, TellsRecordsApart) {
  using Records = std::vector<BtsRecord>;
  const auto digest = [](const Records& records, std::uint64_t key = 1) {
    RecordDigest out(key);
    std::uint64_t place = 0;
    for (const BtsRecord& r : records) out.add(place, r.from, r.to, r.flags), place += sizeof(r);
    return out.value();
  };
  const Records records = {{1, 2, 16}, {3, 4, 16}, {5, 6, 0}, {1, 2, 16}, {7, 2, 0}};
  std::vector<Records> others;
  const auto other = [&](auto change) { change(others.emplace_back(records)); };
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (unsigned bit = 0; bit < 64; ++bit) {
      const std::uint64_t flip = 1ULL << bit;
      other([=](Records& all) { all[i].from ^= flip; });
      other([=](Records& all) { all[i].to ^= flip; });
      other([=](Records& all) { all[i].flags ^= flip; });
      other([=](Records& all) { all[i].from ^= flip, all[i].to ^= flip; });
      other([=](Records& all) { all[i].from += flip, all[i].to -= flip; });
      // The flags, and what may undo that in the address.
      for (const std::uint64_t flag : {1, 16}) {
        other([=](Records& all) { all[i].flags ^= flag, all[i].to ^= flip; });
      }
      other([=](Records& all) { all[0].to += flip, all[i].to -= i != 0 ? flip : 0; });
    }
    other([=](Records& all) { std::swap(all[i].from, all[i].to); });
    other([=](Records& all) { all.erase(all.begin() + static_cast<long>(i)); });
    other([=](Records& all) { all.insert(all.begin() + static_cast<long>(i), BtsRecord()); });
    for (std::size_t k = 0; k < i; ++k) {
      if (records[i] == records[k]) continue;
      other([=](Records& all) { std::swap(all[i], all[k]); });
      other([=](Records& all) { all[i] = all[k]; });
    }
  }
  for (const Records& changed : others) EXPECT_NE(digest(changed), digest(records));
  EXPECT_NE(digest(records, 2), digest(records));
  EXPECT_NE(digest({}, 2), digest({}));
}

// The same walk as PtUnit would see: blocks in, taken branches out.
TEST(BranchWalk, RecordsEveryTakenBranchOfBlocks) {
  BtsRig rig(16);
  rig.start();
  BranchWalk<BtsUnit> walk;
  walk.unit.start(rig.control);
  walk.start({});
  const Block a = cond(0x401000, 0x403000);
  const Block b = call(0x401010, 0x402000);
  const Block f = ret(0x402000);
  const Block c = other(0x401020);
  const Block d = syscall(0x401030);
  const Block e = jmp(0x403000, 0x401010);
  for (const Block* block : {&a, &b, &f, &c, &d}) walk.enter(block);
  walk.leave_context();
  walk.enter(&a);
  walk.enter(&e);
  walk.interrupt(0x401010, false);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen;
  ByteReader in(rig.memory.at(rig.area().bts.base, rig.area().bts.used()));
  while (auto record = read_bts_record(in, DsLayout::bits64)) {
    seen.emplace_back(record->from, record->to);
  }
  using P = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_THAT(seen, ElementsAre(P{0, 0x401000}, P{b.source(), 0x402000}, P{f.source(), 0x401020},
                                P{d.source(), 0}, P{0, 0x401000}, P{a.source(), 0x403000},
                                P{e.source(), 0x401010}, P{0x401010, 0}));
  EXPECT_EQ(walk.unexplained(), 0);
}

}  // namespace
}  // namespace hodo::unit
