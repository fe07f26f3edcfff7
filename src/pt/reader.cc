#include "hodo/pt/reader.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "opcode.h"
#include "opcode_table.h"

namespace hodo::pt {
namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::array<std::uint8_t, 16> kPsb = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                                               0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

// The little-endian number in bytes[begin, end), at most 8 of them; all lie in `bytes`.
std::uint64_t number(Bytes bytes, std::size_t begin, std::size_t end) {
  const std::size_t size = end - begin;
  std::uint64_t value = 0;
  // One wide load, away from the end of the trace, is several times faster than a memcpy of `size`.
  if (bytes.size() - begin >= sizeof(value)) {
    std::memcpy(&value, bytes.data() + begin, sizeof(value));
    return size < sizeof(value) ? value & ((std::uint64_t{1} << (8 * size)) - 1) : value;
  }
  std::memcpy(&value, bytes.data() + begin, size);
  return value;
}

constexpr std::uint64_t bits(std::uint64_t value, unsigned high, unsigned low) {
  return (value >> low) & ((std::uint64_t{1} << (high - low + 1)) - 1);
}

constexpr std::uint32_t bit(std::uint64_t value, unsigned at) {
  return static_cast<std::uint32_t>((value >> at) & 1);
}

// Outcomes lie under a stop bit, which is the highest one set.
ReadStatus take_tnt(std::uint64_t outcomes_and_stop, Packet& packet) {
  if (outcomes_and_stop < 2) return ReadStatus::malformed;
  const auto count = static_cast<unsigned>(std::bit_width(outcomes_and_stop) - 1);
  packet.count = static_cast<std::uint8_t>(count);
  packet.payload = outcomes_and_stop ^ (std::uint64_t{1} << count);
  return ReadStatus::packet;
}

ReadStatus take_mode(std::uint8_t byte, Packet& packet) {
  constexpr unsigned kLeafExec = 0;
  constexpr unsigned kLeafTsx = 1;
  const unsigned leaf = byte >> 5;
  if (leaf > kLeafTsx) return ReadStatus::malformed;
  // CS.L with CS.D is no mode, and a transaction cannot be running and aborted (SDM, "MODE
  // Packets").
  if ((byte & 3) == 3) return ReadStatus::malformed;
  packet.type = leaf == kLeafExec ? PacketType::mode_exec : PacketType::mode_tsx;
  packet.payload = byte & (leaf == kLeafExec ? kExecCsL | kExecCsD | kExecIf : 3);
  return ReadStatus::packet;
}

ReadStatus take_tma(std::uint64_t value, Packet& packet) {
  const bool reserved = bits(value, 23, 16) != 0 || bits(value, 39, 33) != 0;
  if (reserved) return ReadStatus::malformed;
  packet.payload = bits(value, 15, 0);
  packet.extra = static_cast<std::uint32_t>(bits(value, 32, 24));
  return ReadStatus::packet;
}

ReadStatus take_cyc(Bytes rest, Packet& packet) {
  std::uint64_t value = rest[0] >> opcode::kCycShift;
  bool more = (rest[0] & opcode::kCycMore) != 0;
  unsigned shift = 5;
  std::size_t size = 1;
  for (; more; ++size, shift += 7) {
    if (size >= rest.size()) return ReadStatus::truncated;
    if (shift > 64 - 7) return ReadStatus::malformed;  // longer than any counter
    value |= std::uint64_t{rest[size]} >> 1 << shift;
    more = (rest[size] & 1) != 0;
  }
  packet.payload = value;
  packet.size = static_cast<std::uint8_t>(size);
  return ReadStatus::packet;
}

// Erratum SKD007: the first byte of a CYC that has more, and an OVF. Read as they stand, these are
// two CYCs in a row, which come only when the counter is full, and then the first is longer.
bool overflows_in_cyc(Bytes rest) {
  return rest.size() >= 3 && (rest[0] & opcode::kCycMore) != 0 && rest[1] == opcode::kExtended &&
         rest[2] == opcode::kExtOvf;
}

ReadStatus take_mnt(Bytes rest, Packet& packet) {
  constexpr std::size_t kSize = 11;
  if (rest[2] != opcode::kExt2Mnt) return ReadStatus::malformed;
  if (rest.size() < kSize) return ReadStatus::truncated;
  packet.size = kSize;
  packet.payload = number(rest, 3, kSize);
  return ReadStatus::packet;
}

ReadStatus take_trig(Bytes rest, Packet& packet) {
  const std::uint8_t flags = rest[1];
  packet.payload = rest[2];
  if (flags & opcode::kTrigIp) packet.extra |= 1;
  if (flags & opcode::kTrigMult) packet.extra |= kTrigMultiple;
  if (flags & opcode::kTrigIcntv) {
    constexpr std::size_t kSize = 5;
    if (rest.size() < kSize) return ReadStatus::truncated;
    packet.size = kSize;
    packet.extra |= kTrigCounted | static_cast<std::uint32_t>(number(rest, 3, kSize)) << 16;
  }
  return ReadStatus::packet;
}

// The states in the order that Packet has them; in the trace (SDM, "PWRE Packet") HW is bit 7, the
// C-state 15:12 and the sub C-state 11:8.
std::uint64_t pwre_payload(std::uint64_t value) {
  return bits(value, 11, 8) | bits(value, 15, 12) << 4 | bits(value, 7, 7) << 8;
}

// In the trace (SDM, "PWRX Packet") the deepest C-state is 3:0 and the last one 7:4.
std::uint64_t pwrx_payload(std::uint64_t value) {
  return bits(value, 7, 4) | bits(value, 3, 0) << 4 | bits(value, 11, 8) << 8;
}

// Decodes what follows the header of a packet whose least size lies in `rest`.
ReadStatus take_payload(Form form, Bytes rest, std::uint64_t value, Packet& packet) {
  switch (form) {
    case Form::plain:
      packet.payload = value;
      break;
    case Form::tnt_long:
      return take_tnt(value, packet);
    case Form::ip:
      packet.ip_bytes = static_cast<IpBytes>(rest[0] >> opcode::kIpBytesShift);
      packet.payload = value;
      break;
    case Form::cyc:
      return take_cyc(rest, packet);
    case Form::mode:
      return take_mode(rest[1], packet);
    case Form::psb:
      if (!std::ranges::equal(kPsb, rest.first(kPsb.size()))) return ReadStatus::malformed;
      break;
    case Form::pip:
      packet.extra = bit(value, 0);
      packet.payload = value >> 1 << 5;
      break;
    case Form::vmcs:
      packet.payload = value << 12;
      break;
    case Form::tma:
      return take_tma(value, packet);
    case Form::cbr:
      packet.payload = bits(value, 7, 0);
      break;
    case Form::mnt:
      return take_mnt(rest, packet);
    case Form::ptw:
      packet.count = static_cast<std::uint8_t>(packet.size - 2);
      packet.extra = bit(rest[1], 7);
      packet.payload = value;
      break;
    case Form::ip_bit:
      packet.extra = bit(rest[1], 7);
      break;
    case Form::pwre:
      packet.payload = pwre_payload(value);
      break;
    case Form::pwrx:
      packet.payload = pwrx_payload(value);
      break;
    case Form::bbp:
      packet.extra = bit(value, 7);
      packet.payload = bits(value, 4, 0);
      break;
    case Form::cfe:
      packet.payload = bits(value, 4, 0);
      packet.extra = static_cast<std::uint32_t>(bits(value, 15, 8) << 8) | bit(value, 7);
      break;
    case Form::evd:
      packet.payload = value;
      packet.extra = static_cast<std::uint32_t>(bits(rest[2], 5, 0));
      break;
    case Form::trig:
      return take_trig(rest, packet);
    case Form::invalid:
    case Form::extended:
    case Form::tnt_short:  // these three are decode()'s
      return ReadStatus::malformed;
  }
  return ReadStatus::packet;
}

// `rest` is not empty.
ReadStatus decode(Bytes rest, Packet& packet) {
  const Opcode* opcode = &kOpcodes[rest[0]];
  // Most packets of most traces, so asked for first.
  if (opcode->form == Form::tnt_short) {
    packet.type = opcode->type;
    packet.size = opcode->size;
    return take_tnt(rest[0] >> 1, packet);
  }
  if (opcode->form == Form::extended) {
    if (rest.size() < 2) return ReadStatus::truncated;
    opcode = &kExtendedOpcodes[rest[1]];
  }
  if (opcode->form == Form::invalid) return ReadStatus::malformed;
  if (rest.size() < opcode->size) return ReadStatus::truncated;
  packet.type = opcode->type;
  packet.size = opcode->size;
  const std::uint64_t value = number(rest, opcode->header, opcode->size);
  return take_payload(opcode->form, rest, value, packet);
}

bool is_block_item(std::uint8_t first) { return (first & opcode::kBipMask) == opcode::kBip; }

// `rest` begins with a block item's byte.
ReadStatus decode_block_item(Bytes rest, bool small, Packet& packet) {
  const std::uint8_t value_size = small ? 4 : 8;
  if (rest.size() - 1 < value_size) return ReadStatus::truncated;
  packet.type = PacketType::bip;
  packet.size = static_cast<std::uint8_t>(1 + value_size);
  packet.count = value_size;
  packet.payload = number(rest, 1, packet.size);
  packet.extra = rest[0] >> opcode::kBipShift;
  return ReadStatus::packet;
}

// The packets that may come between a block's items: timing, power and maintenance packets and the
// FUPs that bind to them, as perf has it (intel_pt_upd_pkt_ctx). All others can only come when the
// block is over, even if its BEP was lost.
bool stays_in_block(PacketType type) {
  switch (type) {
    case PacketType::pad:
    case PacketType::bip:
    case PacketType::fup:
    case PacketType::tsc:
    case PacketType::mtc:
    case PacketType::tma:
    case PacketType::cyc:
    case PacketType::cbr:
    case PacketType::mnt:
    case PacketType::exstop:
    case PacketType::pwre:
    case PacketType::pwrx:
      return true;
    default:
      return false;
  }
}

std::string hex_bytes(Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t byte : bytes) {
    out += ' ';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace

// Decodes in place: a Packet put together elsewhere and copied makes the copy's wide loads wait for
// the narrow stores just made, which took as long as all the rest.
ReadStatus PacketReader::read(Packet& packet) {
  if (at_end()) return ReadStatus::truncated;
  const Bytes rest = bytes_.subspan(offset_);
  packet = {};
  const ReadStatus status = in_block_ && is_block_item(rest[0])
                                ? decode_block_item(rest, block_items_small_, packet)
                                : mend(decode(rest, packet), packet);
  if (status != ReadStatus::packet) return status;
  offset_ += packet.size;
  if (in_block_ || packet.type == PacketType::bbp) follow_block(packet);
  return status;
}

// What the processor's errata made of the packet at offset().
ReadStatus PacketReader::mend(ReadStatus status, Packet& packet) const {
  const Bytes rest = bytes_.subspan(offset_);
  if (errata_.skd007 && packet.type == PacketType::cyc && overflows_in_cyc(rest)) {
    packet = {.type = PacketType::ovf, .size = 3};
    return ReadStatus::packet;
  }
  // Only reserved bits that are set show it.
  if (errata_.skz84 && packet.type == PacketType::tma && status == ReadStatus::malformed) {
    const auto size = static_cast<std::uint8_t>(packet.size + 1);
    if (rest.size() < size) return ReadStatus::truncated;
    packet = {.type = PacketType::tma, .size = size, .extra = kTmaCorrupt};
    return ReadStatus::packet;
  }
  return status;
}

Result<Packet> PacketReader::next() {
  Result<Packet> out(std::in_place);
  const ReadStatus status = read(*out);
  if (status == ReadStatus::packet) return out;
  if (status == ReadStatus::truncated) {
    // Every trace ends here once: texts short enough to need no allocation.
    out = fail(ErrorCode::truncated, at_end() ? "end of trace" : "packet cut off", offset_);
  } else {
    const std::size_t shown = std::min<std::size_t>(bytes_.size() - offset_, 3);
    out = fail(ErrorCode::malformed, "no packet:" + hex_bytes(bytes_.subspan(offset_, shown)),
               offset_);
  }
  return out;
}

void PacketReader::follow_block(const Packet& packet) {
  if (packet.type == PacketType::bbp) {
    in_block_ = true;
    block_items_small_ = packet.extra != 0;
  } else if (!stays_in_block(packet.type)) {
    in_block_ = false;
  }
}

bool PacketReader::sync_forward() {
  in_block_ = false;
  const std::size_t from = std::min(offset_, bytes_.size());
  const Bytes rest = bytes_.subspan(from);
  const void* found = rest.size() < kPsb.size()
                          ? nullptr
                          : memmem(rest.data(), rest.size(), kPsb.data(), kPsb.size());
  if (found == nullptr) {
    offset_ = bytes_.size();
    return false;
  }
  offset_ = from + static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - rest.data());
  // A payload before the PSB may end in 02 82, which moves the first match forward by that much. No
  // payload is long enough for a whole PSB, so fewer pairs behind the match than that settle it.
  const Bytes behind = bytes_.subspan(offset_ + kPsb.size());
  const Bytes window = behind.first(std::min(behind.size(), kPsb.size()));
  const auto run =
      static_cast<std::size_t>(std::ranges::mismatch(window, kPsb).in1 - window.begin());
  if (run < kPsb.size()) offset_ += run / 2 * 2;
  return true;
}

}  // namespace hodo::pt
