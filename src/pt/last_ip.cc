#include "hodo/pt/packet.h"

namespace hodo::pt {
namespace {

constexpr std::uint64_t low_mask(unsigned bits) { return (std::uint64_t{1} << bits) - 1; }

constexpr std::uint64_t replace_low(std::uint64_t old, std::uint64_t low, unsigned bits) {
  return (old & ~low_mask(bits)) | (low & low_mask(bits));
}

constexpr std::uint64_t sign_extend48(std::uint64_t value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << 16) >> 16);
}

}  // namespace

bool LastIp::update(const Packet& packet) {
  switch (packet.ip_bytes) {
    case IpBytes::suppressed:
      return false;
    case IpBytes::update16:
      ip_ = replace_low(ip_, packet.payload, 16);
      return true;
    case IpBytes::update32:
      ip_ = replace_low(ip_, packet.payload, 32);
      return true;
    case IpBytes::sext48:
      ip_ = sign_extend48(packet.payload);
      return true;
    case IpBytes::update48:
      ip_ = replace_low(ip_, packet.payload, 48);
      return true;
    case IpBytes::full:
      ip_ = packet.payload;
      return true;
  }
  return false;
}

IpBytes LastIp::compress(std::uint64_t ip) {
  const std::uint64_t changed = ip ^ ip_;
  ip_ = ip;
  if (changed >> 16 == 0) return IpBytes::update16;
  if (changed >> 32 == 0) return IpBytes::update32;
  // Of the two 6-byte forms this one does not lean on the last IP.
  if (sign_extend48(ip) == ip) return IpBytes::sext48;
  if (changed >> 48 == 0) return IpBytes::update48;
  return IpBytes::full;
}

}  // namespace hodo::pt
