#include "random_packets.h"

#include <gtest/gtest.h>

#include <array>

#include "hodo/pt/writer.h"

namespace hodo::pt {
namespace {

unsigned below(unsigned limit, Random& random) { return static_cast<unsigned>(random() % limit); }

// At most `width` bits; small numbers are as likely as large ones.
std::uint64_t number(unsigned width, Random& random) {
  const unsigned used = below(width + 1, random);
  return used == 0 ? 0 : random() >> (64 - used);
}

std::uint32_t bit(Random& random) { return below(2, random); }

Packet random_tnt(Random& random) {
  Packet out{.type = PacketType::tnt};
  if (bit(random)) out.size = 8;
  out.count = static_cast<std::uint8_t>(1 + below(bit(random) ? 6 : 47, random));
  out.payload = random() >> (64 - out.count);
  return out;
}

Packet random_ip(PacketType type, Random& random) {
  struct Form {
    IpBytes ip_bytes;
    unsigned width;
  };
  constexpr std::array<Form, 6> kForms = {{{IpBytes::suppressed, 0},
                                           {IpBytes::update16, 16},
                                           {IpBytes::update32, 32},
                                           {IpBytes::sext48, 48},
                                           {IpBytes::update48, 48},
                                           {IpBytes::full, 64}}};
  const Form form = kForms[below(kForms.size(), random)];
  return {.type = type, .ip_bytes = form.ip_bytes, .payload = number(form.width, random)};
}

Packet random_sized(PacketType type, std::uint32_t extra, Random& random) {
  const std::uint8_t bytes = bit(random) ? 8 : 4;
  return {.type = type, .count = bytes, .payload = number(8u * bytes, random), .extra = extra};
}

Packet random_trig(Random& random) {
  Packet out{.type = PacketType::trig, .payload = number(8, random), .extra = below(8, random)};
  if (out.extra & kTrigCounted) out.extra |= static_cast<std::uint32_t>(number(16, random)) << 16;
  return out;
}

Packet random_plain(PacketType type, unsigned payload_width, Random& random) {
  return {.type = type, .payload = number(payload_width, random)};
}

Packet random_pair(PacketType type, unsigned payload_width, unsigned extra_width, Random& random) {
  Packet out = random_plain(type, payload_width, random);
  out.extra = static_cast<std::uint32_t>(number(extra_width, random));
  return out;
}

}  // namespace

Packet random_packet(PacketType type, Random& random) {
  switch (type) {
    case PacketType::pad:
    case PacketType::psb:
    case PacketType::psbend:
    case PacketType::ovf:
    case PacketType::trace_stop:
      return {.type = type};
    case PacketType::tnt:
      return random_tnt(random);
    case PacketType::tip:
    case PacketType::tip_pge:
    case PacketType::tip_pgd:
    case PacketType::fup:
      return random_ip(type, random);
    case PacketType::pip:
      return {.type = type, .payload = number(47, random) << 5, .extra = bit(random)};
    case PacketType::mode_exec:
      return {.type = type, .payload = below(3, random) | bit(random) << 2};
    case PacketType::mode_tsx:
      return {.type = type, .payload = below(3, random)};
    case PacketType::vmcs:
      return {.type = type, .payload = number(40, random) << 12};
    case PacketType::tsc:
      return random_plain(type, 56, random);
    case PacketType::mtc:
    case PacketType::cbr:
      return random_plain(type, 8, random);
    case PacketType::tma:
      return random_pair(type, 16, 9, random);
    case PacketType::cyc:
      return random_plain(type, 61, random);
    case PacketType::mnt:
    case PacketType::mwait:
      return random_plain(type, 64, random);
    case PacketType::ptw:
      return random_sized(type, bit(random), random);
    case PacketType::bip:
      return random_sized(type, below(32, random), random);
    case PacketType::exstop:
    case PacketType::bep:
      return {.type = type, .extra = bit(random)};
    case PacketType::pwre:
      return random_plain(type, 9, random);
    case PacketType::pwrx:
      return random_plain(type, 12, random);
    case PacketType::bbp:
      return random_pair(type, 5, 1, random);
    case PacketType::cfe:
      return {.type = type,
              .payload = number(5, random),
              .extra = static_cast<std::uint32_t>(number(8, random)) << 8 | bit(random)};
    case PacketType::evd:
      return random_pair(type, 64, 6, random);
    case PacketType::trig:
      return random_trig(random);
  }
  return {};
}

Packet random_packet_outside_block(Random& random) {
  for (;;) {
    const auto type = static_cast<PacketType>(below(kPacketTypes, random));
    if (type != PacketType::bip) return random_packet(type, random);
  }
}

void append(Packet& packet, std::vector<std::uint8_t>& bytes) {
  std::array<std::uint8_t, kMaxPacketSize> buffer;
  const std::size_t size = write(packet, buffer);
  ASSERT_GT(size, 0u) << name(packet.type);
  packet.size = static_cast<std::uint8_t>(size);
  bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(size));
}

std::vector<std::uint8_t> encode(Packet& packet) {
  std::vector<std::uint8_t> bytes;
  append(packet, bytes);
  return bytes;
}

void flip_bit(std::vector<std::uint8_t>& bytes, Random& random) {
  std::uint8_t& byte = bytes[random() % bytes.size()];
  byte = static_cast<std::uint8_t>(byte ^ 1u << random() % 8);
}

Packet block_for(const Packet& bip) {
  return {.type = PacketType::bbp, .extra = bip.count == 4 ? 1u : 0u};
}

}  // namespace hodo::pt
