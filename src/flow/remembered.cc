// Following the path by what is remembered of it: the hot loop of the decoder.
//
// It reads the packets that most of a trace consists of (TNT, TIP, TIP.PGE, TIP.PGD, padding) and
// looks up what each of them did the last time at this address. Whatever is not known, or is any
// other packet, it leaves to run(), which walks the code and remembers the way.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "packet_bytes.h"
#include "path_decoder.h"

namespace hodo::flow {
// The decoder's state, in registers as far as possible, and what was counted.
struct PathDecoder::Follower {
  explicit Follower(PathDecoder& decoder)
      : memo(*decoder.memo_),
        builder(decoder.builder_),
        out(decoder.out_),
        returns(decoder.walker_.returns()),
        time(decoder.walker_.time),
        mode(decoder.walker_.mode),
        at(decoder.bytes_.data() + decoder.reader_.offset()),
        end(decoder.bytes_.data() + decoder.bytes_.size()),
        ip(decoder.walker_.ip),
        last_ip(decoder.last_ip_.ip()),
        enabled(decoder.walker_.enabled) {}

  PathMemo& memo;
  StretchBuilder& builder;
  Output& out;
  ReturnStack& returns;
  const std::uint64_t time;
  const isa::Mode mode;
  const std::uint8_t* at;
  const std::uint8_t* const end;
  std::uint64_t ip;
  std::uint64_t last_ip;
  bool enabled;
  std::uint64_t outcomes = kNoOutcomes;
  const std::uint8_t* tnt_at = nullptr;  // the last TNT
  std::size_t in_stretches = 0;          // bytes
  LongPacketCounts counts;

  template <Want kWant>
  void run();
  template <Want kWant>
  bool take_stretch();
  template <Want kWant>
  bool step_and_build();
  void finish_stretch(const std::uint8_t* stretch_end);
  const std::uint8_t* pads_end() const;

  template <Want kWant>
  const Path* take(StepKind kind, std::uint64_t key, std::optional<std::uint64_t> guard = {});
  template <Want kWant>
  bool take_outcomes(std::uint64_t bits);
  template <Want kWant>
  bool step();
  template <Want kWant>
  bool step_tnt();
  template <Want kWant>
  bool step_ip(StepKind kind, std::uint64_t& packets, std::uint64_t& bytes);
  template <Want kWant>
  bool step_end();
};

template <Want kWant>
[[gnu::always_inline]] inline const Path* PathDecoder::Follower::take(
    StepKind kind, std::uint64_t key, std::optional<std::uint64_t> guard) {
  Path* const path = memo.find(ip, key, what_of(kind, mode));
  if (path == nullptr || !path->valid_at(time)) return nullptr;
  if constexpr (kWant == Want::runs) {
    if (!out.line_begins(*path, ip)) return nullptr;
    out.move_line(*path, memo);
  }
  memo.hit(*path);
  if (builder.building()) builder.append(*path, guard, memo);
  if ((path->peak | path->pops) != 0) memo.move_returns(returns, *path);
  if constexpr (kWant == Want::branches) out.repeat(*path, memo, time);
  ip = path->next;
  return path;
}

// Outcomes under their stop bit; false: some are left for the walker.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Follower::take_outcomes(std::uint64_t bits) {
  while (bits != kNoOutcomes) {
    const Path* path = take<kWant>(StepKind::outcomes, first_ones(bits));
    if (path == nullptr) {
      // A return that the path before decides about.
      const auto top = returns.top();
      const bool taken = (bits >> (outcomes_left(bits) - 1) & 1) != 0;
      if (taken && top) path = take<kWant>(StepKind::compressed, wrap(*top, mode), top);
    }
    if (path == nullptr) {
      outcomes = bits;
      return false;
    }
    bits = without(bits, path->used);
  }
  return true;
}

// A packet with an IP; false, and where it was, if it is left to the walker.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Follower::step_ip(StepKind kind,
                                                                  std::uint64_t& packets,
                                                                  std::uint64_t& bytes) {
  const IpBytes packet(at, end, last_ip);
  if (packet.size == 0 || take<kWant>(kind, packet.ip) == nullptr) return false;
  last_ip = packet.ip;
  packets += 1;
  bytes += packet.size;
  at += packet.size;
  return true;
}

template <Want kWant>
bool PathDecoder::Follower::step_end() {
  if (*at >> 5 != 0) {
    return step_ip<kWant>(StepKind::trace_end, counts.ends, counts.end_bytes);
  }
  if (take<kWant>(StepKind::trace_end_at, 0) == nullptr) return false;
  counts.ends += 1;
  counts.end_bytes += 1;
  ++at;
  return true;
}

template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Follower::step_tnt() {
  const TntBytes packet(at, end);
  if (packet.size == 0) return false;
  tnt_at = at;
  at += packet.size;
  counts.tnts += 1;
  counts.tnt_bytes += packet.size;
  counts.tnt_bits += outcomes_left(packet.outcomes);
  return take_outcomes<kWant>(packet.outcomes);
}

// One packet, or a run of padding; false if it needs the walker.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Follower::step() {
  const std::uint8_t* const start = at;
  switch (common_packet(*at)) {
    case CommonPacket::pad:
      at = std::find_if(at, pads_end(), [](std::uint8_t byte) { return byte != 0; });
      counts.pads += static_cast<std::size_t>(at - start);
      return true;
    case CommonPacket::tnt:
      return enabled && step_tnt<kWant>();
    case CommonPacket::tip:
      return enabled && step_ip<kWant>(StepKind::indirect, counts.tips, counts.tip_bytes);
    case CommonPacket::end:
      if (!enabled || !step_end<kWant>()) return false;
      enabled = false;
      return true;
    case CommonPacket::begin:
      if (enabled) return false;
      ip = 0;
      if (!step_ip<kWant>(StepKind::trace_begin, counts.begins, counts.begin_bytes)) return false;
      enabled = true;
      return true;
    case CommonPacket::other:
      break;
  }
  return false;
}

const std::uint8_t* PathDecoder::Follower::pads_end() const {
  return builder.building() ? std::min(end, builder.limit()) : end;
}

// Many packets at once, if their bytes came before at this place; if they did but are not known,
// they will be: the builder begins.
template <Want kWant>
[[gnu::always_inline]] inline bool PathDecoder::Follower::take_stretch() {
  StretchTable& stretches = memo.stretches();
  const std::uint8_t what = what_of(enabled ? StepKind::stretch : StepKind::stretch_off, mode);
  const std::uint64_t from = enabled ? ip : 0;
  const std::uint64_t key = StretchTable::key_of(at, last_ip, returns.top().value_or(0));
  Stretch* const known = stretches.find(from, key, what, [&](const Stretch& stretch) {
    return stretch.last_ip == last_ip && stretch.path.valid_at(time) && stretch.same_bytes(at) &&
           stretch.fits(returns) && (kWant != Want::runs || out.line_begins(stretch.path, from));
  });
  if (known == nullptr) {
    if (stretches.came_before(from, key, at)) {
      builder.begin(from, key, what, last_ip, at, counts);
    }
    return false;
  }
  stretches.hit(*known);
  stretches.paid();
  for (unsigned i = 0; i < known->path.pops; ++i) returns.drop();
  for (unsigned i = 0; i < known->path.pushes; ++i) {
    returns.put(memo.return_address(known->path, i));
  }
  if constexpr (kWant == Want::branches) out.repeat(known->path, memo, time);
  if constexpr (kWant == Want::runs) out.move_line(known->path, memo);
  ip = known->path.next;
  last_ip = known->next_last_ip;
  enabled = known->enabled_after;
  at += known->length;
  in_stretches += known->length;
  return true;
}

void PathDecoder::Follower::finish_stretch(const std::uint8_t* stretch_end) {
  builder.finish(stretch_end, counts, last_ip, enabled, memo);
}

// A step of a stretch that is being built.
template <Want kWant>
bool PathDecoder::Follower::step_and_build() {
  if (at + short_packet_size(at, end) > builder.limit() || at == builder.limit() ||
      !builder.has_room()) {
    finish_stretch(at);
    return true;
  }
  const unsigned appended = builder.appended();
  const std::uint8_t* const before = at;
  const LongPacketCounts counted = counts;
  if (step<kWant>()) return true;
  if (builder.appended() == appended) {
    const LongPacketCounts now = std::exchange(counts, counted);
    finish_stretch(before);
    counts = now;
  }
  builder.give_up();
  return false;
}

template <Want kWant>
void PathDecoder::Follower::run() {
  while (at != end) {
    if (builder.building()) {
      if (!step_and_build<kWant>()) return;
      continue;
    }
    if (*at != 0 && end - at >= static_cast<std::ptrdiff_t>(kStretchBytes) &&
        memo.stretches().worth_a_look(at) && take_stretch<kWant>()) {
      continue;
    }
    if (builder.building()) continue;
    if (!step<kWant>()) return;
  }
  builder.give_up();
}

bool PathDecoder::may_follow() const {
  return memo_ != nullptr && !walker_.in_tx && !async_from_ && !exec_pending_ && !in_gap_ &&
         !after_overflow_ && bound_.empty() && event_data_ == 0 && !reader_.in_block();
}

void PathDecoder::follow() {
  if (memo_->full()) {
    out_.finish_passages();  // repeats name paths of this memory
    out_.settle(*memo_);
    memo_->start_anew();
  }
  if (goes_by_steps()) return go_by_steps();
  out_.begin_repeats();
  Follower f(*this);
  if (out_.wants_branches()) {
    f.run<Want::branches>();
  } else if (out_.wants_runs()) {
    f.run<Want::runs>();
  } else {
    f.run<Want::counts>();
  }
  const auto reached = static_cast<std::size_t>(f.at - bytes_.data());
  memo_->followed(reached - reader_.offset(), f.in_stretches);
  reader_.seek(reached);
  walker_.ip = f.ip;
  walker_.enabled = f.enabled;
  last_ip_ = pt::LastIp(f.last_ip);
  outcomes_ = f.outcomes;
  if (outcomes_ != kNoOutcomes) {
    tnt_at_ = packet_at_ = static_cast<std::size_t>(f.tnt_at - bytes_.data());
  }
  count_packets(out_.stats(), f.counts, 1);
}

// To the instruction that a FUP names.
Halt PathDecoder::go_to(std::uint64_t ip) {
  if (follow_to(ip)) return Halt::arrived;
  const Position start = watch();
  const Halt halt = walker_.to_ip(ip);
  if (halt == Halt::arrived) remember(StepKind::place, ip, 0, start, position());
  return halt;
}

bool PathDecoder::follow_to(std::uint64_t ip) {
  if (memo_ == nullptr || walker_.in_tx || out_.wants_lines()) return false;
  Path* const path = memo_->find(walker_.ip, ip, what_of(StepKind::place, walker_.mode));
  if (path == nullptr || !path->valid_at(walker_.time)) return false;
  if (out_.wants_runs()) {
    if (!out_.line_begins(*path, walker_.ip)) return false;
    out_.move_line(*path, *memo_);
  }
  memo_->hit(*path);
  memo_->move_returns(walker_.returns(), *path);
  if (out_.wants_branches()) out_.repeat(*path, *memo_, walker_.time);
  walker_.ip = path->next;
  return true;
}

PathDecoder::Position PathDecoder::watch() {
  blocks_.watch();
  walker_.returns().watch();
  return position();
}

PathDecoder::Position PathDecoder::position() const {
  const ReturnStack& returns = walker_.returns();
  return {out_.mark(), walker_.ip, returns.level(), returns.peak()};
}

// Keeps what was just walked for follow().
void PathDecoder::remember(StepKind kind, std::uint64_t key, unsigned used, const Position& from,
                           const Position& to) {
  if (memo_ == nullptr || walker_.in_tx || memo_->full()) return;
  if (goes_by_steps() && is_stepped(kind)) return;
  const std::uint8_t what = what_of(kind, walker_.mode);
  const Path* const known = memo_->find(from.ip, key, what);
  if (known != nullptr && known->valid_at(walker_.time)) return;
  // Flushed branches are no longer there to be read.
  if (from.mark.flushes != to.mark.flushes) return;
  const auto edges = out_.between(from.mark, to.mark);
  const std::uint64_t insns = to.mark.counted_insns - from.mark.counted_insns;
  constexpr int kMostCalls = ReturnStack::kSize / 2;
  if (edges.size() > kMostPathEdges || to.peak > kMostCalls ||
      std::max(insns, from.mark.pending_insns) > kMostPathInsns) {
    return;
  }
  const ReturnStack& returns = walker_.returns();
  const bool pops = returns.low() < 0;
  Path path{.ip = from.ip, .key = key, .next = to.ip};
  path.valid_from = blocks_.validity().from;
  path.valid_until = blocks_.validity().until;
  path.insns = static_cast<std::uint32_t>(insns);
  path.tail = static_cast<std::uint32_t>(edges.empty() ? insns : to.mark.pending_insns);
  path.edge_count = static_cast<std::uint16_t>(edges.size());
  path.what = what;
  path.used = used & 0x7f;
  path.dropped = static_cast<std::uint16_t>(to.mark.dropped - from.mark.dropped);
  path.pops = pops ? 1 : 0;
  path.peak = static_cast<std::uint8_t>(pops ? 0 : to.peak);
  path.pushes = static_cast<std::uint8_t>(to.level - (pops ? -1 : 0));
  std::array<std::uint64_t, kMostCalls> pushed{};
  // The walk may have gone on, through more calls, to see that the path ends at `to`.
  const auto later = static_cast<unsigned>(returns.level() - to.level);
  for (unsigned i = 0; i < path.pushes; ++i) {
    pushed[i] = returns.entry(later + path.pushes - 1 - i);
  }
  std::vector<Branch> own(edges.begin(), edges.end());
  if (!own.empty()) own.front().insns -= static_cast<std::uint32_t>(from.mark.pending_insns);
  memo_->remember(path, own, std::span(pushed).first(path.pushes));
}

}  // namespace hodo::flow
