// The texts, one per type; perf_test.cc compares them with perf's own.
#include "hodo/pt/describe.h"

#include <gtest/gtest.h>

namespace hodo::pt {
namespace {

TEST(Describe, WordsPacketsAsPerfDoes) {
  struct Case {
    Packet packet;
    const char* text;
  };
  const Case kCases[] = {
      {{.type = PacketType::pad}, "PAD"},
      {{.type = PacketType::psb}, "PSB"},
      {{.type = PacketType::psbend}, "PSBEND"},
      {{.type = PacketType::ovf}, "OVF"},
      {{.type = PacketType::trace_stop}, "TraceSTOP"},
      {{.type = PacketType::tnt, .count = 4, .payload = 0b1001}, "TNT TNNT (4)"},
      {{.type = PacketType::tip, .ip_bytes = IpBytes::update32, .payload = 0x4014A0},
       "TIP 0x4014a0"},
      {{.type = PacketType::tip, .ip_bytes = IpBytes::update16}, "TIP 0x0"},
      {{.type = PacketType::tip_pge, .ip_bytes = IpBytes::sext48, .payload = 0x7FFFF7819000},
       "TIP.PGE 0x7ffff7819000"},
      {{.type = PacketType::tip_pgd}, "TIP.PGD no ip"},
      {{.type = PacketType::fup, .ip_bytes = IpBytes::full, .payload = ~0ull},
       "FUP 0xffffffffffffffff"},
      {{.type = PacketType::mode_exec, .payload = kExecCsL}, "MODE.Exec IF:0 64"},
      {{.type = PacketType::mode_exec, .payload = kExecCsD | kExecIf}, "MODE.Exec IF:1 32"},
      {{.type = PacketType::mode_exec}, "MODE.Exec IF:0 16"},
      {{.type = PacketType::mode_tsx, .payload = 2}, "MODE.TSX TXAbort:1 InTX:0"},
      {{.type = PacketType::cbr, .payload = 0x18}, "CBR 0x18"},
      {{.type = PacketType::tsc, .payload = 0xABCDEF}, "TSC 0xabcdef"},
      {{.type = PacketType::mtc, .payload = 0x10}, "MTC 0x10"},
      {{.type = PacketType::tma, .payload = 2, .extra = 0x1F}, "TMA CTC 0x2 FC 0x1f"},
      {{.type = PacketType::ptw, .count = 4, .payload = 0x10, .extra = 1}, "PTWRITE 0x10 IP:1"},
      {{.type = PacketType::trig, .payload = 5, .extra = 1}, "TRIG IP:1 Mult:0 Vector 0x05"},
      {{.type = PacketType::trig, .payload = 5, .extra = kTrigCounted | 0x10u << 16},
       "TRIG IP:0 Mult:0 Vector 0x05 Count 0x10"},
  };
  for (const Case& one : kCases) EXPECT_EQ(to_string(one.packet), one.text);
}

TEST(Describe, NamesAreTheManuals) {
  EXPECT_EQ(name(PacketType::trace_stop), "TraceStop");
  EXPECT_EQ(name(PacketType::ptw), "PTW");
  EXPECT_EQ(name(PacketType::tip_pge), "TIP.PGE");
  EXPECT_EQ(name(PacketType::mode_exec), "MODE.Exec");
  EXPECT_EQ(name(PacketType::cyc), "CYC");
  EXPECT_EQ(name(PacketType::bip), "BIP");
  EXPECT_EQ(name(PacketType::trig), "TRIG");
}

}  // namespace
}  // namespace hodo::pt
