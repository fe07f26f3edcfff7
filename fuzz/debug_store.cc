// Records of the debug store and CPUID dumps, as a stranger may hand them over. The first byte says
// what the rest is.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "hodo/hw/cpuid_dump.h"
#include "hodo/hw/ds_area.h"
#include "hodo/hw/features.h"
#include "hodo/hw/pebs.h"
#include "hodo/hw/support.h"

namespace {

using hodo::ByteReader;

void check(bool good) {
  if (!good) std::abort();
}

// What was read and can be written is read again the same.
void pebs(std::span<const std::uint8_t> bytes, const hodo::hw::PebsFormat& format) {
  ByteReader in(bytes);
  while (in.remaining() != 0) {
    const std::size_t before = in.offset();
    const auto record = hodo::hw::read_pebs_record(in, format);
    if (!record) {
      check(in.offset() == before);
      return;
    }
    check(in.offset() > before);
    if (record->unknown_bytes != 0) continue;
    std::uint64_t groups = 0;
    if (record->memory) groups |= hodo::hw::pebs_data_cfg::kMemory;
    if (record->registers) groups |= hodo::hw::pebs_data_cfg::kGprs;
    if (record->xmm) groups |= hodo::hw::pebs_data_cfg::kXmms;
    if (!record->lbr.empty()) {
      groups |= hodo::hw::pebs_data_cfg::kLbrs;
      groups = hodo::hw::pebs_data_cfg::kLbrEntries.set(groups, record->lbr.size() - 1);
    }
    std::vector<std::uint8_t> again(hodo::hw::pebs_record_bytes(format, groups));
    hodo::hw::write_pebs_record(*record, format, groups, again);
    ByteReader second(again);
    check(hodo::hw::read_pebs_record(second, format) == *record);
  }
}

void bts(std::span<const std::uint8_t> bytes, hodo::hw::DsLayout layout) {
  ByteReader in(bytes);
  while (read_bts_record(in, layout)) {
  }
  check(in.remaining() < bts_record_bytes(layout));
  if (const auto area = hodo::hw::read_ds_area(bytes, layout)) {
    static_cast<void>(area->bts.is_sound(bts_record_bytes(layout)));
  }
}

void cpuid(std::span<const std::uint8_t> bytes) {
  const auto dump =
      hodo::hw::CpuidDump::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!dump) return;
  const auto features = hodo::hw::find_branch_features(*dump);
  check(!features.lbr || features.lbr->depth <= hodo::hw::LbrLayout::kMaxDepth);
  for (const auto support : {hodo::hw::pt_support, hodo::hw::bts_support, hodo::hw::pebs_support,
                             hodo::hw::lbr_support, hodo::hw::btf_support}) {
    const auto can = support(features);
    check(static_cast<bool>(can) == can.why.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::span bytes(data + 1, size - 1);
  const unsigned kind = data[0] % 10;
  if (kind < 6) pebs(bytes, {kind});
  if (kind == 6) pebs(bytes, {0, hodo::hw::DsLayout::bits32});
  if (kind == 7) bts(bytes, hodo::hw::DsLayout::bits64);
  if (kind == 8) bts(bytes, hodo::hw::DsLayout::bits32);
  if (kind == 9) cpuid(bytes);
  return 0;
}
