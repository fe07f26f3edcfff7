// The guest's part of an Intel PT stream that the host traced.
//
// With kvm_intel.pt_mode=0 (the default) a host's trace goes on while a virtual machine runs, and
// host and guest follow each other in one stream. PIP packets tell them apart: their NR bit says
// whether the processor is in VMX non-root operation (SDM vol. 3, "Tracing in VMX Operation": a VM
// exit writes FUP, PIP and TIP, a VM entry PIP and TIP).
//
// What comes out is what a processor writes that traces in the guest only: at a VM exit FUP and
// TIP.PGD, at a VM entry TIP.PGE with the guest's IP, in between nothing but the time, which is
// that of the guest's TSC. IPs are compressed anew. PIP packets have no NR bit, as in a guest from
// which VMX is concealed (SDM vol. 3, "Conceal VMX from PT"): perf script takes those with it for a
// guest of the guest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hodo/flow/clock.h"
#include "hodo/pt/packet.h"

namespace hodo::capture {

class GuestPart {
 public:
  // From `time` (TSC) on the guest runs in the address space of `cr3` (bits 51:5 of it).
  struct Switch {
    std::uint64_t time = 0;
    std::uint64_t cr3 = 0;
  };
  struct Counts {
    std::uint64_t entries = 0;        // VM entries
    std::uint64_t gaps = 0;           // OVF packets of the guest's part, as written
    std::uint64_t damaged_bytes = 0;  // that are no packets
  };

  // `timing`: how timing packets count (mtc_freq and the ratios), and the processor's errata.
  explicit GuestPart(const flow::Config& timing) : errata_(timing.errata), clock_(timing) {}

  // The next bytes of the stream. What of them is the guest's is appended to `out`, in whole
  // packets; a packet's first part waits for the rest of it.
  void feed(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out);
  // Bytes are missing here: an OVF, and nothing until a PIP says who runs.
  void gap(std::vector<std::uint8_t>& out);

  // Since the last call, in order of time.
  std::vector<Switch> take_switches();
  const Counts& counts() const { return counts_; }
  std::uint64_t now() const { return clock_.now(); }  // TSC; 0: not known yet

 private:
  enum class Side : std::uint8_t { unknown, host, guest };

  std::size_t read(std::span<const std::uint8_t> bytes, std::vector<std::uint8_t>& out);
  void take(const pt::Packet& packet, std::vector<std::uint8_t>& out);
  void take_header(const pt::Packet& packet, std::vector<std::uint8_t>& out);
  void end_header(std::vector<std::uint8_t>& out);
  void take_timing(const pt::Packet& packet, std::vector<std::uint8_t>& out);
  void take_pip(const pt::Packet& packet, std::vector<std::uint8_t>& out);
  void take_ip(pt::Packet packet, std::vector<std::uint8_t>& out);
  void lose(std::vector<std::uint8_t>& out);
  void runs_in(std::uint64_t cr3);
  void put(pt::Packet packet, std::vector<std::uint8_t>& out);

  pt::Errata errata_;
  flow::Clock clock_;
  Side side_ = Side::unknown;
  bool entering_ = false;            // the TIP that comes next completes a VM entry ...
  bool leaving_ = false;             // ... or a VM exit
  bool in_header_ = false;           // between PSB and PSBEND
  std::vector<pt::Packet> header_;   // of the PSB+ that is being read
  std::optional<pt::Packet> mode_;   // MODE.Exec that the guest's part has not been told
  std::uint64_t host_cycles_ = 0;    // CYC counts that the guest's part left out
  std::vector<std::uint8_t> begun_;  // of a packet that goes on in the next bytes
  pt::LastIp read_ip_, written_ip_;
  std::uint64_t cr3_ = ~std::uint64_t{0};
  std::vector<Switch> switches_;
  Counts counts_;
};

}  // namespace hodo::capture
