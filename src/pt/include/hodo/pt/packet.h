// Intel PT packets, decoded (Intel SDM vol. 3, "Intel Processor Trace", "Packet Definitions").
#pragma once

#include <cstdint>
#include <string_view>

namespace hodo::pt {

enum class PacketType : std::uint8_t {
  pad,
  psb,
  psbend,
  ovf,
  trace_stop,
  tnt,  // short and long form; `size` tells them apart
  tip,
  tip_pge,
  tip_pgd,
  fup,
  pip,
  mode_exec,
  mode_tsx,
  vmcs,
  tsc,
  mtc,
  tma,
  cyc,
  cbr,
  mnt,
  ptw,
  exstop,
  mwait,
  pwre,
  pwrx,
  bbp,
  bip,
  bep,
  cfe,
  evd,
  trig,
};
inline constexpr int kPacketTypes = static_cast<int>(PacketType::trig) + 1;

// The mnemonic of the manual: "TIP.PGE", "MODE.Exec", ...
std::string_view name(PacketType type);

// How TIP, TIP.PGE, TIP.PGD and FUP carry their IP (SDM, "IP Compression"): the IPBytes field.
enum class IpBytes : std::uint8_t {
  suppressed = 0,  // no payload
  update16 = 1,    // low 16 bits replace those of the last IP
  update32 = 2,
  sext48 = 3,    // 48 bits, sign-extended
  update48 = 4,  // low 48 bits replace those of the last IP
  full = 6,
};

// One packet. Which members hold depends on `type`; the rest are zero, so that two packets can be
// compared with ==.
struct Packet {
  PacketType type = PacketType::pad;
  std::uint8_t size = 0;                   // bytes in the stream, header included
  IpBytes ip_bytes = IpBytes::suppressed;  // tip*, fup
  // tnt: number of outcomes (1-47).  ptw, bip: payload bytes (4 or 8).
  std::uint8_t count = 0;
  // Meaning of `payload` by type:
  //   tnt        outcomes, oldest in bit count-1, newest in bit 0; 1 = taken
  //   tip*, fup  the payload's low 16/32/48/64 bits as sent (see LastIp for the address)
  //   pip        CR3 (bits 51:5 in place)         vmcs  VMCS pointer (bits 51:12 in place)
  //   mode_exec  bits as sent, see ModeExec       mode_tsx  bit 0 InTX, bit 1 TXAbort
  //   tsc        56-bit value    mtc  CTC[7:0] at the MTC range    tma  CTC[15:0]
  //   cyc        cycle counter value              cbr   core:bus ratio
  //   mnt        8 bytes         ptw  operand     mwait hints (31:0) and extensions (63:32 << 32)
  //   pwre       resolved sub C-state 3:0, C-state 7:4, HW bit 8
  //   pwrx       last core C-state 3:0, deepest 7:4, wake reason 11:8
  //   bbp        type 4:0        bip  value       cfe   type 4:0        evd  value
  //   trig       trigger bit vector 7:0
  std::uint64_t payload = 0;
  //   tma  FastCounter[8:0]      pip  NR bit      bip   id 4:0          evd  type 5:0
  //   ptw, exstop, cfe, bep, trig  IP bit (the packet is followed by a FUP that binds to it)
  //   bbp  SZ bit (1: 4-byte items)               cfe   vector << 8 | IP bit
  //   trig besides the IP bit: kTrigCounted, kTrigMultiple, and the instruction count in 31:16
  std::uint32_t extra = 0;
  friend bool operator==(const Packet&, const Packet&) = default;
};

// `extra` of a TMA whose values are wrong (erratum SKZ84), which has 8 bytes and no payload.
inline constexpr std::uint32_t kTmaCorrupt = 1u << 31;

// MODE.Exec payload bits.
inline constexpr std::uint8_t kExecCsL = 1 << 0;
inline constexpr std::uint8_t kExecCsD = 1 << 1;
inline constexpr std::uint8_t kExecIf = 1 << 2;

// TRIG bits of `extra`, above the IP bit.
inline constexpr std::uint32_t kTrigCounted = 1 << 1;   // ICNTV: 31:16 hold a count, `size` is 5
inline constexpr std::uint32_t kTrigMultiple = 1 << 2;  // MULT: stands for several triggers

// The IP that the last IP-carrying packet gave; rebuilds full addresses from compressed ones
// (SDM, "IP Compression"). PSB clears it.
class LastIp {
 public:
  LastIp() = default;
  explicit LastIp(std::uint64_t ip) : ip_(ip) {}  // as it was left off
  void clear() { ip_ = 0; }
  // Applies a TIP*/FUP packet. False if IP was suppressed: there is no address, the last IP stays.
  bool update(const Packet& packet);
  std::uint64_t ip() const { return ip_; }
  // The smallest form in which a writer may send `ip` after this last IP, and keeps it.
  IpBytes compress(std::uint64_t ip);

 private:
  std::uint64_t ip_ = 0;
};

}  // namespace hodo::pt
