#include "loss_sentences.h"

#include <array>
#include <charconv>

namespace hodo::flow::sentences {
namespace {

using isa::InsnClass;

std::string hex(std::uint64_t value) {
  std::array<char, 18> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, 16).ptr;
  return "0x" + std::string(digits.data(), end);
}

constexpr const char* kOtherCode =
    ": the code is not the code that ran (another build, or changed while it ran), or the trace is "
    "damaged";

const char* branch_name(InsnClass cls) {
  switch (cls) {
    case InsnClass::cond:
      return "a conditional branch";
    case InsnClass::ijmp:
      return "an indirect jump";
    case InsnClass::icall:
      return "an indirect call";
    case InsnClass::ret:
      return "a return";
    case InsnClass::syscall:
      return "a system call";
    case InsnClass::sysret:
      return "a return from a system call";
    case InsnClass::int_:
      return "a software interrupt";
    case InsnClass::iret:
      return "a return from an interrupt";
    case InsnClass::vmentry:
    case InsnClass::vmexit:
      return "a switch between guest and host";
    default:
      return "a far branch";
  }
}

}  // namespace

std::string head_cut(bool no_psb) {
  return no_psb
             ? "there is no PSB, so that nothing can be decoded: the trace is too short for one, "
               "or it is no Intel PT"
             : "the trace does not begin with a PSB: its beginning was overwritten or cut off";
}

std::string recorder_lost(std::uint64_t bytes) {
  const std::string amount = bytes == 0 ? "an unknown number of" : std::to_string(bytes);
  return amount +
         " bytes of the trace are not in the file: the buffer was not read fast enough, the "
         "thread was not recorded for a time, or the file is damaged before this place";
}

std::string altered(std::uint64_t bytes) {
  return "the file has " + std::to_string(bytes) +
         " bytes of trace before this place that are not those that were recorded";
}

std::string bad_time(std::uint64_t ahead) {
  return "the time here is " + std::to_string(ahead) +
         " ticks before that of the packets before: one of them, or this one, is damaged";
}

std::string overflow() {
  return "packets were dropped (OVF): there were more than could be written";
}

std::string dropped_fup() {
  return "nothing says where the path goes on behind an OVF: a mistake of this processor (SKD010)";
}

std::string part_of_ip() {
  return "tracing begins at an address of which only a part is known, since the one before was lost";
}

std::string misled_abort() {
  return "the branch before a transaction's abort is recorded with a wrong target: a mistake of this"
         " processor (BDM64)";
}

std::string truncated() { return "the trace ends inside a packet: the recording was cut off"; }

std::string bad_packet(pt::PacketReader at) {
  const auto packet = at.next();
  const std::string what = packet ? "bad packet" : packet.error().message;
  return what + ": the trace is damaged, or of a newer processor";
}

std::string no_psbend(pt::PacketType found) {
  return std::string(pt::name(found)) +
         " among the packets that follow a PSB: the trace is damaged";
}

std::string no_tip_after_fup() {
  return "FUP without its TIP or TIP.PGD: packets are missing here";
}

std::string psb_contradicts(bool enabled) {
  return enabled ? "PSB without FUP though tracing was on: the TIP.PGD before it is missing"
                 : "PSB with FUP though tracing was off: the TIP.PGE before it is missing";
}

std::string fup_for_nothing() {
  return "FUP without an IP, and no packet before it that it could belong to: packets are missing "
         "here";
}

std::string no_fup_for(EventKind event) {
  return "the FUP of an event (" + std::string(name(event)) +
         ") does not follow it: packets are missing here";
}

std::string no_cfe_for_evd() { return "EVD without a CFE that it fits: packets are missing here"; }

std::string lone_psbend() { return "PSBEND without its PSB: packets are missing here"; }

std::string mode_changed() {
  return "the PSB+ says another width of code than the packets before it: a MODE.Exec is missing";
}

std::string not_enabled(const char* packet) {
  return std::string(packet) + " while tracing is off: the TIP.PGE before it is missing";
}

std::string enabled_twice() {
  return "TIP.PGE while tracing is on: the TIP.PGD before it is missing";
}

std::string no_ip(const char* packet) {
  return std::string(packet) + " without an IP: the path has no next address";
}

std::string no_code(std::uint64_t ip) {
  return "no code at " + hex(ip) +
         ": the file that was mapped there is missing, or the code was made while the program ran";
}

std::string bad_code(std::uint64_t ip) { return "no instruction at " + hex(ip) + kOtherCode; }

std::string endless(std::uint64_t ip, const char* packet) {
  return "the code from " + hex(ip) + " on goes round, or on for ever, without a branch that the" +
         " next packet (" + packet + ") could be of" + kOtherCode;
}

std::string blocked(std::uint64_t ip, const char* packet) {
  return "the code from " + hex(ip) + " on branches before it comes to where the next packet (" +
         packet + ") says" + kOtherCode;
}

std::string unfit(std::uint64_t ip, const char* packet, InsnClass cls) {
  return "the next packet (" + std::string(packet) + ") does not fit the next branch, " +
         branch_name(cls) + " at " + hex(ip) + kOtherCode;
}

std::string lost_call(std::uint64_t ip) {
  return "the return at " + hex(ip) +
         " goes back to a call that lies in a part of the path that was lost before";
}

std::string traced_outside(std::uint64_t ip, const char* packet) {
  return std::string(packet) + " says that " + hex(ip) +
         " was traced, which the filter that was given leaves out: it differs from the one that "
         "was" +
         " recorded with";
}

std::string outside_filter() {
  return "; the address lies outside the filter that was given, which may not be the one that was "
         "active while recording";
}

}  // namespace hodo::flow::sentences
