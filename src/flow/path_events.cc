// The packets that tell something else than the path.
#include <algorithm>
#include <utility>

#include "loss_sentences.h"
#include "path_decoder.h"

namespace hodo::flow {

using pt::PacketType;

namespace {

constexpr std::uint32_t kIpBit = 1;
constexpr std::size_t kMostBound = 16;  // more events for one FUP than any processor writes

// Control-flow events that an asynchronous branch carries out (SDM, "Control Flow Event Packet").
enum CfeType : std::uint8_t {
  kIntr = 1,
  kSmi = 3,
  kRsm = 4,
  kSipi = 5,
  kInit = 6,
  kVmExit = 8,
  kVmExitIntr = 9,
  kUintr = 12,
  kSwintr = 14,
};

// What EVD packets say of the CFE that follows them (SDM, "Event Data Packet").
enum EvdType : std::uint8_t {
  kCr2 = 0,
  kVmxQualification = 1,
  kVmxReason = 2,
};

bool comes_with_a_branch(std::uint64_t cfe) {
  constexpr std::uint32_t kTypes = 1u << kIntr | 1u << kSmi | 1u << kRsm | 1u << kSipi |
                                   1u << kInit | 1u << kVmExit | 1u << kVmExitIntr | 1u << kUintr |
                                   1u << kSwintr;
  return (kTypes >> (cfe & 31) & 1) != 0;
}

// The types of EVD, as bits, that a CFE can have before it.
std::uint32_t event_data_of(std::uint64_t cfe) {
  switch (cfe & 31) {
    case kIntr:
      return 1u << kCr2;
    case kVmExit:
    case kVmExitIntr:
      return 1u << kVmxQualification | 1u << kVmxReason;
    default:
      return 0;
  }
}

BranchKind kind_of(const Event& cfe) {
  constexpr std::uint32_t kFirstExternalVector = 32;
  constexpr std::uint32_t kNmi = 2;
  if (cfe.payload == kVmExit || cfe.payload == kVmExitIntr) return BranchKind::vmexit;
  if (cfe.payload == kSwintr) return BranchKind::int_;
  const bool exception =
      cfe.payload == kIntr && cfe.extra < kFirstExternalVector && cfe.extra != kNmi;
  return exception ? BranchKind::exc : BranchKind::irq;
}

}  // namespace

isa::Mode PathDecoder::mode_of(std::uint64_t exec_bits) {
  if ((exec_bits & pt::kExecCsL) != 0) return isa::Mode::bits64;
  return (exec_bits & pt::kExecCsD) != 0 ? isa::Mode::bits32 : isa::Mode::bits16;
}

PathDecoder::Step PathDecoder::on_other(const pt::Packet& packet) {
  const bool ip_follows = (packet.extra & kIpBit) != 0;
  switch (packet.type) {
    case PacketType::tsc:
    case PacketType::tma:
    case PacketType::mtc:
    case PacketType::cyc:
      tick(packet);
      break;
    case PacketType::cbr:
      on_cbr(packet);
      break;
    case PacketType::ovf:
      on_overflow();
      break;
    case PacketType::trace_stop:
      on_trace_stop();
      tell(EventKind::trace_stop, packet);
      break;
    case PacketType::pip:
      on_pip(packet);
      break;
    case PacketType::vmcs:
      tell(EventKind::vmcs, packet);
      break;
    case PacketType::mode_exec:
      exec_pending_ = packet.payload;  // until the next TIP, or a FUP before that (event tracing)
      break;
    case PacketType::mode_tsx:
      on_mode_tsx(packet);
      break;
    case PacketType::ptw:
      on_ptw(packet);
      break;
    case PacketType::exstop:
      if (!ip_follows) give_up_mwait();
      tell_or_bind(EventKind::exstop, packet, ip_follows);
      break;
    case PacketType::mwait:
      bind(event_here(EventKind::mwait, packet), true);  // its FUP comes behind PWRE and EXSTOP
      break;
    case PacketType::pwre:
      tell(EventKind::pwre, packet);
      break;
    case PacketType::pwrx:
      tell(EventKind::pwrx, packet);
      break;
    case PacketType::bbp:
      tell(EventKind::block_begin, packet);
      break;
    case PacketType::bip:
      tell(EventKind::block_item, packet);
      break;
    case PacketType::bep:
      tell_or_bind(EventKind::block_end, packet, ip_follows);
      break;
    case PacketType::cfe:
      return on_cfe(packet);
    case PacketType::evd:
      return on_evd(packet);
    case PacketType::psbend:
      if (after_overflow_) break;  // of a PSB+ that the overflow came into
      return std::unexpected(Failure{LossCause::bad_packet, sentences::lone_psbend()});
    case PacketType::trig:
      tell_or_bind(EventKind::trigger, packet, ip_follows);
      break;
    case PacketType::mnt:
      tell(EventKind::maintenance, packet);
      break;
    default:
      break;  // pad; psb and the path's packets do not come here
  }
  return {};
}

void PathDecoder::tick(const pt::Packet& packet) {
  clock_.apply(packet);
  walker_.time = clock_.now();
}

void PathDecoder::on_cbr(const pt::Packet& packet) {
  clock_.apply(packet);
  if (cbr_ == packet.payload) return;
  cbr_ = packet.payload;
  tell(EventKind::cbr, packet);
}

// Alone it belongs to a MOV CR3 or to the far branch whose TIP follows, behind a FUP to that event.
void PathDecoder::on_pip(const pt::Packet& packet) {
  Event event = event_here(EventKind::paging, packet);
  if (on_path() && !async_from_) {
    event.ip = walker_.through(isa::InsnClass::mov_cr3).value_or(event.ip);
  }
  deliver(event);
}

// Without an IP it belongs to the next PTWRITE; with one to that at the FUP's IP.
void PathDecoder::on_ptw(const pt::Packet& packet) {
  Event event = event_here(EventKind::ptwrite, packet);
  event.extra = packet.count;
  if ((packet.extra & kIpBit) != 0) return bind(event, true);
  event.ip = 0;
  if (on_path() && !async_from_) {
    event.ip = walker_.through(isa::InsnClass::ptwrite).value_or(0);
  }
  deliver(event);
}

// While tracing is on the packet belongs to the FUP that follows. An abort's FUP begins the branch
// to the fallback handler.
void PathDecoder::on_mode_tsx(const pt::Packet& packet) {
  if (walker_.enabled) {
    return bind(event_here(EventKind::tsx, packet), (packet.payload & kTsxAbort) == 0);
  }
  apply_tsx(packet.payload);
  tell(EventKind::tsx, packet);
}

PathDecoder::Step PathDecoder::on_cfe(const pt::Packet& packet) {
  if ((event_data_ & ~event_data_of(packet.payload)) != 0) {
    return std::unexpected(impossible(sentences::no_cfe_for_evd()));
  }
  event_data_ = 0;
  Event event = event_here(EventKind::control_flow, packet);
  event.extra = packet.extra >> 8;
  if ((packet.extra & kIpBit) != 0) {
    bind(event, true);
  } else if (walker_.enabled && comes_with_a_branch(packet.payload)) {
    bind(event, false);
  } else {
    deliver(event);
  }
  return {};
}

// Of types that are not known nothing is expected.
PathDecoder::Step PathDecoder::on_evd(const pt::Packet& packet) {
  const std::uint32_t type = packet.extra <= kVmxReason ? 1u << packet.extra : 0;
  const std::uint32_t all = event_data_ | type;
  const bool mixed = (all & 1u << kCr2) != 0 && all != 1u << kCr2;
  if ((event_data_ & type) != 0 || mixed) {
    return std::unexpected(impossible(sentences::no_cfe_for_evd()));
  }
  event_data_ = all;
  tell(EventKind::event_data, packet);
  return {};
}

Event PathDecoder::event_here(EventKind kind, const pt::Packet& packet) const {
  return {.kind = kind,
          .offset = offset(),
          .ip = on_path() ? walker_.ip : 0,
          .time = clock_.now(),
          .payload = packet.payload,
          .extra = packet.extra};
}

void PathDecoder::tell(EventKind kind, const pt::Packet& packet) {
  deliver(event_here(kind, packet));
}

void PathDecoder::tell_or_bind(EventKind kind, const pt::Packet& packet, bool binds) {
  const Event event = event_here(kind, packet);
  if (binds) return bind(event, true);
  deliver(event);
}

void PathDecoder::bind(const Event& event, bool takes_fup) {
  if (bound_.size() >= kMostBound) give_up_bound();
  bound_.push_back({event, takes_fup});
}

// A packet of the path: what an event waits for must have come by now. An MWAIT that did not send
// the processor to sleep has no FUP; all others' FUPs follow at once (SDM, "FUP generation").
PathDecoder::Step PathDecoder::nothing_waits(pt::PacketType next) {
  switch (next) {
    case PacketType::tnt:
    case PacketType::tip:
    case PacketType::tip_pge:
    case PacketType::tip_pgd:
    case PacketType::psb:
      give_up_mwait();
      if (!bound_.empty()) {
        return std::unexpected(impossible(sentences::no_fup_for(bound_.front().event.kind)));
      }
      [[fallthrough]];
    case PacketType::fup:
      if (event_data_ != 0) return std::unexpected(impossible(sentences::no_cfe_for_evd()));
      return {};
    default:
      return {};
  }
}

// It did not sleep, or woke nobody knows where.
void PathDecoder::give_up_mwait() {
  for (Bound& bound : bound_) {
    if (bound.event.kind != EventKind::mwait) continue;
    bound.event.ip = 0;
    deliver(bound.event);
  }
  std::erase_if(bound_, [](const Bound& b) { return b.event.kind == EventKind::mwait; });
}

// The FUP that pending events waited for is here and the walk has arrived at it. True if they take
// it; otherwise it begins an asynchronous branch.
bool PathDecoder::deliver_bound(std::uint64_t ip) {
  async_kind_ = BranchKind::irq;
  bool taken = exec_pending_.has_value();
  apply_mode();
  bool at_ptwrite = false;
  for (Bound& bound : std::exchange(bound_, {})) {
    taken |= bound.takes_fup;
    bound.event.ip = ip;
    bound.event.time = clock_.now();
    if (bound.event.kind == EventKind::control_flow) async_kind_ = kind_of(bound.event);
    if (bound.event.kind == EventKind::tsx) {
      if (!bound.takes_fup) async_kind_ = BranchKind::abort;
      apply_tsx(bound.event.payload);
    }
    at_ptwrite |= bound.event.kind == EventKind::ptwrite;
    deliver(bound.event);
  }
  // The packet gives the PTWRITE itself, which has retired: the next one may be the same in a loop.
  if (at_ptwrite && on_path()) walker_.execute_if(isa::InsnClass::ptwrite);
  return taken;
}

// No FUP came: the events happened all the same, nobody knows where.
void PathDecoder::give_up_bound() {
  for (Bound& bound : std::exchange(bound_, {})) {
    bound.event.ip = 0;
    deliver(bound.event);
  }
}

void PathDecoder::deliver(const Event& event) { out_.event(event); }

void PathDecoder::apply_tsx(std::uint64_t bits) { walker_.in_tx = (bits & 1) != 0; }

// MODE.Exec takes effect at the target of the TIP that it precedes.
void PathDecoder::apply_mode() {
  if (!exec_pending_) return;
  const std::uint64_t bits = *std::exchange(exec_pending_, std::nullopt);
  walker_.mode = mode_of(bits);
  if (exec_ == bits) return;
  exec_ = bits;
  pt::Packet packet{.type = PacketType::mode_exec};
  packet.payload = bits;
  tell(EventKind::exec_mode, packet);
}

}  // namespace hodo::flow
