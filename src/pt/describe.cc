#include "hodo/pt/describe.h"

#include <array>
#include <charconv>

namespace hodo::pt {
namespace {

// " 0x1f"; with at least `digits` digits.
std::string hex(std::uint64_t value, std::size_t digits = 1) {
  std::array<char, 16> buffer{};
  const char* const end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, 16).ptr;
  const std::string text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  return " 0x" + std::string(text.size() < digits ? digits - text.size() : 0, '0') + text;
}

std::string decimal(std::uint64_t value) { return std::to_string(value); }

std::string bit(std::uint64_t value, unsigned at) { return value >> at & 1 ? "1" : "0"; }

std::string outcomes(const Packet& packet) {
  std::string out = " ";
  for (unsigned i = packet.count; i > 0; --i) out += packet.payload >> (i - 1) & 1 ? 'T' : 'N';
  return out + " (" + decimal(packet.count) + ")";
}

std::string exec_mode(std::uint64_t payload) {
  const char* bits = payload & kExecCsL ? "64" : payload & kExecCsD ? "32" : "16";
  return std::string(" IF:") + (payload & kExecIf ? "1 " : "0 ") + bits;
}

// perf prints the two bytes as sent, then their parts.
std::string power_entry(std::uint64_t payload) {
  const std::uint64_t sub_state = payload & 0xF;
  const std::uint64_t state = payload >> 4 & 0xF;
  return hex(sub_state << 8 | state << 12 | (payload >> 8 & 1) << 7) + " HW:" + bit(payload, 8) +
         " CState:" + decimal(state) + " Sub-CState:" + decimal(sub_state);
}

std::string power_exit(std::uint64_t payload) {
  const std::uint64_t last = payload & 0xF;
  const std::uint64_t deepest = payload >> 4 & 0xF;
  const std::uint64_t reason = payload >> 8 & 0xF;
  return hex(deepest | last << 4 | reason << 8) + " Last CState:" + decimal(last) +
         " Deepest CState:" + decimal(deepest) + " Wake Reason" + hex(reason);
}

std::string trigger(const Packet& packet) {
  std::string out = " IP:" + bit(packet.extra, 0) + " Mult:" + bit(packet.extra, 2) + " Vector" +
                    hex(packet.payload, 2);
  if (packet.extra & kTrigCounted) out += " Count" + hex(packet.extra >> 16);
  return out;
}

// What follows the name.
std::string details(const Packet& packet) {
  const std::uint64_t payload = packet.payload;
  const std::uint32_t extra = packet.extra;
  switch (packet.type) {
    case PacketType::pad:
    case PacketType::psb:
    case PacketType::psbend:
    case PacketType::ovf:
    case PacketType::trace_stop:
      return "";
    case PacketType::tnt:
      return outcomes(packet);
    case PacketType::tip:
    case PacketType::tip_pge:
    case PacketType::tip_pgd:
    case PacketType::fup:
      return packet.ip_bytes == IpBytes::suppressed ? " no ip" : hex(payload);
    case PacketType::pip:
      return hex(payload >> 5) + " (NR=" + bit(extra, 0) + ")";
    case PacketType::mode_exec:
      return exec_mode(payload);
    case PacketType::mode_tsx:
      return " TXAbort:" + bit(payload, 1) + " InTX:" + bit(payload, 0);
    case PacketType::vmcs:
      return hex(payload >> 12);
    case PacketType::tsc:
    case PacketType::mtc:
    case PacketType::cyc:
    case PacketType::cbr:
    case PacketType::mnt:
      return hex(payload);
    case PacketType::tma:
      if ((extra & kTmaCorrupt) != 0) return " corrupt (erratum SKZ84)";
      return " CTC" + hex(payload) + " FC" + hex(extra);
    case PacketType::ptw:
      return hex(payload) + " IP:" + bit(extra, 0);
    case PacketType::exstop:
    case PacketType::bep:
      return " IP:" + bit(extra, 0);
    case PacketType::mwait:
      return hex(payload) + " Hints" + hex(payload & 0xFF) + " Extensions" + hex(payload >> 32 & 3);
    case PacketType::pwre:
      return power_entry(payload);
    case PacketType::pwrx:
      return power_exit(payload);
    case PacketType::bbp:
      return std::string(" SZ ") + (extra ? "4" : "8") + "-byte Type" + hex(payload);
    case PacketType::bip:
      return " ID" + hex(extra, 2) + " Value" + hex(payload);
    case PacketType::cfe:
      return " IP:" + bit(extra, 0) + " Type" + hex(payload, 2) + " Vector" + hex(extra >> 8);
    case PacketType::evd:
      return " Type" + hex(extra, 2) + " Payload" + hex(payload);
    case PacketType::trig:
      return trigger(packet);
  }
  return "";
}

// perf's name where it is not the manual's.
std::string_view perf_name(PacketType type) {
  if (type == PacketType::trace_stop) return "TraceSTOP";
  if (type == PacketType::ptw) return "PTWRITE";
  return name(type);
}

}  // namespace

std::string to_string(const Packet& packet) {
  return std::string(perf_name(packet.type)) + details(packet);
}

}  // namespace hodo::pt
