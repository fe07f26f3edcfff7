// The bytes that packets begin with (SDM vol. 3, "Packet Definitions"), stated once for the
// reader's tables and the writer.
#pragma once

#include <cstdint>

namespace hodo::pt::opcode {

inline constexpr std::uint8_t kPad = 0x00;
inline constexpr std::uint8_t kExtended = 0x02;  // a second byte tells, see below
inline constexpr std::uint8_t kTsc = 0x19;
inline constexpr std::uint8_t kMtc = 0x59;
inline constexpr std::uint8_t kMode = 0x99;
inline constexpr std::uint8_t kTrig = 0xD9;

// Low five bits; IPBytes lies above them.
inline constexpr std::uint8_t kTip = 0x0D;
inline constexpr std::uint8_t kTipPge = 0x11;
inline constexpr std::uint8_t kTipPgd = 0x01;
inline constexpr std::uint8_t kFup = 0x1D;
inline constexpr unsigned kIpBytesShift = 5;

// Low two bits; bit 2 says that another byte follows, five bits of the value lie above it. In the
// following bytes bit 0 says so, and seven bits lie above it.
inline constexpr std::uint8_t kCyc = 0x03;
inline constexpr std::uint8_t kCycMore = 0x04;
inline constexpr unsigned kCycShift = 3;

// Low three bits, inside a block only; the item's number lies above them.
inline constexpr std::uint8_t kBip = 0x04;
inline constexpr std::uint8_t kBipMask = 0x07;
inline constexpr unsigned kBipShift = 3;

// Second bytes after kExtended.
inline constexpr std::uint8_t kExtCbr = 0x03;
inline constexpr std::uint8_t kExtPtw = 0x12;  // low five bits; payload size in 6:5, IP bit 7
inline constexpr std::uint8_t kExtCfe = 0x13;
inline constexpr std::uint8_t kExtPwre = 0x22;
inline constexpr std::uint8_t kExtPsbend = 0x23;
inline constexpr std::uint8_t kExtBep = 0x33;  // bit 7 is the IP bit
inline constexpr std::uint8_t kExtPip = 0x43;
inline constexpr std::uint8_t kExtEvd = 0x53;
inline constexpr std::uint8_t kExtExstop = 0x62;  // bit 7 is the IP bit
inline constexpr std::uint8_t kExtBbp = 0x63;
inline constexpr std::uint8_t kExtTma = 0x73;
inline constexpr std::uint8_t kExtPsb = 0x82;
inline constexpr std::uint8_t kExtTraceStop = 0x83;
inline constexpr std::uint8_t kExtPwrx = 0xA2;
inline constexpr std::uint8_t kExtTntLong = 0xA3;
inline constexpr std::uint8_t kExtMwait = 0xC2;
inline constexpr std::uint8_t kExtMnt = 0xC3;  // and a third byte
inline constexpr std::uint8_t kExtVmcs = 0xC8;
inline constexpr std::uint8_t kExtOvf = 0xF3;
inline constexpr std::uint8_t kExtIpBit = 0x80;

inline constexpr std::uint8_t kExt2Mnt = 0x88;  // third byte after kExtMnt

// Bits of the first TRIG payload byte.
inline constexpr std::uint8_t kTrigIp = 1 << 7;
inline constexpr std::uint8_t kTrigIcntv = 1 << 6;
inline constexpr std::uint8_t kTrigMult = 1 << 5;

}  // namespace hodo::pt::opcode
