#include "opcode_table.h"

#include "opcode.h"

namespace hodo::pt {
namespace {

constexpr std::uint8_t byte(unsigned value) { return static_cast<std::uint8_t>(value); }

// The four IP packets: their low five bits under each legal IPBytes value.
constexpr void add_ip_packets(std::array<Opcode, 256>& table) {
  struct IpOpcode {
    std::uint8_t low;
    PacketType type;
  };
  constexpr IpOpcode kTypes[] = {{opcode::kTip, PacketType::tip},
                                 {opcode::kTipPge, PacketType::tip_pge},
                                 {opcode::kTipPgd, PacketType::tip_pgd},
                                 {opcode::kFup, PacketType::fup}};
  struct IpSize {
    IpBytes form;
    std::uint8_t bytes;
  };
  constexpr IpSize kSizes[] = {{IpBytes::suppressed, 0}, {IpBytes::update16, 2},
                               {IpBytes::update32, 4},   {IpBytes::sext48, 6},
                               {IpBytes::update48, 6},   {IpBytes::full, 8}};
  for (const IpOpcode& ip : kTypes) {
    for (const IpSize& size : kSizes) {
      const unsigned high = static_cast<unsigned>(size.form) << opcode::kIpBytesShift;
      table[ip.low | high] = {Form::ip, ip.type, 1, byte(1u + size.bytes)};
    }
  }
}

constexpr std::array<Opcode, 256> make_opcodes() {
  std::array<Opcode, 256> table{};
  // 0000'0100 is the smallest short TNT: a stop bit and one outcome.
  for (unsigned i = 4; i < 256; i += 2) table[i] = {Form::tnt_short, PacketType::tnt, 1, 1};
  for (unsigned i = opcode::kCyc; i < 256; i += 4) table[i] = {Form::cyc, PacketType::cyc, 1, 1};
  add_ip_packets(table);
  table[opcode::kPad] = {Form::plain, PacketType::pad, 1, 1};
  table[opcode::kExtended] = {Form::extended};
  table[opcode::kTsc] = {Form::plain, PacketType::tsc, 1, 8};
  table[opcode::kMtc] = {Form::plain, PacketType::mtc, 1, 2};
  table[opcode::kMode] = {Form::mode, PacketType::mode_exec, 1, 2};
  table[opcode::kTrig] = {Form::trig, PacketType::trig, 1, 3};
  return table;
}

constexpr std::array<Opcode, 256> make_extended_opcodes() {
  std::array<Opcode, 256> table{};
  for (unsigned ip_bit : {0u, unsigned{opcode::kExtIpBit}}) {
    table[opcode::kExtPtw | ip_bit] = {Form::ptw, PacketType::ptw, 2, 6};
    table[opcode::kExtPtw | 1u << 5 | ip_bit] = {Form::ptw, PacketType::ptw, 2, 10};
    table[opcode::kExtExstop | ip_bit] = {Form::ip_bit, PacketType::exstop, 2, 2};
    table[opcode::kExtBep | ip_bit] = {Form::ip_bit, PacketType::bep, 2, 2};
  }
  table[opcode::kExtCbr] = {Form::cbr, PacketType::cbr, 2, 4};
  table[opcode::kExtCfe] = {Form::cfe, PacketType::cfe, 2, 4};
  table[opcode::kExtPwre] = {Form::pwre, PacketType::pwre, 2, 4};
  table[opcode::kExtPsbend] = {Form::plain, PacketType::psbend, 2, 2};
  table[opcode::kExtPip] = {Form::pip, PacketType::pip, 2, 8};
  table[opcode::kExtEvd] = {Form::evd, PacketType::evd, 3, 11};
  table[opcode::kExtBbp] = {Form::bbp, PacketType::bbp, 2, 3};
  table[opcode::kExtTma] = {Form::tma, PacketType::tma, 2, 7};
  table[opcode::kExtPsb] = {Form::psb, PacketType::psb, 16, 16};
  table[opcode::kExtTraceStop] = {Form::plain, PacketType::trace_stop, 2, 2};
  table[opcode::kExtPwrx] = {Form::pwrx, PacketType::pwrx, 2, 7};
  table[opcode::kExtTntLong] = {Form::tnt_long, PacketType::tnt, 2, 8};
  table[opcode::kExtMwait] = {Form::plain, PacketType::mwait, 2, 10};
  table[opcode::kExtMnt] = {Form::mnt, PacketType::mnt, 3, 3};
  table[opcode::kExtVmcs] = {Form::vmcs, PacketType::vmcs, 2, 7};
  table[opcode::kExtOvf] = {Form::plain, PacketType::ovf, 2, 2};
  return table;
}

}  // namespace

constexpr std::array<Opcode, 256> kOpcodes = make_opcodes();
constexpr std::array<Opcode, 256> kExtendedOpcodes = make_extended_opcodes();

}  // namespace hodo::pt
