// Drives the last branch records of one logical processor (SDM vol. 3, "Last Branch Records" and
// "Last Branch, Interrupt, and Exception Recording"; AMD APM vol. 2, "Last Branch Stack"). Any kind
// of stack: which one is there, CPUID says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/hw/cpuid.h"
#include "hodo/hw/lbr.h"
#include "hodo/hw/msr.h"

namespace hodo::driver {

struct LbrOptions {
  bool os = false;          // branches that end in CPL 0
  bool user = true;         // and in the other levels
  bool call_stack = false;  // keep the calls that have not returned
  bool freeze = false;      // stop at a performance monitoring interrupt
};

class LbrDriver {
 public:
  // Finds out whether the processor can, and what the registers hold. Nothing is changed yet.
  // What the arguments refer to must outlive the driver.
  // Errors: unsupported (with the reason); usage (no level to record); io (another user has the
  // stack); those of the registers.
  static Result<LbrDriver> open(const hw::Cpuid& cpuid, hw::MsrBus& msrs,
                                const LbrOptions& options);
  LbrDriver(LbrDriver&&) noexcept;
  LbrDriver& operator=(LbrDriver&&) noexcept;
  // Stops and puts every control register back.
  ~LbrDriver();

  // Empties the stack, where that is possible (LbrLayout::read_only), and records from here on.
  // Errors: those of the registers.
  Status start();
  Status stop();
  // The records, newest first. While recording goes on they move under the reader: stop first, or
  // let the processor freeze them. Errors: those of the registers.
  Result<std::vector<hw::LbrEntry>> read();
  Status close();

  const hw::LbrLayout& layout() const;

 private:
  struct State;
  explicit LbrDriver(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// The stack as it stands, newest first, without a driver: of a processor that somebody else has
// programmed. Errors: those of the registers.
Result<std::vector<hw::LbrEntry>> read_lbr_stack(hw::MsrBus& msrs, const hw::LbrLayout& layout,
                                                 unsigned depth);

}  // namespace hodo::driver
