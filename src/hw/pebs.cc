#include "hodo/hw/pebs.h"

#include <cstring>
#include <string>

namespace hodo::hw {
namespace {

using namespace pebs_data_cfg;

constexpr std::size_t kBasicBytes = 32;
constexpr std::size_t kMemoryBytes = 32;
constexpr std::size_t kGprBytes = 18 * 8;
constexpr std::size_t kXmmBytes = 256;
constexpr std::size_t kLbrBytes = 24;
constexpr std::size_t kNarrowWords = 10;
// Words of formats 0 to 3.
constexpr std::size_t kFixedWords[] = {18, 22, 24, 25};

// Of an adaptive record's first word.
constexpr Field kGroups{0, 32};
constexpr Field kRetireLatency{32, 16};
constexpr Field kSize{48, 16};

// Where the fixed records keep ax bx cx dx si di bp sp, by PebsRegisters::gpr.
constexpr std::size_t kFixedOrder[] = {0, 3, 1, 2, 6, 7, 5, 4};

std::size_t lbr_entries(std::uint64_t data_cfg) {
  return (data_cfg & kLbrs) != 0 ? static_cast<std::size_t>(kLbrEntries.get(data_cfg)) + 1 : 0;
}

std::size_t adaptive_bytes(std::uint64_t data_cfg) {
  std::size_t size = kBasicBytes + lbr_entries(data_cfg) * kLbrBytes;
  if (data_cfg & kMemory) size += kMemoryBytes;
  if (data_cfg & kGprs) size += kGprBytes;
  if (data_cfg & kXmms) size += kXmmBytes;
  return size;
}

// Words one after the other; the caller has checked that they are there.
class Words {
 public:
  Words(std::span<const std::uint8_t> bytes, std::size_t word) : bytes_(bytes), word_(word) {}

  std::uint64_t next() {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at_, word_);
    at_ += word_;
    return value;
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t word_;
  std::size_t at_ = 0;
};

class WordWriter {
 public:
  WordWriter(std::span<std::uint8_t> bytes, std::size_t word) : bytes_(bytes), word_(word) {}

  void put(std::uint64_t value) {
    std::memcpy(bytes_.data() + at_, &value, word_);
    at_ += word_;
  }

 private:
  std::span<std::uint8_t> bytes_;
  std::size_t word_;
  std::size_t at_ = 0;
};

std::unexpected<Error> cut_off(const ByteReader& in, std::size_t needed) {
  return fail(ErrorCode::truncated,
              "a PEBS record of " + std::to_string(needed) + " bytes is cut off after " +
                  std::to_string(in.remaining()),
              in.offset());
}

PebsRecord parse_fixed(std::span<const std::uint8_t> bytes, const PebsFormat& format) {
  Words words(bytes, word_bytes(format.layout));
  PebsRecord out;
  PebsRegisters& registers = out.registers.emplace();
  registers.flags = words.next();
  registers.ip = words.next();
  for (const std::size_t n : kFixedOrder) registers.gpr[n] = words.next();
  if (format.layout == DsLayout::bits32) return out;
  for (std::size_t n = 8; n < 16; ++n) registers.gpr[n] = words.next();
  if (format.number == 0) return out;
  out.counters = words.next();
  PebsMemory& memory = out.memory.emplace();
  memory.address = words.next();
  memory.source = words.next();
  memory.latency = words.next();
  if (format.number == 1) return out;
  out.event_ip = words.next();
  memory.tsx_tuning = words.next();
  if (format.number == 3) out.tsc = words.next();
  return out;
}

void write_fixed(const PebsRecord& record, const PebsFormat& format, std::span<std::uint8_t> out) {
  WordWriter words(out, word_bytes(format.layout));
  const PebsRegisters registers = record.registers.value_or(PebsRegisters{});
  words.put(registers.flags);
  words.put(registers.ip);
  for (const std::size_t n : kFixedOrder) words.put(registers.gpr[n]);
  if (format.layout == DsLayout::bits32) return;
  for (std::size_t n = 8; n < 16; ++n) words.put(registers.gpr[n]);
  if (format.number == 0) return;
  const PebsMemory memory = record.memory.value_or(PebsMemory{});
  for (const std::uint64_t value :
       {record.counters, memory.address, memory.source, memory.latency}) {
    words.put(value);
  }
  if (format.number == 1) return;
  words.put(record.event_ip);
  words.put(memory.tsx_tuning);
  if (format.number == 3) words.put(record.tsc);
}

PebsRecord parse_adaptive(std::span<const std::uint8_t> bytes, unsigned format) {
  Words words(bytes, 8);
  PebsRecord out;
  const std::uint64_t head = words.next();
  const std::uint64_t groups = kGroups.get(head);
  if (format >= 5) out.retire_latency = static_cast<std::uint16_t>(kRetireLatency.get(head));
  out.event_ip = words.next();
  out.counters = words.next();
  out.tsc = words.next();
  if (groups & kMemory) {
    PebsMemory& memory = out.memory.emplace();
    memory.address = words.next();
    memory.source = words.next();
    memory.latency = words.next();
    memory.tsx_tuning = words.next();
  }
  if (groups & kGprs) {
    PebsRegisters& registers = out.registers.emplace();
    registers.flags = words.next();
    registers.ip = words.next();
    for (std::uint64_t& gpr : registers.gpr) gpr = words.next();
  }
  if (groups & kXmms) {
    for (std::uint64_t& half : out.xmm.emplace()) half = words.next();
  }
  out.lbr.resize(lbr_entries(groups));
  for (LbrRegisters& entry : out.lbr) {
    entry.from = words.next();
    entry.to = words.next();
    entry.info = words.next();
  }
  out.unknown_bytes = static_cast<std::uint32_t>(bytes.size() - adaptive_bytes(groups));
  return out;
}

void write_adaptive(const PebsRecord& record, unsigned format, std::uint64_t groups,
                    std::span<std::uint8_t> out) {
  WordWriter words(out, 8);
  std::uint64_t head = kGroups.set(kSize.set(0, adaptive_bytes(groups)), groups);
  if (format >= 5) head = kRetireLatency.set(head, record.retire_latency);
  for (const std::uint64_t value : {head, record.event_ip, record.counters, record.tsc}) {
    words.put(value);
  }
  if (groups & kMemory) {
    const PebsMemory memory = record.memory.value_or(PebsMemory{});
    for (const std::uint64_t value :
         {memory.address, memory.source, memory.latency, memory.tsx_tuning}) {
      words.put(value);
    }
  }
  if (groups & kGprs) {
    const PebsRegisters registers = record.registers.value_or(PebsRegisters{});
    words.put(registers.flags);
    words.put(registers.ip);
    for (const std::uint64_t gpr : registers.gpr) words.put(gpr);
  }
  if (groups & kXmms) {
    for (const std::uint64_t half : record.xmm.value_or(std::array<std::uint64_t, 32>{})) {
      words.put(half);
    }
  }
  for (std::size_t n = 0; n < lbr_entries(groups); ++n) {
    const LbrRegisters entry = n < record.lbr.size() ? record.lbr[n] : LbrRegisters{};
    for (const std::uint64_t value : {entry.from, entry.to, entry.info}) words.put(value);
  }
}

}  // namespace

std::size_t pebs_record_bytes(const PebsFormat& format, std::uint64_t data_cfg) {
  if (format.layout == DsLayout::bits32) return kNarrowWords * 4;
  return format.adaptive() ? adaptive_bytes(data_cfg) : kFixedWords[format.number] * 8;
}

Result<PebsRecord> read_pebs_record(ByteReader& in, const PebsFormat& format) {
  if (format.layout == DsLayout::bits32 || !format.adaptive()) {
    const std::size_t size = pebs_record_bytes(format);
    const auto bytes = in.take(size);
    if (!bytes) return cut_off(in, size);
    return parse_fixed(*bytes, format);
  }
  if (in.remaining() < kBasicBytes) return cut_off(in, kBasicBytes);
  const std::uint64_t head = Words(in.rest(), 8).next();
  const auto size = static_cast<std::size_t>(kSize.get(head));
  const std::size_t needed = adaptive_bytes(kGroups.get(head));
  if (size < needed) {
    return fail(ErrorCode::malformed,
                "a PEBS record says that it has " + std::to_string(size) +
                    " bytes, but its groups need " + std::to_string(needed),
                in.offset());
  }
  const auto bytes = in.take(size);
  if (!bytes) return cut_off(in, size);
  return parse_adaptive(*bytes, format.number);
}

void write_pebs_record(const PebsRecord& record, const PebsFormat& format, std::uint64_t data_cfg,
                       std::span<std::uint8_t> out) {
  if (format.layout == DsLayout::bits32 || !format.adaptive()) {
    return write_fixed(record, format, out);
  }
  write_adaptive(record, format.number, data_cfg & kKnown, out);
}

}  // namespace hodo::hw
