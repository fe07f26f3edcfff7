// Time from timing packets, in TSC ticks (SDM, "Timestamp Reconstruction"): TSC sets it, TMA ties
// the crystal clock to it, MTC and CYC move it on. It only goes back when it is told to.
#pragma once

#include <array>
#include <cstdint>

#include "hodo/flow/decoder.h"
#include "hodo/pt/packet.h"

namespace hodo::flow {

class Clock {
 public:
  Clock() = default;  // of which no packet but TSC moves the time
  explicit Clock(const Config& config);

  std::uint64_t now() const { return now_; }  // 0: not known yet
  void apply(const pt::Packet& packet);       // tsc, tma, mtc, cyc, cbr; others are ignored
  void lose_sync() { have_ctc_ = false; }     // packets were lost: MTCs may be among them
  // Whether a TSC packet lies so far back that it, or a packet before it, must be damaged.
  bool contradicts(const pt::Packet& tsc) const;
  void go_back();  // the next TSC packet is believed
  // Whether the same packets give both the same times from here on.
  bool goes_as(const Clock& other) const;

  // All that packets have said, to go on elsewhere with the same Config. False: no packets say
  // that.
  using Words = std::array<std::uint64_t, 10>;
  Words words() const;
  bool set_words(const Words& words);

 private:
  void on_tsc(std::uint64_t value);
  void on_tma(std::uint64_t ctc, std::uint64_t fast);
  void on_mtc(std::uint64_t value);
  void on_cyc(std::uint64_t cycles);
  std::uint64_t from_ctc(std::uint64_t ticks) const;
  void set(std::uint64_t time);
  std::uint64_t extended(std::uint64_t value) const;

  unsigned mtc_freq_ = 0;
  std::uint32_t numerator_ = 0;
  std::uint32_t denominator_ = 0;
  std::uint32_t max_nonturbo_ = 0;

  std::uint64_t now_ = 0;
  std::uint64_t tsc_ = 0;        // of the last TSC packet, extended to 64 bits
  std::uint64_t reference_ = 0;  // what CYC counts from
  std::uint64_t cycles_ = 0;     // since the reference
  std::uint64_t ctc_tsc_ = 0;    // TSC when the crystal clock was at the start of its MTC period
  std::uint64_t ctc_ticks_ = 0;  // crystal clocks since then
  std::uint32_t last_mtc_ = 0;
  std::uint32_t mtc_mask_ = 0xff;  // the bits of last_mtc_ that are known
  std::uint32_t cbr_ = 0;
  bool have_ctc_ = false;
};

}  // namespace hodo::flow
