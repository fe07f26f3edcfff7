#include "hodo/flow/clock.h"

#include <algorithm>

namespace hodo::flow {
namespace {

constexpr std::uint64_t kTscRange = std::uint64_t{1} << 56;
constexpr unsigned kTmaCtcBits = 16;

__extension__ using Wide = unsigned __int128;

std::uint64_t multiply_divide(std::uint64_t value, std::uint64_t by, std::uint64_t over) {
  return static_cast<std::uint64_t>(Wide{value} * by / over);
}

}  // namespace

// MTCFreq has four bits.
Clock::Clock(const Config& config)
    : mtc_freq_(config.mtc_freq & 15u),
      numerator_(config.tsc_ctc_numerator),
      denominator_(config.tsc_ctc_denominator),
      max_nonturbo_(config.max_nonturbo_ratio) {}

void Clock::apply(const pt::Packet& packet) {
  switch (packet.type) {
    case pt::PacketType::tsc:
      return on_tsc(packet.payload);
    case pt::PacketType::tma:
      if ((packet.extra & pt::kTmaCorrupt) != 0) return;
      return on_tma(packet.payload, packet.extra);
    case pt::PacketType::mtc:
      return on_mtc(packet.payload);
    case pt::PacketType::cyc:
      return on_cyc(packet.payload);
    case pt::PacketType::cbr:
      cbr_ = static_cast<std::uint32_t>(packet.payload);
      return;
    default:
      return;
  }
}

bool Clock::goes_as(const Clock& other) const {
  const bool same_tsc = now_ == other.now_ && tsc_ == other.tsc_ && cbr_ == other.cbr_ &&
                        reference_ == other.reference_ && cycles_ == other.cycles_ &&
                        have_ctc_ == other.have_ctc_;
  if (!same_tsc || !have_ctc_) return same_tsc;  // without, TMA sets all of the rest
  return ctc_tsc_ == other.ctc_tsc_ && ctc_ticks_ == other.ctc_ticks_ &&
         last_mtc_ == other.last_mtc_ && mtc_mask_ == other.mtc_mask_;
}

Clock::Words Clock::words() const {
  return {now_,       tsc_,      reference_, cycles_, ctc_tsc_,
          ctc_ticks_, last_mtc_, mtc_mask_,  cbr_,    std::uint64_t{have_ctc_}};
}

bool Clock::set_words(const Words& words) {
  constexpr std::uint64_t kByte = 0xff;
  if (words[6] > kByte || words[7] > kByte || words[8] > ~std::uint32_t{0} || words[9] > 1) {
    return false;
  }
  now_ = words[0];
  tsc_ = words[1];
  reference_ = words[2];
  cycles_ = words[3];
  ctc_tsc_ = words[4];
  ctc_ticks_ = words[5];
  last_mtc_ = static_cast<std::uint32_t>(words[6]);
  mtc_mask_ = static_cast<std::uint32_t>(words[7]);
  cbr_ = static_cast<std::uint32_t>(words[8]);
  have_ctc_ = words[9] != 0;
  return true;
}

// A step to a new reference: CYC counts from here.
void Clock::set(std::uint64_t time) {
  now_ = std::max(now_, time);
  reference_ = now_;
  cycles_ = 0;
}

// A step back is one across the end of the range only if that is a short way: a day or so.
std::uint64_t Clock::extended(std::uint64_t value) const {
  constexpr std::uint64_t kShort = kTscRange >> 8;
  const std::uint64_t tsc = (tsc_ & ~(kTscRange - 1)) | value;
  return tsc < tsc_ && tsc + kTscRange - tsc_ < kShort ? tsc + kTscRange : tsc;
}

// TSC packets of one stream never go back. What MTC and CYC have added to the last one may be too
// much, but not by far: CYC counts at the ratio that the last CBR packet said.
bool Clock::contradicts(const pt::Packet& tsc) const {
  constexpr std::uint64_t kNear = 1 << 20;  // ticks
  constexpr std::uint64_t kMostTimes = 4;   // what has really gone by
  const std::uint64_t time = extended(tsc.payload);
  if (time < tsc_) return true;
  return now_ > time && now_ - time > kNear && (now_ - time) / kMostTimes > time - tsc_;
}

void Clock::go_back() {
  tsc_ &= ~(kTscRange - 1);
  now_ = reference_ = cycles_ = 0;
  have_ctc_ = false;
}

void Clock::on_tsc(std::uint64_t value) {
  const std::uint64_t tsc = extended(value);
  tsc_ = tsc;
  have_ctc_ = false;  // until its TMA
  set(tsc);
}

// FastCounter: TSC ticks since the crystal clock's last tick.
void Clock::on_tma(std::uint64_t ctc, std::uint64_t fast) {
  if (numerator_ == 0 || denominator_ == 0) return;
  const std::uint64_t into_period = ctc & ((std::uint64_t{1} << mtc_freq_) - 1);
  const std::uint64_t back = fast + from_ctc(into_period);
  if (back > tsc_) return;
  ctc_tsc_ = tsc_ - back;
  ctc_ticks_ = 0;
  // MTC carries CTC[N+7:N], TMA only CTC[15:0]: for N > 8 the upper bits of the last MTC are
  // unknown.
  const unsigned known = std::min(8u, kTmaCtcBits - mtc_freq_);
  mtc_mask_ = (1u << known) - 1;
  last_mtc_ = static_cast<std::uint32_t>(ctc >> mtc_freq_) & mtc_mask_;
  have_ctc_ = true;
}

void Clock::on_mtc(std::uint64_t value) {
  if (!have_ctc_) return;
  const auto mtc = static_cast<std::uint32_t>(value);
  std::uint32_t periods = (mtc - last_mtc_) & mtc_mask_;
  if (periods == 0) periods = mtc_mask_ + 1;  // an MTC means that at least one period went by
  ctc_ticks_ += std::uint64_t{periods} << mtc_freq_;
  last_mtc_ = mtc;
  mtc_mask_ = 0xff;
  set(ctc_tsc_ + from_ctc(ctc_ticks_));
}

void Clock::on_cyc(std::uint64_t cycles) {
  if (cbr_ == 0 || max_nonturbo_ == 0 || reference_ == 0) return;
  // A counter that no processor could fill in the time between two references is damage.
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 48;
  cycles_ = std::min(kLimit, cycles_ + std::min(cycles, kLimit));
  now_ = std::max(now_, reference_ + multiply_divide(cycles_, max_nonturbo_, cbr_));
}

std::uint64_t Clock::from_ctc(std::uint64_t ticks) const {
  return multiply_divide(ticks, numerator_, denominator_);
}

}  // namespace hodo::flow
