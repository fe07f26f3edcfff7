// Packets as Intel's libipt reads them, for comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "hodo/pt/reader.h"

struct pt_packet_decoder;

namespace hodo::pt {

class LibiptReader {
 public:
  // The bytes must outlive the reader.
  explicit LibiptReader(std::span<const std::uint8_t> bytes);

  // libipt's word on the packet at `offset`, as PacketReader::read() would say it.
  ReadStatus read_at(std::size_t offset, Packet& packet);

 private:
  struct Free {
    void operator()(pt_packet_decoder* decoder) const;
  };
  std::unique_ptr<pt_packet_decoder, Free> decoder_;
};

// Where libipt 2.0.5 knowingly reads the bytes at `rest` otherwise: packets newer than it (TRIG,
// CFE, EVD) or outside its subject (BBP, BEP); modes that do not exist, which it lets pass; and the
// HW bit of PWRE, which it takes from bit 3 where the SDM and perf have bit 7. BIP, for which
// `rest` does not suffice, is the caller's to leave out.
bool libipt_differs(std::span<const std::uint8_t> rest);

// `packet` without the bits that libipt 2.0.5 drops: IF of MODE.Exec and the reserved wake reason
// bit 1 of PWRX.
Packet as_libipt_keeps(Packet packet);

}  // namespace hodo::pt
