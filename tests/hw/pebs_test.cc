// PEBS records: sizes and places by Linux's structures, and every way to be cut short.
#include "hodo/hw/pebs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

namespace hodo::hw {
namespace {

namespace cfg = pebs_data_cfg;

PebsRecord full_record() {
  PebsRecord out{.event_ip = 0x401000, .counters = 1, .tsc = 0x123456789};
  out.memory = PebsMemory{.address = 0x7fff0000, .source = 0x41, .latency = 300, .tsx_tuning = 5};
  PebsRegisters& registers = out.registers.emplace();
  registers.flags = 0x246;
  registers.ip = 0x401003;
  for (unsigned n = 0; n < 16; ++n) registers.gpr[n] = 0x1000 + n;
  for (unsigned n = 0; n < 32; ++n) {
    if (n == 0) out.xmm.emplace();
    (*out.xmm)[n] = 0x2000 + n;
  }
  for (unsigned n = 0; n < 3; ++n) out.lbr.push_back({0x3000 + n, 0x4000 + n, 0x5000 + n});
  return out;
}

std::vector<std::uint8_t> written(const PebsRecord& record, const PebsFormat& format,
                                  std::uint64_t data_cfg = 0) {
  std::vector<std::uint8_t> out(pebs_record_bytes(format, data_cfg));
  write_pebs_record(record, format, data_cfg, out);
  return out;
}

std::uint64_t word(const std::vector<std::uint8_t>& bytes, std::size_t index) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * 8, 8);
  return value;
}

TEST(Pebs, FixedFormatsHaveTheSizesOfTheManual) {
  EXPECT_EQ(pebs_record_bytes({0}), 144);
  EXPECT_EQ(pebs_record_bytes({1}), 176);
  EXPECT_EQ(pebs_record_bytes({2}), 192);
  EXPECT_EQ(pebs_record_bytes({3}), 200);
  EXPECT_EQ(pebs_record_bytes({0, DsLayout::bits32}), 40);
}

// Linux struct pebs_record_skl: flags ip ax bx cx dx si di bp sp r8.. status dla dse lat real_ip
// tsx_tuning tsc.
TEST(Pebs, Format3HasItsFieldsWhereLinuxHasThem) {
  const auto bytes = written(full_record(), {3});
  EXPECT_EQ(word(bytes, 0), 0x246);
  EXPECT_EQ(word(bytes, 1), 0x401003);
  const std::uint64_t order[] = {0, 3, 1, 2, 6, 7, 5, 4};  // ax bx cx dx si di bp sp
  for (unsigned n = 0; n < 8; ++n) EXPECT_EQ(word(bytes, 2 + n), 0x1000 + order[n]);
  for (unsigned n = 8; n < 16; ++n) EXPECT_EQ(word(bytes, 2 + n), 0x1000 + n);
  EXPECT_EQ(word(bytes, 18), 1);
  EXPECT_EQ(word(bytes, 19), 0x7fff0000);
  EXPECT_EQ(word(bytes, 20), 0x41);
  EXPECT_EQ(word(bytes, 21), 300);
  EXPECT_EQ(word(bytes, 22), 0x401000);
  EXPECT_EQ(word(bytes, 23), 5);
  EXPECT_EQ(word(bytes, 24), 0x123456789);
}

// Linux struct pebs_basic, pebs_meminfo, pebs_gprs, pebs_xmm, lbr_entry, in this order.
TEST(Pebs, AdaptiveGroupsFollowTheHeader) {
  const std::uint64_t all =
      cfg::kMemory | cfg::kGprs | cfg::kXmms | cfg::kLbrs | cfg::kLbrEntries.set(0, 2);
  const auto bytes = written(full_record(), {4}, all);
  ASSERT_EQ(bytes.size(), 32 + 32 + 144 + 256 + 3 * 24);
  EXPECT_EQ(word(bytes, 0), std::uint64_t{536} << 48 | 0x0200000f);
  EXPECT_EQ(word(bytes, 1), 0x401000);
  EXPECT_EQ(word(bytes, 2), 1);
  EXPECT_EQ(word(bytes, 3), 0x123456789);
  EXPECT_EQ(word(bytes, 4), 0x7fff0000);
  EXPECT_EQ(word(bytes, 7), 5);
  EXPECT_EQ(word(bytes, 8), 0x246);
  for (unsigned n = 0; n < 16; ++n) EXPECT_EQ(word(bytes, 10 + n), 0x1000 + n);
  for (unsigned n = 0; n < 32; ++n) EXPECT_EQ(word(bytes, 26 + n), 0x2000 + n);
  EXPECT_EQ(word(bytes, 58), 0x3000);
  EXPECT_EQ(word(bytes, 59), 0x4000);
  EXPECT_EQ(word(bytes, 60), 0x5000);
  EXPECT_EQ(word(bytes, 61), 0x3001);
}

TEST(Pebs, EveryFormatGivesBackWhatItHolds) {
  const PebsRecord full = full_record();
  for (unsigned format = 0; format <= 3; ++format) {
    const auto bytes = written(full, {format});
    ByteReader in(bytes);
    const auto read = read_pebs_record(in, {format});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->registers, full.registers);
    EXPECT_EQ(read->counters, format >= 1 ? 1 : 0);
    EXPECT_EQ(read->memory.has_value(), format >= 1);
    EXPECT_EQ(read->event_ip, format >= 2 ? 0x401000 : 0);
    EXPECT_EQ(read->tsc, format >= 3 ? 0x123456789 : 0);
    EXPECT_EQ(in.remaining(), 0);
  }
  for (unsigned groups = 0; groups < 16; ++groups) {
    const std::uint64_t data_cfg = groups | cfg::kLbrEntries.set(0, 2);
    PebsRecord expected = full;
    expected.retire_latency = 77;
    if (!(groups & 1)) expected.memory.reset();
    if (!(groups & 2)) expected.registers.reset();
    if (!(groups & 4)) expected.xmm.reset();
    if (!(groups & 8)) expected.lbr.clear();
    const auto bytes = written(expected, {5}, data_cfg);
    ByteReader in(bytes);
    const auto read = read_pebs_record(in, {5});
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, expected) << groups;
  }
}

TEST(Pebs, NarrowRecordHasTenWords) {
  const auto bytes = written(full_record(), {0, DsLayout::bits32});
  ByteReader in(bytes);
  const auto read = read_pebs_record(in, {0, DsLayout::bits32});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->registers->ip, 0x401003);
  EXPECT_EQ(read->registers->gpr[4], 0x1004);
  EXPECT_EQ(read->registers->gpr[8], 0);
}

TEST(Pebs, GroupsThatAreNotKnownArePassedOver) {
  auto bytes = written(full_record(), {5}, cfg::kGprs);
  bytes.resize(bytes.size() + 16);
  const std::uint64_t head = std::uint64_t{bytes.size()} << 48 | cfg::kGprs | 1 << 4;
  std::memcpy(bytes.data(), &head, 8);
  bytes.resize(bytes.size() + 32);  // the beginning of another record
  ByteReader in(bytes);
  const auto read = read_pebs_record(in, {5});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->registers, full_record().registers);
  EXPECT_EQ(read->unknown_bytes, 16);
  EXPECT_EQ(in.remaining(), 32);
}

TEST(Pebs, CutOffAnywhereIsTruncated) {
  for (unsigned format = 0; format <= 5; ++format) {
    const auto bytes = written(full_record(), {format}, cfg::kGprs | cfg::kLbrs);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ByteReader in{std::span(bytes).first(size)};
      const auto read = read_pebs_record(in, {format});
      ASSERT_FALSE(read) << format << ", " << size;
      EXPECT_EQ(read.error().code, ErrorCode::truncated);
      EXPECT_EQ(in.offset(), 0);
    }
  }
}

TEST(Pebs, HeaderThatIsTooSmallForItsGroupsIsMalformed) {
  auto bytes = written(full_record(), {4}, cfg::kGprs);
  const std::uint64_t head = std::uint64_t{bytes.size() - 1} << 48 | cfg::kGprs;
  std::memcpy(bytes.data(), &head, 8);
  ByteReader in(bytes);
  const auto read = read_pebs_record(in, {4});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::malformed);
  EXPECT_EQ(read.error().message,
            "a PEBS record says that it has 175 bytes, but its groups need 176");
}

}  // namespace
}  // namespace hodo::hw
