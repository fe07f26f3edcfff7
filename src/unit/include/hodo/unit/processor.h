// The trace unit as a processor's registers: one logical processor of any model, programmed through
// RDMSR and WRMSR as the real one is, faults included. What it is, CPUID says; what executes on it,
// it is told branch by branch. Not for the hot path of a recording: BtsUnit and LbrUnit by
// themselves are.
#pragma once

#include <cstdint>
#include <optional>

#include "hodo/hw/ds_area.h"
#include "hodo/hw/features.h"
#include "hodo/hw/msr.h"
#include "hodo/hw/pebs.h"
#include "hodo/unit/bts_unit.h"
#include "hodo/unit/executed_branch.h"
#include "hodo/unit/lbr_unit.h"
#include "hodo/unit/pebs_unit.h"

namespace hodo::unit {

struct ProcessorModel {
  const hw::Cpuid* cpuid = nullptr;
  // IA32_MISC_ENABLE and IA32_PERF_CAPABILITIES, which CPUID does not have.
  std::uint64_t misc_enable = 0;
  std::uint64_t perf_capabilities = 0;
};

class Processor final : public hw::MsrBus {
 public:
  // The performance monitoring interrupt was delivered: the handler, to be run now. Delivery has
  // masked the local vector table's entry; nothing more is delivered until software unmasks it.
  struct Interrupt {
    void (*handler)(void* owner) = nullptr;
    void* owner = nullptr;
  };

  // What `model` and `memory` point to must outlive the processor.
  Processor(const ProcessorModel& model, hw::DsMemory& memory, Interrupt interrupt);
  Processor(const Processor&) = delete;
  Processor& operator=(const Processor&) = delete;

  Result<std::uint64_t> read_msr(std::uint32_t number) override;
  Status write_msr(std::uint32_t number, std::uint64_t value) override;

  // The program executes a branch, with these registers behind it (PEBS samples see them).
  void branch(const ExecutedBranch& b, const hw::PebsRegisters& registers = {});

  // EFLAGS.TF of the program. With DEBUGCTL.BTF set, too, the next branch raises a debug exception
  // (SDM, "Single-Stepping on Branches").
  void set_trap_flag(bool on) { trap_flag_ = on; }
  std::uint64_t debug_exceptions() const { return debug_exceptions_; }

  const hw::BranchFeatures& features() const { return features_; }
  std::uint64_t bts_dropped() const { return bts_.dropped(); }
  std::uint64_t pebs_dropped() const { return pebs_.dropped(); }
  // Interrupts that were due while the entry was masked.
  std::uint64_t missed_interrupts() const { return missed_interrupts_; }

 private:
  // Each handles the registers of its group; nullopt for a number that is none of them.
  std::optional<std::uint64_t> read_lbr(std::uint32_t number) const;
  std::optional<std::uint64_t> read_perfmon(std::uint32_t number) const;
  std::optional<Status> write_lbr(std::uint32_t number, std::uint64_t value);
  std::optional<Status> write_perfmon(std::uint32_t number, std::uint64_t value);
  Status write_debugctl(std::uint64_t value);
  Status write_lbr_filter(std::uint64_t value);
  Status write_arch_depth(std::uint64_t value);
  std::optional<std::uint64_t> read_record(std::uint32_t number) const;
  bool write_record(std::uint32_t number, std::uint64_t value);
  bool write_last_interrupt(std::uint32_t number, std::uint64_t value);

  bool debugctl(std::uint64_t bit) const { return bit != 0 && (debugctl_ & bit) != 0; }
  bool is_amd() const { return features_.signature.vendor == hw::Vendor::amd; }
  bool freezes_by_status() const { return features_.perfmon_version >= 4 || is_amd(); }
  bool has_counter() const { return features_.perfmon_version != 0 || features_.amd_perfmon_v2; }
  void update_lbr();
  void update_bts();
  void update_pebs();
  bool counts(const ExecutedBranch& b) const;
  void count(const ExecutedBranch& b, const hw::PebsRegisters& registers);
  hw::PebsRecord sample(const ExecutedBranch& b, const hw::PebsRegisters& registers) const;
  void request_interrupt(std::uint64_t status);
  void raise_debug_exception();

  ProcessorModel model_;
  hw::BranchFeatures features_;
  hw::DsMemory* memory_;
  Interrupt interrupt_;
  BtsUnit bts_;
  LbrUnit lbr_;
  PebsUnit pebs_;

  std::uint64_t debugctl_ = 0;
  std::uint64_t ds_area_ = 0;
  std::uint64_t lbr_filter_ = 0;  // LBR_SELECT or IA32_LBR_CTL
  std::uint64_t debug_extn_cfg_ = 0;
  std::uint64_t pebs_enable_ = 0;
  std::uint64_t pebs_data_cfg_ = 0;
  std::uint64_t perf_evt_sel0_ = 0;
  std::uint64_t global_ctrl_ = 0;
  std::uint64_t global_status_ = 0;
  std::uint64_t lvt_pmi_ = hw::lvt::kMasked;  // as after reset
  std::uint64_t missed_interrupts_ = 0;
  std::uint64_t debug_exceptions_ = 0;
  bool trap_flag_ = false;
};

}  // namespace hodo::unit
