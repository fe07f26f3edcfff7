#include "libipt_packets.h"

#include <intel-pt.h>

#include <cstdlib>

namespace hodo::pt {
namespace {

Packet with_ip(PacketType type, const pt_packet& from) {
  return {.type = type,
          .ip_bytes = static_cast<IpBytes>(from.payload.ip.ipc),
          .payload = from.payload.ip.ip};
}

Packet from_tnt(const pt_packet_tnt& tnt) {
  return {.type = PacketType::tnt, .count = tnt.bit_size, .payload = tnt.payload};
}

Packet from_mode(const pt_packet_mode& mode) {
  if (mode.leaf == pt_mol_exec) {
    const unsigned bits = mode.bits.exec.csl | mode.bits.exec.csd << 1;
    return {.type = PacketType::mode_exec, .payload = bits};
  }
  const unsigned bits = mode.bits.tsx.intx | mode.bits.tsx.abrt << 1;
  return {.type = PacketType::mode_tsx, .payload = bits};
}

Packet from_pwre(const pt_packet_pwre& pwre) {
  const unsigned hw = pwre.hw;
  return {.type = PacketType::pwre,
          .payload = pwre.sub_state | unsigned{pwre.state} << 4 | hw << 8};
}

Packet from_pwrx(const pt_packet_pwrx& pwrx) {
  const unsigned reason = pwrx.interrupt | pwrx.store << 2 | pwrx.autonomous << 3;
  return {.type = PacketType::pwrx,
          .payload = pwrx.last | unsigned{pwrx.deepest} << 4 | reason << 8};
}

Packet from_ptw(const pt_packet_ptw& ptw) {
  return {.type = PacketType::ptw,
          .count = static_cast<std::uint8_t>(pt_ptw_size(ptw.plc)),
          .payload = ptw.payload,
          .extra = ptw.ip};
}

Packet convert(const pt_packet& from) {
  const auto& payload = from.payload;
  switch (from.type) {
    case ppt_pad:
      return {.type = PacketType::pad};
    case ppt_psb:
      return {.type = PacketType::psb};
    case ppt_psbend:
      return {.type = PacketType::psbend};
    case ppt_ovf:
      return {.type = PacketType::ovf};
    case ppt_stop:
      return {.type = PacketType::trace_stop};
    case ppt_tnt_8:
    case ppt_tnt_64:
      return from_tnt(payload.tnt);
    case ppt_tip:
      return with_ip(PacketType::tip, from);
    case ppt_tip_pge:
      return with_ip(PacketType::tip_pge, from);
    case ppt_tip_pgd:
      return with_ip(PacketType::tip_pgd, from);
    case ppt_fup:
      return with_ip(PacketType::fup, from);
    case ppt_mode:
      return from_mode(payload.mode);
    case ppt_pip:
      return {.type = PacketType::pip, .payload = payload.pip.cr3, .extra = payload.pip.nr};
    case ppt_vmcs:
      return {.type = PacketType::vmcs, .payload = payload.vmcs.base};
    case ppt_cbr:
      return {.type = PacketType::cbr, .payload = payload.cbr.ratio};
    case ppt_tsc:
      return {.type = PacketType::tsc, .payload = payload.tsc.tsc};
    case ppt_tma:
      return {.type = PacketType::tma, .payload = payload.tma.ctc, .extra = payload.tma.fc};
    case ppt_mtc:
      return {.type = PacketType::mtc, .payload = payload.mtc.ctc};
    case ppt_cyc:
      return {.type = PacketType::cyc, .payload = payload.cyc.value};
    case ppt_mnt:
      return {.type = PacketType::mnt, .payload = payload.mnt.payload};
    case ppt_exstop:
      return {.type = PacketType::exstop, .extra = payload.exstop.ip};
    case ppt_mwait:
      return {.type = PacketType::mwait,
              .payload = payload.mwait.hints | std::uint64_t{payload.mwait.ext} << 32};
    case ppt_pwre:
      return from_pwre(payload.pwre);
    case ppt_pwrx:
      return from_pwrx(payload.pwrx);
    case ppt_ptw:
      return from_ptw(payload.ptw);
    default:
      std::abort();  // a packet that this comparison does not know would go unseen
  }
}

}  // namespace

void LibiptReader::Free::operator()(pt_packet_decoder* decoder) const {
  pt_pkt_free_decoder(decoder);
}

LibiptReader::LibiptReader(std::span<const std::uint8_t> bytes) {
  pt_config config;
  pt_config_init(&config);
  // libipt only reads, but its configuration is shared with its encoder.
  config.begin = const_cast<std::uint8_t*>(bytes.data());
  config.end = config.begin + bytes.size();
  decoder_.reset(pt_pkt_alloc_decoder(&config));
  if (!decoder_) std::abort();
}

ReadStatus LibiptReader::read_at(std::size_t offset, Packet& packet) {
  if (pt_pkt_sync_set(decoder_.get(), offset) < 0) return ReadStatus::truncated;
  pt_packet read;
  const int size = pt_pkt_next(decoder_.get(), &read, sizeof(read));
  if (size == -pte_eos) return ReadStatus::truncated;
  if (size < 0) return ReadStatus::malformed;
  packet = convert(read);
  packet.size = static_cast<std::uint8_t>(size);
  return ReadStatus::packet;
}

bool libipt_differs(std::span<const std::uint8_t> rest) {
  if (rest.empty()) return false;
  if (rest[0] == 0xD9) return true;  // TRIG
  if (rest.size() < 2) return false;
  if (rest[0] == 0x99) return (rest[1] & 3) == 3;
  if (rest[0] != 0x02) return false;
  switch (rest[1]) {
    case 0x13:  // CFE
    case 0x53:  // EVD
    case 0x63:  // BBP
    case 0x33:  // BEP
    case 0xB3:
      return true;
    case 0x22:
      return rest.size() > 2 && (rest[2] >> 7 & 1) != (rest[2] >> 3 & 1);  // PWRE
    default:
      return false;
  }
}

Packet as_libipt_keeps(Packet packet) {
  if (packet.type == PacketType::mode_exec) packet.payload &= kExecCsL | kExecCsD;
  if (packet.type == PacketType::pwrx) packet.payload &= ~(std::uint64_t{1} << 9);
  return packet;
}

}  // namespace hodo::pt
