// From a packet's first bytes to its type, size and payload's form, by table.
#pragma once

#include <array>
#include <cstdint>

#include "hodo/pt/packet.h"

namespace hodo::pt {

// How the bytes after the header become a Packet.
enum class Form : std::uint8_t {
  invalid,   // no packet begins so
  extended,  // look the second byte up in kExtendedOpcodes
  plain,     // the payload is a number, or nothing
  psb,
  tnt_short,
  tnt_long,
  ip,
  pip,
  mode,
  vmcs,
  tma,
  cyc,
  cbr,
  mnt,
  ptw,
  ip_bit,
  pwre,
  pwrx,
  bbp,
  cfe,
  evd,
  trig,
};

struct Opcode {
  Form form = Form::invalid;
  PacketType type = PacketType::pad;
  std::uint8_t header = 0;  // bytes before the payload
  std::uint8_t size = 0;    // of the packet; the least it can have for mnt, cyc and trig
};

extern const std::array<Opcode, 256> kOpcodes;          // by first byte
extern const std::array<Opcode, 256> kExtendedOpcodes;  // by second byte

}  // namespace hodo::pt
