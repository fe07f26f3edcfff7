// A trace unit with a ring of memory, a clock that the test moves, and a consumer that may stop.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/hw/intel_pt.h"
#include "hodo/pt/packet.h"
#include "hodo/unit/pt_unit.h"

namespace hodo::unit {

inline constexpr std::uint64_t kPlain = hw::rtit_ctl::kBranchEn;
inline constexpr std::uint64_t kTiming =
    kPlain | hw::rtit_ctl::kTscEn | hw::rtit_ctl::kMtcEn | 3ULL << 14;

class Rig {
 public:
  // `ring` is a power of two of at least a page.
  explicit Rig(std::uint64_t rtit_ctl = kPlain, std::uint64_t ring = 1 << 16,
               isa::Mode mode = isa::Mode::bits64);
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  ~Rig();

  static constexpr std::uint64_t kKey = 0x1badb002deadbeef;
  PtUnit unit;
  PtRemains remains;
  bool draining = true;          // false: nobody takes anything out of the ring
  bool stop_when_asked = false;  // for room
  // What the unit is told when it asks whether a block was reached by a signal.
  bool by_signal = false;
  std::uint64_t interrupted_ip = 0;
  bool faulted = false;
  std::uint64_t cr3 = 0;
  static std::uint64_t clock;  // ns

  Rig& enter(const Block& b) {
    unit.enter<true>(&b);
    return *this;
  }
  // The process is killed: what its unit left behind joins bytes().
  void finish();
  // The bytes written so far.
  const std::vector<std::uint8_t>& bytes();
  // Their packets as text, behind the first PSB+; IPs rebuilt.
  std::vector<std::string> text();
  std::vector<pt::Packet> packets();
  std::uint8_t* ring() const { return base_; }
  std::uint64_t ring_size() const { return size_; }

 private:
  void drain(std::uint64_t written);

  std::uint8_t* base_ = nullptr;  // mapped twice
  std::uint64_t size_ = 0;
  std::vector<std::uint8_t> bytes_;
  bool finished_ = false;
};

// Blocks of one kind each. All are 16 bytes unless said otherwise, with a last instruction as long
// as such a branch is.
Block other(std::uint64_t start, std::uint16_t size = 16);
Block cond(std::uint64_t start, std::uint64_t taken);
Block jmp(std::uint64_t start, std::uint64_t to);
Block call(std::uint64_t start, std::uint64_t to);
Block icall(std::uint64_t start);
Block ijmp(std::uint64_t start);
Block ret(std::uint64_t start);
Block syscall(std::uint64_t start);
Block sysret(std::uint64_t start);
Block int_n(std::uint64_t start);
Block mov_cr3(std::uint64_t start);
// The same block as a handler, or as 32-bit code.
Block as_handler(Block b);
Block narrow(Block b);

}  // namespace hodo::unit
