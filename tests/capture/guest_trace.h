// Intel PT streams of a host that runs a guest, packet by packet, and back to text.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "hodo/pt/writer.h"

namespace hodo::capture {

class GuestTrace {
 public:
  using Type = pt::PacketType;

  GuestTrace& add(const pt::Packet& packet) {
    std::array<std::uint8_t, pt::kMaxPacketSize> out;
    const std::size_t size = pt::write(packet, out);
    bytes.insert(bytes.end(), out.begin(), out.begin() + static_cast<std::ptrdiff_t>(size));
    return *this;
  }
  GuestTrace& ip(Type type, std::uint64_t address) {
    return add({.type = type,
                .ip_bytes = pt::IpBytes::sext48,
                .payload = address & ((std::uint64_t{1} << 48) - 1)});
  }
  GuestTrace& pip(std::uint64_t cr3, bool guest) {
    return add({.type = Type::pip, .payload = cr3, .extra = guest});
  }
  GuestTrace& tsc(std::uint64_t value) { return add({.type = Type::tsc, .payload = value}); }
  GuestTrace& cyc(std::uint64_t value) { return add({.type = Type::cyc, .payload = value}); }
  GuestTrace& mode(std::uint64_t bits) { return add({.type = Type::mode_exec, .payload = bits}); }
  GuestTrace& tnt(std::uint64_t bits, std::uint8_t count) {
    return add({.type = Type::tnt, .count = count, .payload = bits});
  }
  GuestTrace& other(Type type) { return add({.type = type}); }
  // PSB, TSC, MODE.Exec (64 bits), PIP, FUP, PSBEND.
  GuestTrace& psb(std::uint64_t time, std::uint64_t cr3, bool guest, std::uint64_t address) {
    return other(Type::psb)
        .tsc(time)
        .mode(1)
        .pip(cr3, guest)
        .ip(Type::fup, address)
        .other(Type::psbend);
  }
  // What a VM exit at `from` to the host's handler writes, and a VM entry.
  GuestTrace& exit(std::uint64_t from) {
    return ip(Type::fup, from).pip(kHostCr3, false).ip(Type::tip, kHandler);
  }
  GuestTrace& entry(std::uint64_t to, std::uint64_t cr3) {
    return pip(cr3, true).ip(Type::tip, to);
  }

  static constexpr std::uint64_t kHostCr3 = 0x1234000, kHandler = 0xffff'ffff'c080'0000;
  std::vector<std::uint8_t> bytes;
};

// One line a packet, IPs rebuilt.
inline std::vector<std::string> lines_of(std::span<const std::uint8_t> bytes) {
  std::vector<std::string> out;
  pt::PacketReader reader(bytes);
  pt::LastIp last;
  while (!reader.at_end()) {
    const auto packet = reader.next();
    if (!packet) {
      out.push_back("bad: " + packet.error().message);
      break;
    }
    if (packet->type == pt::PacketType::pad) continue;
    const bool clears = packet->type == pt::PacketType::psb || packet->type == pt::PacketType::ovf;
    if (clears) last.clear();
    std::string line = pt::to_string(*packet);
    if (packet->ip_bytes != pt::IpBytes::suppressed && last.update(*packet)) {
      char address[24];
      std::snprintf(address, sizeof(address), " 0x%llx",
                    static_cast<unsigned long long>(last.ip()));
      line = std::string(pt::name(packet->type)) + address;
    }
    out.push_back(std::move(line));
  }
  return out;
}

}  // namespace hodo::capture
