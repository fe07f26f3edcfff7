#include <array>

#include "hodo/pt/packet.h"

namespace hodo::pt {
namespace {

// In the order of PacketType.
constexpr std::array<std::string_view, kPacketTypes> kNames = {
    "PAD", "PSB",       "PSBEND",   "OVF",   "TraceStop",          //
    "TNT",                                                         //
    "TIP", "TIP.PGE",   "TIP.PGD",  "FUP",                         //
    "PIP", "MODE.Exec", "MODE.TSX", "VMCS",                        //
    "TSC", "MTC",       "TMA",      "CYC",   "CBR",                //
    "MNT", "PTW",       "EXSTOP",   "MWAIT", "PWRE",      "PWRX",  //
    "BBP", "BIP",       "BEP",                                     //
    "CFE", "EVD",       "TRIG",
};
static_assert(kNames.back() == "TRIG", "one name for each packet type");

}  // namespace

std::string_view name(PacketType type) { return kNames[static_cast<std::size_t>(type)]; }

}  // namespace hodo::pt
