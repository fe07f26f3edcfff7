#include "hodo/pt/writer.h"

#include <algorithm>
#include <array>

#include "opcode.h"

namespace hodo::pt {
namespace {

// The bytes of one packet, put down from the front.
class Encoded {
 public:
  // The low `count` bytes of `value`, little-endian.
  void put(std::uint64_t value, unsigned count = 1) {
    // No packet is longer; GCC 14 wants to see it.
    for (unsigned i = 0; i < count && size_ < bytes_.size(); ++i)
      bytes_[size_++] = static_cast<std::uint8_t>(value >> 8 * i);
  }
  void put_extended(unsigned second_byte) {
    put(opcode::kExtended);
    put(second_byte);
  }
  std::span<const std::uint8_t> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::uint8_t, kMaxPacketSize> bytes_{};
  std::size_t size_ = 0;
};

constexpr std::uint64_t mask(unsigned high, unsigned low) {
  return (~std::uint64_t{0} >> (63 - high)) & (~std::uint64_t{0} << low);
}

constexpr unsigned kCycMaxBits = 61;  // five bits, then eight bytes of seven: what libipt accepts

bool carries_ip(PacketType type) {
  return type == PacketType::tip || type == PacketType::tip_pge || type == PacketType::tip_pgd ||
         type == PacketType::fup;
}

bool carries_count(PacketType type) {
  return type == PacketType::tnt || type == PacketType::ptw || type == PacketType::bip;
}

// The payload bits that a form of the IP has, or -1 for a value that is no form.
int ip_payload_bits(IpBytes form) {
  switch (form) {
    case IpBytes::suppressed:
      return 0;
    case IpBytes::update16:
      return 16;
    case IpBytes::update32:
      return 32;
    case IpBytes::sext48:
    case IpBytes::update48:
      return 48;
    case IpBytes::full:
      return 64;
  }
  return -1;
}

constexpr std::uint64_t low_bits(int count) {
  return count == 0 ? 0 : mask(static_cast<unsigned>(count) - 1, 0);
}

// The bits that the members of a packet may have set.
struct Room {
  std::uint64_t payload = 0;
  std::uint32_t extra = 0;
};

Room room(const Packet& packet) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};
  switch (packet.type) {
    case PacketType::pad:
    case PacketType::psb:
    case PacketType::psbend:
    case PacketType::ovf:
    case PacketType::trace_stop:
      return {};
    case PacketType::tnt:
      return {low_bits(packet.count)};
    case PacketType::tip:
    case PacketType::tip_pge:
    case PacketType::tip_pgd:
    case PacketType::fup:
      return {low_bits(ip_payload_bits(packet.ip_bytes))};
    case PacketType::pip:
      return {mask(51, 5), 1};
    case PacketType::mode_exec:
      return {kExecCsL | kExecCsD | kExecIf};
    case PacketType::mode_tsx:
      return {mask(1, 0)};
    case PacketType::vmcs:
      return {mask(51, 12)};
    case PacketType::tsc:
      return {mask(55, 0)};
    case PacketType::mtc:
      return {mask(7, 0)};
    case PacketType::tma:
      return {mask(15, 0), 0x1FF};
    case PacketType::cyc:
      return {mask(kCycMaxBits - 1, 0)};
    case PacketType::cbr:
      return {mask(7, 0)};
    case PacketType::mnt:
    case PacketType::mwait:
      return {kAll};
    case PacketType::ptw:
      return {low_bits(8 * packet.count), 1};
    case PacketType::exstop:
    case PacketType::bep:
      return {0, 1};
    case PacketType::pwre:
      return {mask(8, 0)};
    case PacketType::pwrx:
      return {mask(11, 0)};
    case PacketType::bbp:
      return {mask(4, 0), 1};
    case PacketType::bip:
      return {low_bits(8 * packet.count), 0x1F};
    case PacketType::cfe:
      return {mask(4, 0), 0xFF01};
    case PacketType::evd:
      return {kAll, 0x3F};
    case PacketType::trig:
      return {mask(7, 0), 0xFFFF0000 | kTrigCounted | kTrigMultiple | 1};
  }
  return {};
}

bool count_is_valid(const Packet& packet) {
  if (packet.type == PacketType::tnt) return packet.count >= 1 && packet.count <= 47;
  if (carries_count(packet.type)) return packet.count == 4 || packet.count == 8;
  return packet.count == 0;
}

bool is_encodable(const Packet& packet) {
  if (static_cast<int>(packet.type) >= kPacketTypes) return false;
  if (!count_is_valid(packet)) return false;
  if (ip_payload_bits(packet.ip_bytes) < 0) return false;
  if (packet.ip_bytes != IpBytes::suppressed && !carries_ip(packet.type)) return false;
  const Room allowed = room(packet);
  if ((packet.payload & ~allowed.payload) != 0 || (packet.extra & ~allowed.extra) != 0)
    return false;
  const bool is_mode = packet.type == PacketType::mode_exec || packet.type == PacketType::mode_tsx;
  if (is_mode && (packet.payload & 3) == 3) return false;  // see the reader: no such mode
  const bool uncounted = packet.type == PacketType::trig && !(packet.extra & kTrigCounted);
  return !uncounted || packet.extra >> 16 == 0;
}

void put_tnt(const Packet& packet, Encoded& out) {
  constexpr unsigned kShortOutcomes = 6;
  constexpr unsigned kLongSize = 8;
  const std::uint64_t stopped = packet.payload | std::uint64_t{1} << packet.count;
  if (packet.count <= kShortOutcomes && packet.size != kLongSize) {
    out.put(stopped << 1);
  } else {
    out.put_extended(opcode::kExtTntLong);
    out.put(stopped, 6);
  }
}

void put_ip(std::uint8_t opcode, const Packet& packet, Encoded& out) {
  out.put(opcode | static_cast<unsigned>(packet.ip_bytes) << opcode::kIpBytesShift);
  out.put(packet.payload, static_cast<unsigned>(ip_payload_bits(packet.ip_bytes)) / 8);
}

void put_cyc(std::uint64_t value, Encoded& out) {
  std::uint64_t rest = value >> 5;
  out.put((value & 0x1F) << opcode::kCycShift | (rest != 0 ? opcode::kCycMore : 0u) | opcode::kCyc);
  while (rest != 0) {
    const std::uint64_t septet = rest & 0x7F;
    rest >>= 7;
    out.put(septet << 1 | (rest != 0 ? 1u : 0u));
  }
}

void put_trig(const Packet& packet, Encoded& out) {
  out.put(opcode::kTrig);
  out.put((packet.extra & 1 ? opcode::kTrigIp : 0u) |
          (packet.extra & kTrigCounted ? opcode::kTrigIcntv : 0u) |
          (packet.extra & kTrigMultiple ? opcode::kTrigMult : 0u));
  out.put(packet.payload);
  if (packet.extra & kTrigCounted) out.put(packet.extra >> 16, 2);
}

// The states back from Packet's order to the trace's, see the reader.
std::uint64_t pwre_bytes(std::uint64_t payload) {
  return (payload & 0xF) << 8 | (payload >> 4 & 0xF) << 12 | (payload >> 8 & 1) << 7;
}

std::uint64_t pwrx_bytes(std::uint64_t payload) {
  return (payload & 0xF) << 4 | (payload >> 4 & 0xF) | (payload >> 8 & 0xF) << 8;
}

// Each of these puts the packets of its part of the manual and is false for all others.
bool put_flow(const Packet& packet, Encoded& out) {
  const std::uint64_t payload = packet.payload;
  switch (packet.type) {
    case PacketType::pad:
      out.put(opcode::kPad);
      return true;
    case PacketType::psb:
      for (int i = 0; i < 8; ++i) out.put_extended(opcode::kExtPsb);
      return true;
    case PacketType::psbend:
      out.put_extended(opcode::kExtPsbend);
      return true;
    case PacketType::ovf:
      out.put_extended(opcode::kExtOvf);
      return true;
    case PacketType::trace_stop:
      out.put_extended(opcode::kExtTraceStop);
      return true;
    case PacketType::tnt:
      put_tnt(packet, out);
      return true;
    case PacketType::tip:
      put_ip(opcode::kTip, packet, out);
      return true;
    case PacketType::tip_pge:
      put_ip(opcode::kTipPge, packet, out);
      return true;
    case PacketType::tip_pgd:
      put_ip(opcode::kTipPgd, packet, out);
      return true;
    case PacketType::fup:
      put_ip(opcode::kFup, packet, out);
      return true;
    case PacketType::pip:
      out.put_extended(opcode::kExtPip);
      out.put(payload >> 5 << 1 | packet.extra, 6);
      return true;
    case PacketType::mode_exec:
      out.put(opcode::kMode);
      out.put(payload);
      return true;
    case PacketType::mode_tsx:
      out.put(opcode::kMode);
      out.put(payload | 1u << 5);
      return true;
    case PacketType::vmcs:
      out.put_extended(opcode::kExtVmcs);
      out.put(payload >> 12, 5);
      return true;
    default:
      return false;
  }
}

bool put_timing(const Packet& packet, Encoded& out) {
  const std::uint64_t payload = packet.payload;
  switch (packet.type) {
    case PacketType::tsc:
      out.put(opcode::kTsc);
      out.put(payload, 7);
      return true;
    case PacketType::mtc:
      out.put(opcode::kMtc);
      out.put(payload);
      return true;
    case PacketType::tma:
      out.put_extended(opcode::kExtTma);
      out.put(payload, 3);
      out.put(packet.extra, 2);
      return true;
    case PacketType::cyc:
      put_cyc(payload, out);
      return true;
    case PacketType::cbr:
      out.put_extended(opcode::kExtCbr);
      out.put(payload, 2);
      return true;
    default:
      return false;
  }
}

bool put_event(const Packet& packet, Encoded& out) {
  const std::uint64_t payload = packet.payload;
  const unsigned extra = packet.extra;
  const unsigned ip_bit = extra & 1 ? opcode::kExtIpBit : 0u;
  switch (packet.type) {
    case PacketType::mnt:
      out.put_extended(opcode::kExtMnt);
      out.put(opcode::kExt2Mnt);
      out.put(payload, 8);
      return true;
    case PacketType::ptw:
      out.put_extended(opcode::kExtPtw | (packet.count == 8 ? 1u << 5 : 0u) | ip_bit);
      out.put(payload, packet.count);
      return true;
    case PacketType::exstop:
      out.put_extended(opcode::kExtExstop | ip_bit);
      return true;
    case PacketType::mwait:
      out.put_extended(opcode::kExtMwait);
      out.put(payload, 8);
      return true;
    case PacketType::pwre:
      out.put_extended(opcode::kExtPwre);
      out.put(pwre_bytes(payload), 2);
      return true;
    case PacketType::pwrx:
      out.put_extended(opcode::kExtPwrx);
      out.put(pwrx_bytes(payload), 5);
      return true;
    case PacketType::bbp:
      out.put_extended(opcode::kExtBbp);
      out.put(payload | extra << 7);
      return true;
    case PacketType::bip:
      out.put(extra << opcode::kBipShift | opcode::kBip);
      out.put(payload, packet.count);
      return true;
    case PacketType::bep:
      out.put_extended(opcode::kExtBep | ip_bit);
      return true;
    case PacketType::cfe:
      out.put_extended(opcode::kExtCfe);
      out.put(payload | (extra & 1) << 7);
      out.put(extra >> 8);
      return true;
    case PacketType::evd:
      out.put_extended(opcode::kExtEvd);
      out.put(extra);
      out.put(payload, 8);
      return true;
    case PacketType::trig:
      put_trig(packet, out);
      return true;
    default:
      return false;
  }
}

}  // namespace

std::size_t write(const Packet& packet, std::span<std::uint8_t> out) {
  if (!is_encodable(packet)) return 0;
  Encoded encoded;
  if (!put_flow(packet, encoded) && !put_timing(packet, encoded) && !put_event(packet, encoded)) {
    return 0;
  }
  const auto bytes = encoded.bytes();
  if (bytes.size() > out.size()) return 0;
  std::ranges::copy(bytes, out.begin());
  return bytes.size();
}

}  // namespace hodo::pt
