// LBR formats with exact register values, and the table of processors against second sources.
#include "hodo/hw/lbr.h"

#include <gtest/gtest.h>

#include <ostream>
#include <random>

#include "hodo/hw/msr.h"

namespace hodo::hw {
namespace {

constexpr std::uint64_t kKernel = 0xffffffff81000123;

struct FormatCase {
  LbrFormat format;
  LbrRegisters registers;
  LbrEntry entry;
};

void PrintTo(const FormatCase& c, std::ostream* out) {
  *out << name(c.format) << " from " << std::hex << c.registers.from << " info "
       << c.registers.info;
}

class LbrFormats : public ::testing::TestWithParam<FormatCase> {};

TEST_P(LbrFormats, DecodeAndEncode) {
  const FormatCase& c = GetParam();
  const auto decoded = decode_lbr(c.registers, c.format);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->from, c.entry.from);
  EXPECT_EQ(decoded->to, c.entry.to);
  EXPECT_EQ(decoded->cycles, c.entry.cycles);
  EXPECT_EQ(decoded->mispredicted, c.entry.mispredicted);
  EXPECT_EQ(decoded->in_tx, c.entry.in_tx);
  EXPECT_EQ(decoded->abort, c.entry.abort);
  EXPECT_EQ(decoded->wrong_path, c.entry.wrong_path);
  EXPECT_EQ(decoded->type, c.entry.type);
  EXPECT_EQ(encode_lbr(c.entry, c.format), c.registers);
}

// Flag positions: SDM as quoted in lbr.h; Linux LBR_FROM_FLAG_*, LBR_INFO_* and struct
// branch_entry of amd/lbr.c say the same.
INSTANTIATE_TEST_SUITE_P(
    ByTheManual, LbrFormats,
    ::testing::Values(
        FormatCase{
            LbrFormat::bits32, {0x08048000, 0x08049000, 0}, {.from = 0x08048000, .to = 0x08049000}},
        FormatCase{LbrFormat::lip, {kKernel, 0x401000, 0}, {.from = kKernel, .to = 0x401000}},
        FormatCase{LbrFormat::eip, {0x401000, kKernel, 0}, {.from = 0x401000, .to = kKernel}},
        FormatCase{LbrFormat::eip_flags,
                   {0x7fffffff81000123, 0x401000, 0},
                   {.from = kKernel, .to = 0x401000}},
        FormatCase{LbrFormat::eip_flags,
                   {0x8000000000401000, 0x402000, 0},
                   {.from = 0x401000, .to = 0x402000, .mispredicted = true}},
        FormatCase{LbrFormat::eip_flags2,
                   {0x9fffffff81000123, kKernel, 0},
                   {.from = kKernel, .to = kKernel, .mispredicted = true}},
        FormatCase{LbrFormat::eip_flags2,
                   {0x4000000000401000, 0x402000, 0},
                   {.from = 0x401000, .to = 0x402000, .in_tx = true}},
        FormatCase{LbrFormat::eip_flags2,
                   {0x2000000000401000, 0x402000, 0},
                   {.from = 0x401000, .to = 0x402000, .abort = true}},
        FormatCase{LbrFormat::info,
                   {kKernel, 0x402000, 0xe000000000001234},
                   {.from = kKernel,
                    .to = 0x402000,
                    .cycles = 0x1234,
                    .mispredicted = true,
                    .in_tx = true,
                    .abort = true}},
        FormatCase{LbrFormat::time,
                   {0xffffffff81000123, 0x0007ffff81000456, 0},
                   {.from = kKernel, .to = 0xffffffff81000456, .cycles = 7, .mispredicted = true}},
        FormatCase{LbrFormat::time,
                   {0x401000, 0xffff000000402000, 0},
                   {.from = 0x401000, .to = 0x402000, .cycles = 0xffff}},
        FormatCase{LbrFormat::info2,
                   {0x401000, 0x402000, 0x8000000000000003},
                   {.from = 0x401000, .to = 0x402000, .cycles = 3, .mispredicted = true}},
        FormatCase{LbrFormat::arch,
                   {0x401000, 0x402000, 0x1500000000000009},
                   {.from = 0x401000, .to = 0x402000, .cycles = 9, .type = BranchClass::ret}},
        FormatCase{LbrFormat::arch,
                   {0x401000, 0x402000, 0x0800000000000000},
                   {.from = 0x401000, .to = 0x402000, .type = BranchClass::other}},
        FormatCase{LbrFormat::amd_v2,
                   {0x83ffffff81000123, 0x8000000000402000, 0},
                   {.from = kKernel, .to = 0x402000, .mispredicted = true}},
        FormatCase{LbrFormat::amd_v2,
                   {0x401000, 0x4000000000402000, 0},
                   {.from = 0x401000, .to = 0x402000, .wrong_path = true}}));

TEST(LbrDecode, EmptyRecordsAreNoBranches) {
  for (unsigned n = 0; n <= 7; ++n) EXPECT_FALSE(decode_lbr({}, *lbr_format(n))) << n;
  EXPECT_FALSE(decode_lbr({}, LbrFormat::arch));
  // AMD says with two bits whether there is a record, whatever the addresses.
  EXPECT_FALSE(decode_lbr({0x401000, 0x402000, 0}, LbrFormat::amd_v2));
}

// The Linux kernel's test on `reserved` of struct branch_entry (amd/lbr.c).
TEST(LbrDecode, AmdsErroneousRecordsAreNoBranches) {
  EXPECT_FALSE(decode_lbr({0x401000, 0xe000000000402000, 0}, LbrFormat::amd_v2));
  EXPECT_FALSE(decode_lbr({0x401000, 0xa000000000402000, 0}, LbrFormat::amd_v2));
}

TEST(LbrDecode, CyclesCountOnlyIfTheProcessorSaysSo) {
  EXPECT_EQ(decode_lbr({1, 2, 9}, LbrFormat::arch)->cycles, 0);
  EXPECT_EQ(decode_lbr({1, 2, 9 | 1ull << 60}, LbrFormat::arch)->cycles, 9);
}

TEST(LbrDecode, ReservedBranchTypesAreUnknown) {
  EXPECT_EQ(decode_lbr({1, 2, 6ull << 56}, LbrFormat::arch)->type, std::nullopt);
  EXPECT_EQ(decode_lbr({1, 2, 15ull << 56}, LbrFormat::arch)->type, BranchClass::other);
}

// Transactions that are off leave their bits 0 while the address is a kernel's (Linux,
// lbr_from_signext_quirk_rd).
TEST(LbrDecode, SignExtendsBelowTheTransactionBits) {
  EXPECT_EQ(decode_lbr({0x1fffffff81000123, 1, 0}, LbrFormat::eip_flags2)->from, kKernel);
}

TEST(LbrDecode, TakesAddressesOf57Bits) {
  const std::uint64_t wide = 0x00ff123456789abc;
  EXPECT_EQ(decode_lbr({wide, wide | 1ull << 63, 0}, LbrFormat::amd_v2, 57)->from, wide);
}

TEST(LbrFormatNumber, OnlyKnownOnes) {
  EXPECT_EQ(lbr_format(5), LbrFormat::info);
  EXPECT_EQ(lbr_format(8), std::nullopt);
  EXPECT_EQ(lbr_format(63), LbrFormat::arch);
  EXPECT_EQ(lbr_format(64), std::nullopt);
}

TEST(LbrPacked, HoldsFromBelowTo) {
  EXPECT_EQ(unpack_lbr(0x0804900008048000), (LbrRegisters{0x08048000, 0x08049000, 0}));
  EXPECT_EQ(pack_lbr({0x08048000, 0x08049000, 0}), 0x0804900008048000);
}

TEST(LbrRoundTrip, WhatAFormatHoldsComesBack) {
  std::mt19937_64 random(11);
  for (unsigned n = 0; n < 20000; ++n) {
    LbrEntry entry{.from = random() >> 17 | 1,
                   .to = random() >> 17,
                   .cycles = static_cast<std::uint16_t>(random()),
                   .mispredicted = random() % 2 == 0,
                   .in_tx = random() % 2 == 0,
                   .abort = random() % 2 == 0};
    if (random() % 2 == 0) entry.from |= 0xffff800000000000;
    EXPECT_EQ(decode_lbr(encode_lbr(entry, LbrFormat::info), LbrFormat::info), entry);
    entry.in_tx = entry.abort = false;
    EXPECT_EQ(decode_lbr(encode_lbr(entry, LbrFormat::time), LbrFormat::time), entry);
    EXPECT_EQ(decode_lbr(encode_lbr(entry, LbrFormat::info2), LbrFormat::info2), entry);
    entry.cycles = 0;
    EXPECT_EQ(decode_lbr(encode_lbr(entry, LbrFormat::eip_flags), LbrFormat::eip_flags), entry);
  }
}

struct ModelCase {
  std::uint16_t family, model;
  unsigned depth;
  std::uint32_t from, to, info, tos, select;
  bool packed;
};

void PrintTo(const ModelCase& c, std::ostream* out) {
  *out << "family " << c.family << " model " << c.model;
}

class LbrModels : public ::testing::TestWithParam<ModelCase> {};

TEST_P(LbrModels, HaveTheStackOfTheManual) {
  const ModelCase& c = GetParam();
  const auto layout = lbr_layout({Vendor::intel, c.family, c.model, 15});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->depth, c.depth);
  EXPECT_EQ(layout->from, c.from);
  EXPECT_EQ(layout->to, c.to);
  EXPECT_EQ(layout->info, c.info);
  EXPECT_EQ(layout->tos, c.tos);
  EXPECT_EQ(layout->select, c.select);
  EXPECT_EQ(layout->packed, c.packed);
}

// Second sources: tables 18-3 (LBR stack sizes) and B-2 to B-6 (MSR numbers) of an SDM from 2009
// for the older ones; Linux intel_pmu_lbr_init_*(), for the others.
INSTANTIATE_TEST_SUITE_P(
    OneOfEachGeneration, LbrModels,
    ::testing::Values(ModelCase{6, 0x08, 1, 0x1db, 0x1dc, 0, 0, 0, false},
                      ModelCase{15, 0x02, 4, 0x1db, 0x1db, 0, 0x1da, 0, true},
                      ModelCase{15, 0x04, 16, 0x680, 0x6c0, 0, 0x1da, 0, false},
                      ModelCase{6, 0x0d, 8, 0x40, 0x40, 0, 0x1c9, 0, true},
                      ModelCase{6, 0x0e, 8, 0x40, 0x40, 0, 0x1c9, 0, true},
                      ModelCase{6, 0x0f, 4, 0x40, 0x60, 0, 0x1c9, 0, false},
                      ModelCase{6, 0x17, 4, 0x40, 0x60, 0, 0x1c9, 0, false},
                      ModelCase{6, 0x1c, 8, 0x40, 0x60, 0, 0x1c9, 0, false},
                      ModelCase{6, 0x37, 8, 0x40, 0x60, 0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x1a, 16, 0x680, 0x6c0, 0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x2a, 16, 0x680, 0x6c0, 0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x3c, 16, 0x680, 0x6c0, 0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x5e, 32, 0x680, 0x6c0, 0xdc0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x5c, 32, 0x680, 0x6c0, 0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x7a, 32, 0x680, 0x6c0, 0xdc0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0x57, 8, 0x680, 0x6c0, 0, 0x1c9, 0x1c8, false},
                      ModelCase{6, 0xa7, 32, 0x680, 0x6c0, 0xdc0, 0x1c9, 0x1c8, false}));

TEST(LbrTable, NewAndUnknownOnesAreNotInTheTable) {
  EXPECT_FALSE(lbr_layout({Vendor::intel, 6, 0x8f, 8}));  // Sapphire Rapids: architectural
  EXPECT_FALSE(lbr_layout({Vendor::intel, 6, 0x02, 0}));
  EXPECT_FALSE(lbr_layout({Vendor::intel, 5, 4, 0}));
  EXPECT_FALSE(lbr_layout({Vendor::other, 6, 0x5e, 0}));
}

TEST(LbrTable, EverySteppingCounts) {
  EXPECT_EQ(lbr_layout({Vendor::intel, 6, 0x1c, 2}), lbr_layout({Vendor::intel, 6, 0x1c, 10}));
  EXPECT_TRUE(lbr_layout({Vendor::intel, 6, 0x1c, 2}));
}

TEST(LbrTable, ByModelAlsoTheKindsThatCpuidTells) {
  const auto format = [](const Signature& processor) {
    const auto layout = lbr_layout_by_model(processor);
    return layout ? name(layout->format) : "none";
  };
  constexpr std::uint16_t kArchitectural[] = {0x8f, 0x97, 0x9a, 0xaa, 0xac, 0xad, 0xae,
                                              0xaf, 0xb5, 0xb6, 0xb7, 0xba, 0xbd, 0xbe,
                                              0xbf, 0xc5, 0xc6, 0xcc, 0xcf, 0xdd};
  for (const std::uint16_t model : kArchitectural) {
    EXPECT_EQ(format({Vendor::intel, 6, model, 0}), "arch") << model;
  }
  EXPECT_EQ(format({Vendor::intel, 6, 0x5e, 3}), "info");
  EXPECT_EQ(format({Vendor::intel, 6, 0x1c, 2}), "lip");
  EXPECT_EQ(format({Vendor::amd, 0x19, 0x10, 0}), "amd_v2");
  EXPECT_EQ(format({Vendor::amd, 0x19, 0x61, 2}), "amd_v2");
  EXPECT_EQ(format({Vendor::amd, 0x19, 0x21, 0}), "lip") << "Zen 3";
  EXPECT_EQ(format({Vendor::amd, 0x19, 0x50, 0}), "lip") << "Zen 3";
  EXPECT_EQ(format({Vendor::amd, 0x1a, 0x44, 0}), "amd_v2");
  EXPECT_EQ(format({Vendor::other, 6, 0x5e, 0}), "none");
}

TEST(LbrTable, AmdHasOnePairBeforeLbrExtV2) {
  const auto layout = lbr_layout({Vendor::amd, 0x17, 1, 1});
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->depth, 1);
  EXPECT_EQ(layout->from, 0x1db);
  EXPECT_TRUE(layout->last_int);
  const LbrLayout v2 = amd_lbr_layout(16);
  EXPECT_EQ(v2.from_msr(15), 0xc001031e);
  EXPECT_EQ(v2.to_msr(15), 0xc001031f);
}

TEST(Signature, AddsTheExtendedFields) {
  EXPECT_EQ(decode_signature(Vendor::intel, 0x000506e3), (Signature{Vendor::intel, 6, 0x5e, 3}));
  EXPECT_EQ(decode_signature(Vendor::intel, 0x00000f29), (Signature{Vendor::intel, 15, 2, 9}));
  EXPECT_EQ(decode_signature(Vendor::amd, 0x00a60f12), (Signature{Vendor::amd, 0x19, 0x61, 2}));
  EXPECT_EQ(decode_signature(Vendor::intel, 0x00000543), (Signature{Vendor::intel, 5, 4, 3}));
}

}  // namespace
}  // namespace hodo::hw
