#include "path_decoder.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "loss_sentences.h"
#include "psb_plus.h"

namespace hodo::flow {

using isa::InsnClass;
using pt::PacketType;
using pt::ReadStatus;

namespace {

// One OVF packet, and nothing else: of a thread that was killed before it had handed anything over.
bool is_lone_overflow(std::span<const std::uint8_t> bytes) {
  constexpr std::array<std::uint8_t, 2> kOvf{0x02, 0xf3};
  return std::ranges::equal(bytes, kOvf);
}

}  // namespace

PathDecoder::PathDecoder(BlockCache& blocks, PathMemo* memo, StepGraph* graph, bool by_steps,
                         const Config& config, Output& out)
    : config_(config),
      blocks_(blocks),
      memo_(memo),
      graph_(graph),
      by_steps_(by_steps),
      out_(out),
      walker_(blocks, config, out),
      clock_(config) {}

void PathDecoder::begin(const Piece& piece, bool after_loss) {
  enter_piece(piece, 0);
  out_.stats().bytes += piece.bytes.size();
  start(piece, after_loss);
}

void PathDecoder::enter_piece(const Piece& piece, std::size_t offset) {
  reader_ = pt::PacketReader(piece.bytes, offset, config_.errata);
  bytes_ = piece.bytes;
  looked_.at = nullptr;
  piece_offset_ = piece.offset;
  cut_off_from_ = piece.cut_off_from;
  packet_at_ = offset;
  paused_ = false;
}

// Segment by segment, each from a PSB to the next.
bool PathDecoder::advance(std::size_t limit) {
  for (;;) {
    Step step;
    if (!std::exchange(paused_, false)) {
      psb_ = reader_.offset();
      if (reader_.at_end()) return false;
      if (psb_ >= cut_off_from_) return true;
      if (!out_.progress(piece_offset_ + psb_)) return false;
      step = enter(psb_);
      if (step && psb_ >= limit) {
        paused_ = true;
        return true;
      }
    }
    if (step) step = run();
    while (!step && drift(step.error())) step = run();
    if (!step && !resync(step.error(), psb_)) return false;
  }
}

void PathDecoder::end() {
  forget_pending();
  close_gap(0, 0);
  out_.commit();
}

// To the first PSB, and a word about what lies before it.
void PathDecoder::start(const Piece& piece, bool after_loss) {
  const std::uint64_t last_ip = walker_.enabled ? walker_.ip : 0;
  forget_pending();
  synced_ = false;
  walker_.enabled = false;
  (void)reader_.sync_forward();
  const auto head = piece.bytes.first(reader_.offset());
  const bool only_padding = std::ranges::all_of(head, [](std::uint8_t byte) { return byte == 0; });
  if (after_loss) {
    in_gap_ = true;
    gap_from_ = last_ip;
    clock_.lose_sync();
    if (piece.altered_before) {
      report(LossCause::altered, head.size(), 0, sentences::altered(piece.lost_before));
    } else {
      report(LossCause::recorder_lost, head.size(), 0, sentences::recorder_lost(piece.lost_before));
    }
  } else if (reader_.at_end() && is_lone_overflow(head)) {
    report(LossCause::overflow, head.size(), 0, sentences::overflow());
  } else if (!only_padding) {
    report(LossCause::head_cut, head.size(), 0, sentences::head_cut(reader_.at_end()));
  }
}

// Reads the PSB+ group; tracing goes on where it says.
PathDecoder::Step PathDecoder::enter(std::size_t psb) {
  const auto ip = psb_plus().ip();
  last_ip_.clear();
  walker_.returns().clear();
  lost_calls_ = false;
  forget_pending();
  const bool known = !psb_plus().packets().empty();
  if (auto step = known ? take_psb_plus() : read_psb_plus(psb); !step) return step;
  if (after_overflow_) return {};
  synced_ = true;
  const bool was_enabled = walker_.enabled;
  walker_.enabled = ip.has_value();
  if (!ip) {
    close_gap(0, 0);
  } else if (!was_enabled) {
    if (auto step = inside_filter(*ip, "PSB"); !step) return step;
    arrive(*ip);
  }
  return {};
}

// Tracing begins at `ip`, a packet says: no filter that was recorded with may leave it out.
PathDecoder::Step PathDecoder::inside_filter(std::uint64_t ip, const char* packet) const {
  if (!walker_.outside_filter(ip)) return {};
  return std::unexpected(
      Failure{LossCause::filter_mismatch, sentences::traced_outside(ip, packet), ip});
}

// The PSB+ group at the reader. That tracing is off can be known from the packets before, too; then
// its FUP need not be believed.
const PsbPlus& PathDecoder::psb_plus() {
  const bool known_off = synced_ && !walker_.enabled;
  const bool bdm70 = known_off || config_.errata.bdm70;
  // Both segments that meet at a PSB ask.
  if (looked_.at != bytes_.data() + reader_.offset() || looked_.bdm70 != bdm70) {
    looked_.at = bytes_.data() + reader_.offset();
    looked_.bdm70 = bdm70;
    looked_.found.look(reader_, bdm70);
  }
  return looked_.found;
}

// A group that is as it should be, as was seen when looking into it.
PathDecoder::Step PathDecoder::take_psb_plus() {
  const std::size_t begin = reader_.offset();
  std::size_t bytes = 0;
  for (const PsbPlus::Located& located : looked_.found.packets()) {
    const pt::Packet& packet = located.packet;
    packet_at_ = located.offset;
    count(packet);
    bytes += packet.size;
    if (packet.type == PacketType::psb || packet.type == PacketType::psbend) continue;
    if (auto step = status_packet(packet); !step) return step;
  }
  reader_.seek(packet_at_ + looked_.found.packets().back().packet.size);
  count_padding(reader_.offset() - begin - bytes);
  return {};
}

// Any other.
PathDecoder::Step PathDecoder::read_psb_plus(std::size_t psb) {
  pt::Packet packet;
  do {
    count_padding(reader_.skip_padding());
    if (reader_.at_end()) break;
    if (auto failure = next_packet(packet)) return std::unexpected(std::move(*failure));
    if (packet.type == PacketType::psb && packet_at_ == psb) continue;
    if (packet.type == PacketType::psbend) break;
    if (packet.type == PacketType::ovf) {
      on_overflow();
      return {};
    }
    if (auto step = status_packet(packet); !step) return step;
  } while (!reader_.at_end());
  return {};
}

PathDecoder::Step PathDecoder::status_packet(const pt::Packet& packet) {
  switch (packet.type) {
    case PacketType::mode_exec:
      if (walker_.enabled && exec_ && mode_of(packet.payload) != walker_.mode) change_mode();
      exec_pending_ = packet.payload;
      apply_mode();
      return {};
    case PacketType::mode_tsx:
      apply_tsx(packet.payload);
      return {};
    case PacketType::fup:
      (void)last_ip_.update(packet);
      return {};
    case PacketType::pip:
      tell(EventKind::paging, packet);
      return {};
    case PacketType::tsc:
      if (clock_.contradicts(packet)) go_back_in_time(packet);
      return on_other(packet);
    default:
      if (!may_be_in_psb_plus(packet.type)) {
        return std::unexpected(Failure{LossCause::bad_packet, sentences::no_psbend(packet.type)});
      }
      return on_other(packet);
  }
}

// The PSB+ contradicts the packets before it: the path begins anew with what it says.
void PathDecoder::leave_path() {
  if (!in_gap_) gap_from_ = walker_.enabled ? walker_.ip : 0;
  in_gap_ = true;
  walker_.enabled = false;
  walker_.in_tx = false;
}

// Code of another width begins at a branch, and a MODE.Exec with it.
void PathDecoder::change_mode() {
  leave_path();
  report(LossCause::impossible_outcome, 0, 0, sentences::mode_changed());
}

// Only at a PSB+: so a damaged time costs no more than its own segment.
void PathDecoder::go_back_in_time(const pt::Packet& tsc) {
  leave_path();
  const std::uint64_t before = clock_.now();
  clock_.go_back();
  clock_.apply(tsc);
  report(LossCause::bad_time, 0, 0, sentences::bad_time(before - clock_.now()));
}

// Decoding starts at `ip` without a branch that leads there.
void PathDecoder::arrive(std::uint64_t ip) {
  walker_.enabled = true;
  walker_.ip = ip;
  if (in_gap_) return close_gap(ip, kResync);
  walker_.emit(0, ip, BranchKind::begin, kResync);
}

void PathDecoder::close_gap(std::uint64_t to, std::uint8_t flags) {
  if (!std::exchange(in_gap_, false)) return;
  walker_.emit(gap_from_, to, BranchKind::lost, flags);
}

void PathDecoder::report(LossCause cause, std::uint64_t skipped, std::uint64_t ip,
                         std::string reason) {
  out_.loss({.cause = cause,
             .offset = offset(),
             .skipped = skipped,
             .last_ip = gap_from_,
             .ip = ip,
             .time = clock_.now(),
             .reason = std::move(reason)});
}

// Gives the rest of the segment up: to the next PSB. False if there is none.
bool PathDecoder::resync(const Failure& failure, std::size_t psb) {
  constexpr std::size_t kPsbSize = 16;
  gap_from_ = walker_.enabled ? walker_.ip : 0;
  in_gap_ = true;
  synced_ = false;
  walker_.enabled = false;
  walker_.in_tx = false;
  clock_.lose_sync();
  // A damaged packet may have swallowed the first bytes of a PSB. One that is only cut off as yet
  // is no damage.
  const bool cut_off = more_follows_ && failure.cause == LossCause::truncated;
  const std::size_t back = std::min<std::size_t>(reader_.offset(), kPsbSize - 1);
  reader_.seek(cut_off ? bytes_.size() : std::max(psb + kPsbSize, reader_.offset() - back));
  const bool found = reader_.sync_forward();
  const std::size_t skipped = std::max(reader_.offset(), packet_at_) - packet_at_;
  report(failure.cause, skipped, failure.ip, failure.reason);
  out_.commit();
  return found;
}

// Until the next PSB or the end.
PathDecoder::Step PathDecoder::run() {
  pt::Packet packet;
  for (;;) {
    if (may_follow()) follow();
    if (outcomes_ != kNoOutcomes) {
      if (auto step = take_outcomes(); !step) return step;
      continue;
    }
    if (reader_.at_end()) break;
    if (auto failure = next_packet(packet)) return std::unexpected(std::move(*failure));
    if (packet.type == PacketType::psb) {
      unread(packet);
      if (auto step = nothing_waits(packet.type); !step) return step;
      return cross_psb();
    }
    if (auto step = on_packet(packet); !step) return step;
    out_.commit();
  }
  return {};
}

// The segment that ends here must arrive where the next one begins.
PathDecoder::Step PathDecoder::cross_psb() {
  if (adrift_) {
    walker_.enabled = false;
    walker_.in_tx = false;
    synced_ = false;
    return {};
  }
  if (async_from_) return std::unexpected(impossible(sentences::no_tip_after_fup()));
  const auto ip = psb_plus().ip();
  if (after_overflow_) return {};  // either may be
  if (walker_.enabled != ip.has_value()) {
    return std::unexpected(impossible(sentences::psb_contradicts(walker_.enabled)));
  }
  if (!ip) return {};
  const Halt halt = go_to(*ip);
  if (halt != Halt::arrived) return std::unexpected(stopped(halt, "PSB"));
  return {};
}

std::optional<PathDecoder::Failure> PathDecoder::next_packet(pt::Packet& packet) {
  packet_at_ = reader_.offset();
  switch (reader_.read(packet)) {
    case ReadStatus::packet:
      break;
    case ReadStatus::truncated:
      return Failure{LossCause::truncated, sentences::truncated()};
    case ReadStatus::malformed:
      return Failure{LossCause::bad_packet, sentences::bad_packet(reader_)};
  }
  count(packet);
  return std::nullopt;
}

void PathDecoder::count(const pt::Packet& packet) {
  const auto type = static_cast<std::size_t>(packet.type);
  out_.stats().packets[type] += 1;
  out_.stats().packet_bytes[type] += packet.size;
}

void PathDecoder::count_padding(std::size_t pads) {
  constexpr auto kPad = static_cast<std::size_t>(PacketType::pad);
  out_.stats().packets[kPad] += pads;
  out_.stats().packet_bytes[kPad] += pads;
}

// The packet just read is somebody else's.
void PathDecoder::unread(const pt::Packet& packet) {
  const auto type = static_cast<std::size_t>(packet.type);
  out_.stats().packets[type] -= 1;
  out_.stats().packet_bytes[type] -= packet.size;
  reader_.seek(packet_at_);
}

PathDecoder::Step PathDecoder::on_packet(const pt::Packet& packet) {
  if (auto step = nothing_waits(packet.type); !step) return step;
  if (adrift_) return on_packet_adrift(packet);
  switch (packet.type) {
    case PacketType::tnt:
      return on_tnt(packet);
    case PacketType::tip:
      return on_tip(packet);
    case PacketType::tip_pgd:
      return on_tip_pgd(packet);
    case PacketType::tip_pge:
      return on_tip_pge(packet);
    case PacketType::fup:
      return on_fup(packet);
    default:
      return on_other(packet);
  }
}

PathDecoder::Step PathDecoder::on_tnt(const pt::Packet& packet) {
  if (async_from_) return std::unexpected(impossible(sentences::no_tip_after_fup()));
  if (!walker_.enabled) return std::unexpected(traced_while_off("TNT"));
  out_.stats().tnt_bits += packet.count;
  outcomes_ = std::uint64_t{1} << packet.count | packet.payload;
  tnt_at_ = packet_at_;
  return take_outcomes();
}

PathDecoder::Step PathDecoder::take_outcomes() {
  while (outcomes_ != kNoOutcomes) {
    if (auto step = follow_outcomes(); !step) return step;
    out_.commit();
  }
  return {};
}

// Through conditional branches and returns from calls that were seen, which depend on nothing but
// the outcomes; or through one return that the path before decides about. Both can be remembered.
PathDecoder::Step PathDecoder::follow_outcomes() {
  const std::uint64_t key = first_ones(outcomes_);
  const unsigned count = outcomes_left(key);
  const Position start = watch();
  Position last = start;  // behind the last outcome
  for (unsigned used = 0; used < count; ++used) {
    const Block* block = nullptr;
    const Halt halt = walker_.to_decision(block);
    if (halt != Halt::decision) return std::unexpected(stopped(halt, "TNT"));
    const bool taken = (key >> (count - used - 1) & 1) != 0;
    if (block->cls == InsnClass::cond) {
      walker_.take_cond(*block, taken);
    } else if (block->cls == InsnClass::ret && walker_.returns().level() > 0) {
      if (auto step = on_return(*block, taken); !step) return step;
    } else {
      if (used > 0) remember(StepKind::outcomes, key, used, start, last);
      if (block->cls != InsnClass::ret) return on_deferred_tip(*block);
      if (auto step = on_return(*block, taken); !step) return step;
      outcomes_ = without(outcomes_, 1);
      remember(StepKind::compressed, walker_.ip, 1, last, position());
      return {};
    }
    outcomes_ = without(outcomes_, 1);
    last = position();
  }
  remember(StepKind::outcomes, key, count, start, last);
  return {};
}

// A return in the TNT is compressed: it goes to where the return stack says. (The TIP of one that
// is not forces the TNTs before it out; only other TIPs are deferred.)
PathDecoder::Step PathDecoder::on_return(const Block& block, bool taken) {
  if (!taken) return std::unexpected(unfit("TNT (not taken)", block));
  if (walker_.take_return(block)) return {};
  Failure failure = unfit("TNT", block);
  if (lost_calls_) {
    failure.cause = LossCause::lost_call;
    failure.reason = sentences::lost_call(failure.ip);
    return std::unexpected(std::move(failure));
  }
  failure.reason +=
      ": it would be a compressed return, but its call is not in this part of the trace";
  return std::unexpected(std::move(failure));
}

// An indirect branch while outcomes of later branches are left: its TIP comes behind the TNT (SDM,
// "Deferred TIPs").
PathDecoder::Step PathDecoder::on_deferred_tip(const Block& block) {
  const Block branch = block;
  pt::Packet packet;
  do {
    if (reader_.at_end()) return std::unexpected(unfit("TNT at the end", branch));
    if (auto failure = next_packet(packet)) return std::unexpected(std::move(*failure));
    if (is_timing_or_pad(packet.type)) (void)on_other(packet);
  } while (is_timing_or_pad(packet.type));
  if (packet.type != PacketType::tip || !last_ip_.update(packet)) {
    unread(packet);
    return std::unexpected(unfit("TNT", branch));
  }
  walker_.take_indirect(branch, last_ip_.ip());
  return {};
}

PathDecoder::Step PathDecoder::on_tip(const pt::Packet& packet) {
  if (!walker_.enabled) return std::unexpected(traced_while_off("TIP"));
  if (!last_ip_.update(packet)) return std::unexpected(impossible(sentences::no_ip("TIP")));
  if (async_from_) {
    const std::uint8_t flags = async_kind_ == BranchKind::abort ? 0 : kAsync;
    walker_.emit(*async_from_, last_ip_.ip(), async_kind_, flags);
    walker_.ip = last_ip_.ip();
    async_from_.reset();
  } else {
    const Block* block = nullptr;
    const Position start = watch();
    const Halt halt = walker_.to_decision(block);
    if (halt != Halt::decision) return std::unexpected(stopped(halt, "TIP"));
    if (block->cls == InsnClass::cond) return std::unexpected(unfit("TIP", *block));
    const std::uint64_t to = aborted_target().value_or(last_ip_.ip());
    walker_.take_indirect(*block, to);
    remember(StepKind::indirect, to, 0, start, position());
  }
  apply_mode();
  return {};
}

PathDecoder::Step PathDecoder::on_tip_pgd(const pt::Packet& packet) {
  const bool has_ip = last_ip_.update(packet);
  if (!walker_.enabled) {
    // Erratum APL11: one too many after an overflow.
    if (std::exchange(after_overflow_, false)) return {};
    return std::unexpected(impossible(sentences::not_enabled("TIP.PGD")));
  }
  // Erratum SKD022: that FUP should not be.
  if (async_from_ && config_.errata.skd022 && walker_.is_at(InsnClass::vmentry)) {
    async_from_.reset();
  }
  if (async_from_) {
    const bool abort = async_kind_ == BranchKind::abort;
    walker_.emit(*async_from_, has_ip ? last_ip_.ip() : 0, abort ? async_kind_ : BranchKind::end,
                 static_cast<std::uint8_t>(kTraceEnd | (abort ? 0 : kAsync)));
    async_from_.reset();
    walker_.enabled = false;
  } else {
    const auto to = has_ip ? std::optional(last_ip_.ip()) : std::nullopt;
    const Position start = watch();
    const Halt halt = walker_.to_trace_end(to);
    if (halt != Halt::arrived) return std::unexpected(stopped(halt, "TIP.PGD"));
    remember(to ? StepKind::trace_end : StepKind::trace_end_at, to.value_or(0), 0, start,
             position());
  }
  apply_mode();
  return {};
}

PathDecoder::Step PathDecoder::on_tip_pge(const pt::Packet& packet) {
  if (!last_ip_.update(packet)) return std::unexpected(impossible(sentences::no_ip("TIP.PGE")));
  if (walker_.enabled) return std::unexpected(impossible(sentences::enabled_twice()));
  if (auto step = inside_filter(last_ip_.ip(), "TIP.PGE"); !step) return step;
  close_gap(0, 0);
  after_overflow_ = false;
  walker_.enabled = true;
  walker_.ip = 0;
  const Position start = watch();
  walker_.ip = last_ip_.ip();
  walker_.emit(0, walker_.ip, BranchKind::begin, 0);
  remember(StepKind::trace_begin, walker_.ip, 0, start, position());
  apply_mode();
  return {};
}

PathDecoder::Step PathDecoder::on_fup(const pt::Packet& packet) {
  const bool has_ip = last_ip_.update(packet);
  const std::uint64_t ip = has_ip ? last_ip_.ip() : 0;
  if (async_from_) return std::unexpected(impossible(sentences::no_tip_after_fup()));
  if (!walker_.enabled) {
    if (has_ip && after_overflow_) {
      if (config_.errata.apl12 && stays_off()) return {};
      after_overflow_ = false;
      walker_.enabled = true;
      walker_.ip = ip;
      close_gap(ip, 0);
      return {};
    }
    if (deliver_bound(ip) || (!has_ip && after_overflow_)) return {};
    if (!has_ip) return std::unexpected(impossible(sentences::fup_for_nothing()));
    return std::unexpected(impossible(sentences::not_enabled("FUP")));
  }
  if (has_ip) {
    const Halt halt = go_to(ip);
    if (halt != Halt::arrived && !misled_abort(ip)) {
      return std::unexpected(stopped(halt, "FUP"));
    }
  }
  if (deliver_bound(ip)) return {};
  if (!has_ip) return std::unexpected(impossible(sentences::fup_for_nothing()));
  // A software interrupt's instruction goes where the TIP says.
  if (async_kind_ == BranchKind::int_ && walker_.is_at(InsnClass::int_)) return {};
  async_from_ = ip;
  return {};
}

// The processor dropped packets. If tracing is on when it can write again, a FUP says where (SDM,
// "Overflow Packet"); otherwise TIP.PGE will. IP compression starts anew: the decoder cannot know
// what the IPs in the lost packets were.
void PathDecoder::on_overflow() {
  if (!in_gap_) gap_from_ = walker_.enabled ? async_from_.value_or(walker_.ip) : 0;
  in_gap_ = true;
  report(LossCause::overflow, 0, 0, sentences::overflow());
  forget_pending();
  walker_.enabled = false;
  walker_.in_tx = false;
  walker_.returns().clear();
  lost_calls_ = false;
  last_ip_.clear();
  clock_.lose_sync();
  after_overflow_ = true;
}

// TIP.PGD comes before TraceStop; where it is missing, this is where the path ends.
void PathDecoder::on_trace_stop() {
  if (on_path()) walker_.emit(walker_.ip, 0, BranchKind::end, kTraceEnd);
  if (std::exchange(adrift_, false)) close_gap(0, 0);
  walker_.enabled = false;
  walker_.in_tx = false;
  async_from_.reset();
}

void PathDecoder::forget_pending() {
  outcomes_ = kNoOutcomes;
  adrift_ = false;
  async_from_.reset();
  async_kind_ = BranchKind::irq;
  exec_pending_.reset();
  give_up_bound();
  event_data_ = 0;
  after_overflow_ = false;
}

PathDecoder::Failure PathDecoder::stopped(Halt halt, const char* packet) const {
  Failure failure{.ip = walker_.ip};
  switch (halt) {
    case Halt::no_code:
      failure.cause = LossCause::no_code;
      failure.reason = sentences::no_code(walker_.ip);
      break;
    case Halt::bad_code:
      failure.cause = LossCause::bad_code;
      failure.reason = sentences::bad_code(walker_.ip);
      break;
    case Halt::endless:
      failure.cause = LossCause::endless_loop;
      failure.reason = sentences::endless(walker_.ip, packet);
      break;
    case Halt::decision:
    case Halt::arrived:
      failure.reason = sentences::blocked(walker_.ip, packet);
      break;
  }
  if (walker_.outside_filter(walker_.ip)) {
    failure.cause = LossCause::filter_mismatch;
    failure.reason += sentences::outside_filter();
  }
  return failure;
}

PathDecoder::Failure PathDecoder::unfit(const char* packet, const Block& block) const {
  const std::uint64_t at = last_ip(walker_.ip, block);
  Failure failure{.reason = sentences::unfit(at, packet, block.cls), .ip = at};
  if (walker_.outside_filter(at)) {
    failure.cause = LossCause::filter_mismatch;
    failure.reason += sentences::outside_filter();
  }
  return failure;
}

}  // namespace hodo::flow
