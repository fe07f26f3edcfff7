// The guest kernel's code, as far as it was executed: what of it the recorder knows.
//
// It is one for all processes, and it changes: the kernel patches itself (alternatives, jump
// labels, static calls, ftrace), and modules come and go. Each version is reported once. A version
// of the whole has a number, the epoch, and each processor makes its decoder's clock pass the
// change before it executes code of a new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "code_blocks.h"
#include "hodo/relay/clock.h"
#include "introspection.h"
#include "known_code.h"
#include "module_functions.h"
#include "vcpu.h"

namespace hodo::plugin {

class KernelCode {
 public:
  explicit KernelCode(const Introspection& introspection) : introspection_(introspection) {}

  std::uint32_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  // `vcpu` is about to execute `code`, which its epoch (Vcpu::kernel_epoch) does not know: tells
  // the recorder what is new of it, before the packets that need it.
  void report(Vcpu& vcpu, CodeBlock& code);

 private:
  guest::KernelFunction function_at(const KnownKernel& known, std::uint64_t address,
                                    std::uint64_t cr3);
  // Those that the block lies in, as far as they are new.
  void report_functions(Vcpu& vcpu, const unit::Block& block);
  void report_function(Vcpu& vcpu, const guest::KernelFunction& function, std::uint64_t cr3,
                       std::uint64_t since);
  void report_memory(Vcpu& vcpu, std::uint64_t address, std::size_t size, std::uint64_t cr3);
  void report_bytes(Vcpu& vcpu, std::uint64_t address, std::span<const std::uint8_t> bytes);
  void report_pointers(Vcpu& vcpu, std::uint64_t cr3);

  const Introspection& introspection_;
  std::mutex mutex_;
  std::atomic<std::uint32_t> epoch_ = 1;
  std::uint64_t since_ = relay::now();  // from when code counts that never was another
  KnownCode code_;
  const KnownKernel* known_ = nullptr;                        // whose functions these are
  std::unordered_map<std::uint64_t, std::string> functions_;  // reported: their names by start
  ModuleFunctions modules_;
  // Slots of the kernel's read-only data that lead, or led, to modules' code.
  std::unordered_set<std::uint64_t> pointers_;
  std::unordered_map<std::string, unsigned> searches_;  // for them, by module
};

}  // namespace hodo::plugin
