// A virtual machine that runs under QEMU, with or without KVM, watched from outside through its
// control socket: registers of its processors and its physical memory. Nothing in the guest
// changes.
#pragma once

#include <signal.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/guest/memory.h"
#include "hodo/guest/running.h"
#include "qmp.h"

namespace hodo::capture {

// What QEMU's monitor prints for "info registers -a", by processor. Lines that are not known are
// left out; a processor in 32-bit mode has its 32-bit registers.
std::vector<guest::ProcessorState> parse_registers(std::string_view text);

struct MemoryRange {
  std::uint64_t start = 0, end = 0;  // physical; end is behind the last byte
};
// The ranges of RAM and ROM in what the monitor prints for "info mtree -f", by address. Device
// registers are none: reading them has effects.
std::vector<MemoryRange> parse_memory_map(std::string_view text);

// Reads by QMP's pmemsave into a file of this process that only memory holds, and keeps what it
// read, by pieces, until forget().
class QemuMemory final : public guest::PhysicalMemory {
 public:
  // `qmp` must outlive it. Errors: unsupported (no memory map), io.
  static Result<std::unique_ptr<QemuMemory>> open(Qmp& qmp);

  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override;
  void forget() { pieces_.clear(); }
  // Why a read of RAM failed, if one did: QEMU cannot open our file, or has gone.
  const std::optional<Error>& error() const { return error_; }

 private:
  using Piece = std::vector<std::uint8_t>;
  QemuMemory(Qmp& qmp, Fd file, std::vector<MemoryRange> map)
      : qmp_(qmp), file_(std::move(file)), map_(std::move(map)) {}
  const MemoryRange* range_of(std::uint64_t address) const;
  const Piece* piece_at(std::uint64_t start, std::uint64_t size) const;

  Qmp& qmp_;
  Fd file_;
  std::vector<MemoryRange> map_;
  mutable std::map<std::uint64_t, Piece> pieces_;  // by address
  mutable std::optional<Error> error_;
};

// All processors' registers. Errors: as Qmp::monitor, unsupported (QEMU printed none).
Result<std::vector<guest::ProcessorState>> read_registers(Qmp& qmp);

// Holds the machine while it exists, unless it stands still already. Signals that would end this
// process wait meanwhile, so that the machine cannot be left behind standing.
class Pause {
 public:
  // `qmp` must outlive it.
  static Result<std::unique_ptr<Pause>> hold(Qmp& qmp);
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
  ~Pause();

 private:
  explicit Pause(Qmp& qmp);
  Qmp& qmp_;
  bool held_ = false;
  sigset_t signals_{};  // that were blocked before
};

}  // namespace hodo::capture
