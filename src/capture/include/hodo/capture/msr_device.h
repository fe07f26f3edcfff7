// The model-specific registers of one of this machine's processors, through Linux's msr driver
// (/dev/cpu/N/msr, arch/x86/kernel/msr.c).
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"
#include "hodo/hw/msr.h"

namespace hodo::capture {

class MsrDevice final : public hw::MsrBus {
 public:
  enum class Access : std::uint8_t { read, write };

  // `root` stands before /dev. Errors, each with the remedy: not_found (the msr module is not
  // loaded, or there is no such processor); not_permitted (no CAP_SYS_RAWIO); io.
  static Result<MsrDevice> open(int cpu, Access access, const std::string& root = "");

  // Errors: unsupported (the register is not there, or a hypervisor keeps it); not_permitted (the
  // kernel is locked down, or writes are off); io.
  Result<std::uint64_t> read_msr(std::uint32_t number) override;
  Status write_msr(std::uint32_t number, std::uint64_t value) override;

 private:
  explicit MsrDevice(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

}  // namespace hodo::capture
