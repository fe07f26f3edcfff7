// Looks ahead into a PSB+ group: the status packets from PSB to PSBEND.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "hodo/pt/packet.h"
#include "hodo/pt/reader.h"

namespace hodo::flow {

// What the group says about tracing at its place. Both decoders that meet there need it: the one
// that comes from before walks to its IP, the one that begins there starts at it.
class PsbPlus {
 public:
  struct Located {
    pt::Packet packet;
    std::size_t offset = 0;
  };

  // `reader` stands at the PSB; it is a copy that may be moved. `bdm70`: see pt::Errata.
  void look(pt::PacketReader reader, bool bdm70);

  // Tracing is on, and this instruction is next.
  std::optional<std::uint64_t> ip() const { return ip_; }
  // From PSB to PSBEND, without padding; empty if the group is longer than any processor's, or not
  // as it should be, and has to be read one by one.
  std::span<const Located> packets() const {
    return std::span(packets_).first(whole_ ? count_ : 0);
  }

 private:
  static constexpr std::size_t kMost = 16;

  std::optional<std::uint64_t> ip_;
  std::array<Located, kMost> packets_;
  std::size_t count_ = 0;
  bool whole_ = false;
};

// The type of the next packet that is neither padding, timing nor status; nullopt if there is none
// near by.
std::optional<pt::PacketType> next_deciding_packet(pt::PacketReader reader);

// Packets that may stand between any two others.
bool is_timing_or_pad(pt::PacketType type);
// Packets that a PSB+ group consists of, besides PSB and PSBEND (SDM, "Packet Stream Boundary").
bool may_be_in_psb_plus(pt::PacketType type);

}  // namespace hodo::flow
