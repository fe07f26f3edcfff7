// The sentences about losses: what happened and what the likely cause is.
#pragma once

#include <cstdint>
#include <string>

#include "hodo/flow/decoder.h"
#include "hodo/isa/insn.h"
#include "hodo/pt/packet.h"
#include "hodo/pt/reader.h"

namespace hodo::flow::sentences {

std::string head_cut(bool no_psb);
std::string recorder_lost(std::uint64_t bytes);
std::string altered(std::uint64_t bytes);
std::string overflow();
std::string dropped_fup();
std::string part_of_ip();
std::string misled_abort();
std::string bad_time(std::uint64_t ahead);
std::string truncated();
std::string bad_packet(pt::PacketReader at);
std::string no_psbend(pt::PacketType found);
std::string no_tip_after_fup();
std::string psb_contradicts(bool enabled);
std::string fup_for_nothing();
std::string no_fup_for(EventKind event);
std::string no_cfe_for_evd();
std::string lone_psbend();
std::string mode_changed();
std::string not_enabled(const char* packet);
std::string enabled_twice();
std::string no_ip(const char* packet);
std::string no_code(std::uint64_t ip);
std::string bad_code(std::uint64_t ip);
std::string endless(std::uint64_t ip, const char* packet);
std::string blocked(std::uint64_t ip, const char* packet);
std::string unfit(std::uint64_t ip, const char* packet, isa::InsnClass cls);
std::string lost_call(std::uint64_t ip);
std::string traced_outside(std::uint64_t ip, const char* packet);
std::string outside_filter();

}  // namespace hodo::flow::sentences
