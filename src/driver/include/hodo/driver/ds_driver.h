// Drives the debug store of one logical processor: BTS, PEBS or both, which share one DS area and
// one interrupt (SDM vol. 3, "BTS and DS Save Area", "Setting Up the DS Save Area", "Writing the DS
// Interrupt Service Routine"). Knows registers and memory by interfaces only, so that the same code
// runs on the trace unit in tests and on whatever gives it a processor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/hw/bts.h"
#include "hodo/hw/cpuid.h"
#include "hodo/hw/ds_area.h"
#include "hodo/hw/msr.h"
#include "hodo/hw/pebs.h"

namespace hodo::driver {

struct BtsOptions {
  std::size_t records = 4096;
  bool circular = false;  // keep the newest records; else interrupt before the buffer is full
  bool os = false;        // branches that CPL 0 executes
  bool user = true;       // and those of the other levels
};

struct PebsOptions {
  std::size_t records = 64;
  std::uint64_t event_select = 0;  // IA32_PERFEVTSEL0's event, unit mask and levels
  // Events that are counted, at most 2^31; the one after them is recorded.
  std::uint32_t period = 1000;
  std::uint64_t data_cfg = 0;  // MSR_PEBS_DATA_CFG, where records are adaptive
};

struct DsOptions {
  std::optional<BtsOptions> bts;
  std::optional<PebsOptions> pebs;
};

// What was in the buffers, oldest first.
struct DsRecords {
  std::vector<hw::BtsRecord> bts;
  std::vector<hw::PebsRecord> pebs;
};

class DsDriver {
 public:
  // Finds out whether the processor can, allocates area and buffers and points IA32_DS_AREA at
  // them. Nothing is recorded yet. What the arguments refer to must outlive the driver. Errors:
  // unsupported (with the reason: no debug store, switched off, hidden by a hypervisor, no CPL
  // qualification); usage (nothing to record, a buffer of less than two records, or a period that
  // the counter cannot hold); io (another user has the debug store); no_space; those of the
  // registers.
  static Result<DsDriver> open(const hw::Cpuid& cpuid, hw::MsrBus& msrs, hw::DsMemory& memory,
                               const DsOptions& options);
  DsDriver(DsDriver&&) noexcept;
  DsDriver& operator=(DsDriver&&) noexcept;
  // Stops, puts every register back and frees the memory.
  ~DsDriver();

  // Recording on and off. Off leaves the buffers as they are.
  Status start();
  Status stop();

  // The handler of the performance monitoring interrupt: stops both facilities, looks for both
  // causes, appends what is in the buffers to `out`, resets the indexes, clears the overflow
  // status, unmasks the interrupt and goes on as before. An interrupt that neither buffer's
  // threshold explains is not this driver's: false.
  // Errors: those of the registers; malformed (a PEBS record that cannot be read; it and those
  // behind it are lost).
  Result<bool> handle_interrupt(DsRecords& out);

  // Appends what is in the buffers and empties them. Stops for the moment, if it is running.
  // Errors: as handle_interrupt.
  Status drain(DsRecords& out);

  // The destructor's work, for callers who want to know how it went.
  Status close();

 private:
  struct State;
  explicit DsDriver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hodo::driver
