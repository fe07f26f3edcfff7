// Branch trace store and branch stacks in place of Intel PT.
#include <cstring>

#include "perf_event_fixture.h"

namespace hodo::capture {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 24 bytes each: from, to, flags.
ByteVector bts_records(std::uint64_t first, std::size_t count) {
  ByteVector out;
  for (std::uint64_t i = first; i < first + count; ++i) {
    for (const std::uint64_t v : {0x401000 + i, 0x402000 + i, std::uint64_t{16}}) append(out, v);
  }
  return out;
}

TEST_F(SourceTest, BtsComesFromThePmuOfThatName) {
  system.add_pmu("intel_bts", {{"type", "12"}});
  options.source = SourceKind::bts;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    cpu.trace(bts_records(0, 3));
    cpu.trace(bts_records(3, 2));
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_EQ(result.trace_bytes, 5u * 24);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(kernel.opened[0].attr.type, 12u);
  EXPECT_THAT(kernel.filters, IsEmpty());

  const auto reader = perfdata::Reader::open(options.output).value();
  const auto session = perfdata::Model::load(reader).value();
  EXPECT_EQ(session.trace(), perfdata::TraceKind::intel_bts);
  EXPECT_EQ(session.pt().pmu_type, 12u);
  ASSERT_THAT(session.queues(), SizeIs(1));
  ByteVector found;
  for (const auto& piece : session.queues()[0].pieces) {
    EXPECT_FALSE(piece.gap_before) << "the null record behind a piece is no data";
    ByteVector bytes(piece.size);
    EXPECT_TRUE(reader.read(piece.file_offset, bytes));
    found.insert(found.end(), bytes.begin(), bytes.end());
  }
  found.resize(std::min<std::size_t>(found.size(), 5 * 24));
  EXPECT_EQ(found, bts_records(0, 5));
  EXPECT_THAT(session.queues()[0].handovers, SizeIs(2));
  EXPECT_EQ(session.queues()[0].handovers[1].aux_size, 2u * 24);
}

TEST_F(SourceTest, BtsSnapshotsKeepTheNewestRecords) {
  system.add_pmu("intel_bts", {{"type", "12"}});
  options.source = SourceKind::bts;
  options.snapshot = true;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    for (int i = 0; i < 100; ++i) cpu.overwrite(bts_records(100 * i, 100));
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(kernel.aux_writable, Each(false));
  EXPECT_GT(result.trace_bytes, 60u * kKiB);
  EXPECT_LE(result.trace_bytes, 64u * kKiB);
}

TEST_F(SourceTest, WithoutBtsTheReasonIsGiven) {
  options.source = SourceKind::bts;
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("BTS_UNAVAILABLE"));
  EXPECT_THAT(kernel.opened, IsEmpty());
}

TEST_F(SourceTest, BranchStacksNeedNoAuxArea) {
  options.source = SourceKind::lbr;
  options.sample_period = 500;
  options.level = Level::both;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    cpu.sample({{0x401010, 0x401000, 2}, {0x401020, 0x401010, 1}});
    cpu.sample({{0x401030, 0x401000, 2}});
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(kernel.aux_sizes, IsEmpty());
  EXPECT_EQ(kernel.opened[0].attr.sample_period, 500u);
  EXPECT_EQ(kernel.opened[0].attr.exclude_kernel, 0u);
  EXPECT_GT(result.trace_bytes, 0u);

  const auto reader = perfdata::Reader::open(options.output).value();
  const auto session = perfdata::Model::load(reader).value();
  EXPECT_EQ(session.trace(), perfdata::TraceKind::branch_stacks);
  EXPECT_EQ(session.branch_stacks(), 2u);
  perfdata::BranchStacks stacks(reader);
  const auto first = stacks.next();
  ASSERT_TRUE(first);
  ASSERT_EQ(first->branches.size(), 2u);
  EXPECT_EQ(first->branches[1].from, 0x401020u);
  EXPECT_TRUE(first->branches[1].mispredicted());
}

TEST_F(SourceTest, ASnapshotOfBranchStacksKeepsTheNewestSamples) {
  options.source = SourceKind::lbr;
  options.snapshot = true;
  options.buffer_size = 8 * kKiB;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    for (std::uint64_t i = 1; i <= 1000; ++i) cpu.sample({{i, i, 2}});
    touch("done");
  };
  record();
  const auto reader = perfdata::Reader::open(options.output).value();
  perfdata::BranchStacks stacks(reader);
  std::vector<std::uint64_t> kept;
  while (const auto sample = stacks.next()) kept.push_back(sample->branches[0].from);
  // A sample has 80 bytes: header 8, id to cpu 40, the number 8, an entry 24.
  ASSERT_THAT(kept, SizeIs(8 * kKiB / 80));
  EXPECT_EQ(kept.back(), 1000u);
  EXPECT_EQ(kept.front(), 1000u - kept.size() + 1);
}

TEST_F(SourceTest, WithoutLbrTheReasonIsGiven) {
  options.source = SourceKind::lbr;
  kernel.refuse = [](const auto&) { return EOPNOTSUPP; };
  EXPECT_THAT(refusal().message, HasSubstr("last branches (LBR)"));
}

}  // namespace
}  // namespace hodo::capture
