// Following the path by what is remembered of it: the hot loop of the decoder.
//
// It reads the packets that most of a trace consists of (TNT, TIP, TIP.PGE, TIP.PGD, padding) and
// looks up what each of them did the last time at this address. Whatever is not known, or is any
// other packet, it leaves to run(), which walks the code and remembers the way.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "path_decoder.h"

namespace hodo::flow {
namespace {

constexpr std::uint32_t kMostPathInsns = 1u << 30;

constexpr int kIpForms = 8;
constexpr std::array<std::uint8_t, kIpForms> kIpSize = {0, 2, 4, 6, 6, 0, 8, 0};

// The IP of a packet whose header is `byte` and whose payload begins `low`; the form is one that
// has an IP.
std::uint64_t ip_of(std::uint8_t byte, std::uint64_t low, std::uint64_t last_ip) {
  constexpr unsigned kSext48 = 3;
  const unsigned form = byte >> 5;
  const unsigned unused = 64 - 8u * kIpSize[form];
  if (form == kSext48) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(low << unused) >> unused);
  }
  const std::uint64_t mask = ~std::uint64_t{0} >> unused;
  return (last_ip & ~mask) | (low & mask);
}

std::uint64_t load(const std::uint8_t* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

// Several paths, one behind the other, to be remembered as one.
class Together {
 public:
  Together(std::uint64_t ip, std::uint64_t key, std::uint8_t what)
      : path_{.ip = ip, .key = key, .valid_until = ~std::uint64_t{0}, .what = what} {}

  void append(const Path& path, const PathMemo& memo) {
    possible_ = possible_ && path.pops <= returns_.size() && fits(path);
    if (!possible_) return;
    for (const std::uint32_t id : std::span(memo.edge_ids(path), path.edge_count)) {
      edges_.push_back(memo.edges()[id]);
      edges_.back().insns += std::exchange(path_.tail, 0);
    }
    path_.tail += path.tail;
    path_.insns += path.insns;
    path_.next = path.next;
    path_.valid_from = std::max(path_.valid_from, path.valid_from);
    path_.valid_until = std::min(path_.valid_until, path.valid_until);
    path_.used = static_cast<std::uint8_t>(path_.used + path.used);
    path_.dropped = static_cast<std::uint8_t>(path_.dropped + path.dropped);
    path_.peak = std::max(path_.peak, static_cast<std::uint8_t>(returns_.size() + path.peak));
    if (path.pops != 0) returns_.pop_back();
    for (unsigned i = 0; i < path.pushes; ++i) returns_.push_back(memo.return_address(path, i));
  }

  void remember(PathMemo& memo) {
    if (!possible_ || memo.full()) return;
    path_.edge_count = static_cast<std::uint16_t>(edges_.size());
    path_.pushes = static_cast<std::uint8_t>(returns_.size());
    memo.remember(path_, edges_, returns_);
  }

 private:
  bool fits(const Path& path) const {
    return edges_.size() + path.edge_count <= kMostPathEdges &&
           returns_.size() + path.peak <= ReturnStack::kSize / 2 &&
           path.insns <= kMostPathInsns - path_.insns;
  }

  Path path_;
  std::vector<Branch> edges_;
  std::vector<std::uint64_t> returns_;
  bool possible_ = true;
};

// The outcomes of eight short TNTs that have all six, under one stop bit.
constexpr unsigned kTntOutcomes = 6;
constexpr std::size_t kTnts = 8;
constexpr bool all_full_tnts(std::uint64_t bytes) {
  return (bytes & 0x8181818181818181u) == 0x8080808080808080u;
}
constexpr std::uint64_t outcomes_of_tnts(std::uint64_t bytes) {
  std::uint64_t x = __builtin_bswap64(bytes) >> 1 & 0x3f3f3f3f3f3f3f3fu;
  x = (x & 0x003f003f003f003fu) | (x >> 2 & 0x0fc00fc00fc00fc0u);
  x = (x & 0x00000fff00000fffu) | (x >> 4 & 0x00fff00000fff000u);
  x = (x & 0x0000000000ffffffu) | (x >> 8 & 0x0000ffffff000000u);
  return x | std::uint64_t{1} << (kTntOutcomes * kTnts);
}
static_assert(outcomes_of_tnts(0x8080808080808082u) == (std::uint64_t{1} << 48 | 1ull << 42));

// The decoder's state, in registers as far as possible, and what was counted.
struct PathDecoder::Follower {
  PathMemo& memo;
  Output& out;
  ReturnStack& returns;
  const std::uint64_t time;
  const isa::Mode mode;
  const std::uint8_t* at;
  const std::uint8_t* const end;
  std::uint64_t ip;
  std::uint64_t last_ip;
  std::uint64_t outcomes = kNoOutcomes;
  const std::uint8_t* tnt_at = nullptr;  // the last TNT
  bool enabled;
  std::uint64_t pads = 0;
  std::uint64_t tnts = 0;
  std::uint64_t tnt_bytes = 0;
  std::uint64_t tnt_bits = 0;
  struct Count {
    std::uint64_t packets = 0;
    std::uint64_t bytes = 0;
  };
  Count tips, begins, ends;

  template <bool kBranches>
  const Path* take(StepKind kind, std::uint64_t key);
  template <bool kBranches>
  bool take_outcomes(std::uint64_t bits, unsigned at_once);
  template <bool kBranches>
  bool take_in_turn(std::uint64_t bits, unsigned at_once, Together* together);
  template <bool kBranches>
  bool step();
  template <bool kBranches>
  bool step_short_tnt();
  template <bool kBranches>
  bool step_short_tnts();
  template <bool kBranches>
  bool step_long_tnt();
  template <bool kBranches>
  bool step_ip(StepKind kind, Count& count);
  template <bool kBranches>
  bool step_end();
  void count_tnts(std::uint64_t packets, std::uint64_t bytes, std::uint64_t bits);
  void move_returns(const Path& path);
};

void PathDecoder::Follower::move_returns(const Path& path) {
  returns.rise_to(path.peak);
  if (path.pops != 0) returns.drop();
  for (unsigned i = 0; i < path.pushes; ++i) returns.put(memo.return_address(path, i));
}

template <bool kBranches>
[[gnu::always_inline]] inline const Path* PathDecoder::Follower::take(StepKind kind,
                                                                      std::uint64_t key) {
  Path* const path = memo.find(ip, key, PathMemo::what(kind, mode));
  if (path == nullptr || !path->valid_at(time)) return nullptr;
  memo.hit(*path);
  if ((path->peak | path->pops) != 0) move_returns(*path);
  if constexpr (kBranches) out.repeat(*path, memo, time);
  ip = path->next;
  return path;
}

// Outcomes under their stop bit; false: some are left for the walker.
template <bool kBranches>
bool PathDecoder::Follower::take_outcomes(std::uint64_t bits, unsigned at_once) {
  constexpr unsigned kMany = 40;
  if (outcomes_left(bits) < kMany || !memo.together_pays()) {
    return take_in_turn<kBranches>(bits, at_once, nullptr);
  }
  const std::uint64_t from = ip;
  if (take<kBranches>(StepKind::outcomes, bits) != nullptr) {
    memo.together_paid();
    return true;
  }
  if (!memo.came_before(from, bits)) return take_in_turn<kBranches>(bits, at_once, nullptr);
  Together together(from, bits, PathMemo::what(StepKind::outcomes, mode));
  if (!take_in_turn<kBranches>(bits, at_once, &together)) return false;
  together.remember(memo);
  return true;
}

template <bool kBranches>
bool PathDecoder::Follower::take_in_turn(std::uint64_t bits, unsigned at_once, Together* together) {
  while (bits != kNoOutcomes) {
    const Path* path = take<kBranches>(StepKind::outcomes, first_ones(bits, at_once));
    if (path == nullptr) {
      // A return that the path before decides about.
      const auto top = returns.top();
      const bool taken = (bits >> (outcomes_left(bits) - 1) & 1) != 0;
      if (taken && top) path = take<kBranches>(StepKind::compressed, wrap(*top, mode));
    }
    if (path == nullptr) {
      outcomes = bits;
      return false;
    }
    if (together != nullptr) together->append(*path, memo);
    bits = without(bits, path->used);
  }
  return true;
}

void PathDecoder::Follower::count_tnts(std::uint64_t packets, std::uint64_t bytes,
                                       std::uint64_t bits) {
  tnts += packets;
  tnt_bytes += bytes;
  tnt_bits += bits;
}

// A packet with an IP; false, and where it was, if it is left to the walker.
template <bool kBranches>
bool PathDecoder::Follower::step_ip(StepKind kind, Count& count) {
  const std::size_t size = kIpSize[*at >> 5];
  if (size == 0 || end - at < 9) return false;
  const std::uint64_t to = ip_of(*at, load(at + 1), last_ip);
  if (take<kBranches>(kind, to) == nullptr) return false;
  last_ip = to;
  count.packets += 1;
  count.bytes += 1 + size;
  at += 1 + size;
  return true;
}

template <bool kBranches>
bool PathDecoder::Follower::step_end() {
  if (*at >> 5 != 0) return step_ip<kBranches>(StepKind::trace_end, ends);
  if (take<kBranches>(StepKind::trace_end_at, 0) == nullptr) return false;
  ends.packets += 1;
  ends.bytes += 1;
  ++at;
  return true;
}

template <bool kBranches>
bool PathDecoder::Follower::step_long_tnt() {
  constexpr std::ptrdiff_t kSize = 8;
  if (end - at < kSize || at[1] != 0xa3) return false;
  const std::uint64_t bits = load(at) >> 16;
  if (bits <= kNoOutcomes) return false;
  tnt_at = at;
  at += kSize;
  count_tnts(1, kSize, outcomes_left(bits));
  return take_outcomes<kBranches>(bits, kMostTogether);
}

template <bool kBranches>
bool PathDecoder::Follower::step_short_tnt() {
  const std::uint64_t bits = *at >> 1;
  tnt_at = at++;
  count_tnts(1, 1, outcomes_left(bits));
  return take_in_turn<kBranches>(bits, kTntOutcomes, nullptr);
}

// Eight at once; false, and none is taken, if the first of them is left to the walker or to
// step_short_tnt(). Where another one is, the packets before it count.
template <bool kBranches>
bool PathDecoder::Follower::step_short_tnts() {
  if (end - at < static_cast<std::ptrdiff_t>(kTnts)) return false;
  const std::uint64_t bytes = load(at);
  if (!all_full_tnts(bytes)) return false;
  std::size_t begun = kTnts;
  if (!take_outcomes<kBranches>(outcomes_of_tnts(bytes), kTntOutcomes)) {
    const unsigned done =
        kTntOutcomes * kTnts - outcomes_left(std::exchange(outcomes, kNoOutcomes));
    begun = (done + kTntOutcomes - 1) / kTntOutcomes;
    if (begun == 0) return false;
    const std::uint64_t last = bytes >> (8 * (begun - 1)) >> 1 & 0x7f;
    if (done % kTntOutcomes != 0) outcomes = without(last, done % kTntOutcomes);
  }
  tnt_at = at + begun - 1;
  at += begun;
  count_tnts(begun, begun, kTntOutcomes * begun);
  return true;
}

// One packet; false if it needs the walker.
template <bool kBranches>
bool PathDecoder::Follower::step() {
  const std::uint8_t byte = *at;
  if ((byte & 1) == 0) {
    if (byte == 0) {
      const std::uint8_t* const start = at;
      while (end - at >= 8 && load(at) == 0) at += 8;
      while (at != end && *at == 0) ++at;
      pads += static_cast<std::size_t>(at - start);
      return true;
    }
    if (!enabled) return false;
    if (byte == 2) return step_long_tnt<kBranches>();
    if (step_short_tnts<kBranches>()) return outcomes == kNoOutcomes;
    return step_short_tnt<kBranches>();
  }
  switch (byte & 0x1f) {
    case 0x0d:
      return enabled && step_ip<kBranches>(StepKind::indirect, tips);
    case 0x01:
      if (!enabled || !step_end<kBranches>()) return false;
      enabled = false;
      return true;
    case 0x11:
      if (enabled) return false;
      ip = 0;
      if (!step_ip<kBranches>(StepKind::trace_begin, begins)) return false;
      enabled = true;
      return true;
    default:
      return false;
  }
}

bool PathDecoder::may_follow() const {
  return memo_ != nullptr && !walker_.in_tx && !async_from_ && !exec_pending_ && !in_gap_ &&
         !after_overflow_ && !reader_.in_block();
}

void PathDecoder::follow() {
  if (memo_->full()) {
    out_.settle(*memo_);
    memo_->clear();
  }
  Follower f{.memo = *memo_,
             .out = out_,
             .returns = walker_.returns(),
             .time = walker_.time,
             .mode = walker_.mode,
             .at = bytes_.data() + reader_.offset(),
             .end = bytes_.data() + bytes_.size(),
             .ip = walker_.ip,
             .last_ip = last_ip_.ip(),
             .enabled = walker_.enabled};
  if (out_.wants_branches()) {
    while (f.at != f.end && f.step<true>()) {
    }
  } else {
    while (f.at != f.end && f.step<false>()) {
    }
  }
  reader_.seek(static_cast<std::size_t>(f.at - bytes_.data()));
  walker_.ip = f.ip;
  walker_.enabled = f.enabled;
  last_ip_ = pt::LastIp(f.last_ip);
  outcomes_ = f.outcomes;
  if (outcomes_ != kNoOutcomes) packet_at_ = static_cast<std::size_t>(f.tnt_at - bytes_.data());
  Stats& stats = out_.stats();
  const auto count = [&](pt::PacketType type, std::uint64_t packets, std::uint64_t bytes) {
    stats.packets[static_cast<std::size_t>(type)] += packets;
    stats.packet_bytes[static_cast<std::size_t>(type)] += bytes;
  };
  count(pt::PacketType::pad, f.pads, f.pads);
  count(pt::PacketType::tnt, f.tnts, f.tnt_bytes);
  count(pt::PacketType::tip, f.tips.packets, f.tips.bytes);
  count(pt::PacketType::tip_pge, f.begins.packets, f.begins.bytes);
  count(pt::PacketType::tip_pgd, f.ends.packets, f.ends.bytes);
  stats.tnt_bits += f.tnt_bits;
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
  const std::uint8_t what = PathMemo::what(kind, walker_.mode);
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
  path.used = static_cast<std::uint8_t>(used);
  path.dropped = static_cast<std::uint8_t>(to.mark.dropped - from.mark.dropped);
  path.pops = pops ? 1 : 0;
  path.peak = static_cast<std::uint8_t>(pops ? 0 : to.peak);
  path.pushes = static_cast<std::uint8_t>(to.level - (pops ? -1 : 0));
  std::array<std::uint64_t, kMostCalls> pushed{};
  for (unsigned i = 0; i < path.pushes; ++i) {
    pushed[i] = returns.entry(path.pushes - 1 - i);
  }
  std::vector<Branch> own(edges.begin(), edges.end());
  if (!own.empty()) own.front().insns -= static_cast<std::uint32_t>(from.mark.pending_insns);
  memo_->remember(path, own, std::span(pushed).first(path.pushes));
}

}  // namespace hodo::flow
