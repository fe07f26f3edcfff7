#include "hodo/unit/processor.h"

#include <cstdio>

namespace hodo::unit {
namespace {

using hw::LbrFormat;
using hw::LbrLayout;

// IA32_PERFEVTSEL0 (SDM, "Architectural Performance Monitoring").
constexpr std::uint64_t kSelUsr = 1ull << 16;
constexpr std::uint64_t kSelOs = 1ull << 17;
constexpr std::uint64_t kSelInt = 1ull << 20;
constexpr std::uint64_t kSelEn = 1ull << 22;
constexpr std::uint64_t kPmc0 = 1;  // in PEBS_ENABLE and GLOBAL_CTRL
constexpr std::uint64_t kClearable =
    hw::perf_global_status::kOvfPmc0 | hw::perf_global_status::kLbrFrz |
    hw::perf_global_status::kCtrFrz | hw::perf_global_status::kOvfDsBuffer;

std::unexpected<Error> fault(const char* instruction, std::uint32_t number, const char* why) {
  char text[80];
  std::snprintf(text, sizeof(text), "#GP: %s of register 0x%x: %s", instruction, number, why);
  return fail(ErrorCode::unsupported, text);
}
std::unexpected<Error> reserved(std::uint32_t number) {
  return fault("WRMSR", number, "a reserved bit is set");
}

bool is_canonical(std::uint64_t address) {
  const auto high = static_cast<std::int64_t>(address) >> (hw::kAddressBits - 1);
  return high == 0 || high == -1;
}

// Bits of the filter register that may be set.
std::uint64_t filter_bits(const LbrLayout& layout) {
  using namespace hw;
  if (layout.format == LbrFormat::arch) {
    const std::uint64_t call_stack = layout.call_stack ? arch_lbr_ctl::kCallStack : 0;
    return arch_lbr_ctl::kLbrEn | arch_lbr_ctl::kOs | arch_lbr_ctl::kUsr |
           arch_lbr_ctl::kAllBranches | call_stack;
  }
  return layout.call_stack ? 2 * lbr_select::kEnCallstack - 1 : lbr_select::kEnCallstack - 1;
}

// AMD's registers of counter 0 by the names of Intel's; 0 for every other number.
std::uint32_t intel_counter_register(std::uint32_t amd_number) {
  switch (amd_number) {
    case hw::msr::kAmdPerfCtr0:
      return hw::msr::kPmc0;
    case hw::msr::kAmdPerfCtl0:
      return hw::msr::kPerfEvtSel0;
    case hw::msr::kAmdPerfGlobalStatus:
      return hw::msr::kPerfGlobalStatus;
    case hw::msr::kAmdPerfGlobalCtl:
      return hw::msr::kPerfGlobalCtrl;
    case hw::msr::kAmdPerfGlobalStatusClr:
      return hw::msr::kPerfGlobalOvfCtrl;
    default:
      return 0;
  }
}

// The record whose register `number` is, if `first` is record 0's.
std::optional<unsigned> index_of(const LbrLayout& layout, std::uint32_t first,
                                 std::uint32_t number) {
  const std::uint32_t offset = number - first;
  if (first == 0 || number < first || offset % layout.stride != 0) return std::nullopt;
  if (offset / layout.stride >= layout.depth) return std::nullopt;
  return offset / layout.stride;
}

}  // namespace

Processor::Processor(const ProcessorModel& model, hw::DsMemory& memory, Interrupt interrupt)
    : model_(model), memory_(&memory), interrupt_(interrupt) {
  features_ = hw::find_branch_features(*model.cpuid, this);
  lbr_.configure(features_.lbr.value_or(LbrLayout{}));
  if (features_.arch_lbr) lbr_.select(0);
}

Result<std::uint64_t> Processor::read_msr(std::uint32_t number) {
  switch (number) {
    case hw::msr::kMiscEnable:
      return model_.misc_enable;
    case hw::msr::kDebugctl:
      return debugctl_;
    case hw::msr::kX2apicLvtPmi:
      return lvt_pmi_;
    case hw::msr::kPerfCapabilities:
      if ((model_.cpuid->leaf(1).ecx >> 15 & 1) != 0) return model_.perf_capabilities;
      break;
    case hw::msr::kDsArea:
      if (features_.ds) return ds_area_;
      break;
    default:
      break;
  }
  if (const auto value = read_lbr(number)) return *value;
  if (const auto value = read_perfmon(number)) return *value;
  return fault("RDMSR", number, "there is no such register");
}

Status Processor::write_msr(std::uint32_t number, std::uint64_t value) {
  switch (number) {
    case hw::msr::kDebugctl:
      return write_debugctl(value);
    case hw::msr::kX2apicLvtPmi:
      lvt_pmi_ = value;
      return {};
    case hw::msr::kDsArea:
      if (!features_.ds) break;
      if (!is_canonical(value)) return fault("WRMSR", number, "the address is not canonical");
      ds_area_ = value;
      update_bts();
      update_pebs();
      return {};
    default:
      break;
  }
  if (const auto done = write_lbr(number, value)) return *done;
  if (const auto done = write_perfmon(number, value)) return *done;
  return fault("WRMSR", number, "there is no such register, or it is read-only");
}

Status Processor::write_debugctl(std::uint64_t value) {
  const hw::DebugctlLayout& bits = features_.debugctl;
  if ((value & ~bits.allowed()) != 0) return reserved(hw::msr::kDebugctl);
  debugctl_ = value & ~bits.ignored;
  update_lbr();
  update_bts();
  return {};
}

// --- last branch records ---

std::optional<std::uint64_t> Processor::read_record(std::uint32_t number) const {
  const LbrLayout& layout = lbr_.layout();
  if (const auto n = index_of(layout, layout.from, number)) {
    const hw::LbrRegisters& record = lbr_.record(*n);
    return layout.packed ? hw::pack_lbr(record) : record.from;
  }
  if (const auto n = index_of(layout, layout.to, number)) return lbr_.record(*n).to;
  if (const auto n = index_of(layout, layout.info, number)) return lbr_.record(*n).info;
  return std::nullopt;
}

bool Processor::write_record(std::uint32_t number, std::uint64_t value) {
  const LbrLayout& layout = lbr_.layout();
  if (const auto n = index_of(layout, layout.from, number)) {
    if (layout.packed) {
      lbr_.record(*n) = hw::unpack_lbr(value);
    } else {
      lbr_.record(*n).from = value;
    }
    return true;
  }
  if (const auto n = index_of(layout, layout.to, number)) {
    lbr_.record(*n).to = value;
    return true;
  }
  if (const auto n = index_of(layout, layout.info, number)) {
    lbr_.record(*n).info = value;
    return true;
  }
  return false;
}

// R/W with architectural LBR, read-only before (SDM vol. 4, IA32_LER_FROM_IP and MSR_LER_FROM_LIP).
bool Processor::write_last_interrupt(std::uint32_t number, std::uint64_t value) {
  hw::LbrRegisters& record = lbr_.last_interrupt();
  switch (number) {
    case hw::msr::kLastIntFromIp:
      record.from = value;
      return true;
    case hw::msr::kLastIntToIp:
      record.to = value;
      return true;
    case hw::msr::kArchLerInfo:
      record.info = value;
      return true;
    default:
      return false;
  }
}

std::optional<std::uint64_t> Processor::read_lbr(std::uint32_t number) const {
  const LbrLayout& layout = lbr_.layout();
  if (layout.depth == 0) return std::nullopt;
  if (number == layout.tos && layout.tos != 0) return lbr_.tos();
  if (number == layout.select && layout.select != 0) return lbr_filter_;
  if (features_.arch_lbr && number == hw::msr::kArchLbrDepth) return lbr_.depth();
  if (features_.amd_lbr_v2 && number == hw::msr::kAmdDebugExtnCfg) return debug_extn_cfg_;
  if (layout.last_int && number == hw::msr::kLastIntFromIp) return lbr_.last_interrupt().from;
  if (layout.last_int && number == hw::msr::kLastIntToIp) return lbr_.last_interrupt().to;
  if (features_.arch_lbr && number == hw::msr::kArchLerInfo) return lbr_.last_interrupt().info;
  return read_record(number);
}

std::optional<Status> Processor::write_lbr(std::uint32_t number, std::uint64_t value) {
  const LbrLayout& layout = lbr_.layout();
  if (layout.depth == 0 || layout.read_only) return std::nullopt;
  if (number == layout.tos && layout.tos != 0) {
    if (value >= layout.depth) return reserved(number);
    lbr_.set_tos(static_cast<unsigned>(value));
    return Status{};
  }
  if (number == layout.select && layout.select != 0) return write_lbr_filter(value);
  if (features_.arch_lbr && number == hw::msr::kArchLbrDepth) return write_arch_depth(value);
  if (features_.amd_lbr_v2 && number == hw::msr::kAmdDebugExtnCfg) {
    debug_extn_cfg_ = value;
    update_lbr();
    return Status{};
  }
  if (write_record(number, value)) return Status{};
  if (features_.arch_lbr && write_last_interrupt(number, value)) return Status{};
  return std::nullopt;
}

Status Processor::write_lbr_filter(std::uint64_t value) {
  const LbrLayout& layout = lbr_.layout();
  if ((value & ~filter_bits(layout)) != 0) return reserved(layout.select);
  lbr_filter_ = value;
  lbr_.select(value);
  update_lbr();
  return {};
}

// SDM, "IA32_LBR_DEPTH MSR": a depth that CPUID does not list faults; any write empties the stack.
Status Processor::write_arch_depth(std::uint64_t value) {
  const bool possible = value != 0 && value % 8 == 0 && value <= LbrLayout::kMaxDepth &&
                        (features_.arch_lbr_depths >> (value / 8 - 1) & 1) != 0;
  if (!possible) return fault("WRMSR", hw::msr::kArchLbrDepth, "not a depth of this processor");
  lbr_.set_depth(static_cast<unsigned>(value));
  return {};
}

void Processor::update_lbr() {
  bool on = debugctl(features_.debugctl.lbr);
  if (features_.arch_lbr) on = (lbr_filter_ & hw::arch_lbr_ctl::kLbrEn) != 0;
  if (features_.amd_lbr_v2) on = (debug_extn_cfg_ & hw::amd_debug_extn_cfg::kLbrV2En) != 0;
  lbr_.enable(on && (global_status_ & hw::perf_global_status::kLbrFrz) == 0);
}

// --- branch trace store ---

void Processor::update_bts() {
  const hw::DebugctlLayout& bits = features_.debugctl;
  if (!debugctl(bits.tr) || !debugctl(bits.bts) || features_.bts_unavailable()) return bts_.stop();
  bts_.start({.ds_area = ds_area_,
              .memory = memory_,
              .layout = features_.ds_layout(),
              .interrupts = debugctl(bits.btint),
              .skip_os = debugctl(bits.bts_off_os),
              .skip_user = debugctl(bits.bts_off_usr),
              .interrupt = [](void* self) { static_cast<Processor*>(self)->request_interrupt(0); },
              .owner = this});
}

// --- counter 0 and sampling ---

std::optional<std::uint64_t> Processor::read_perfmon(std::uint32_t number) const {
  if (!has_counter()) return std::nullopt;
  switch (is_amd() ? intel_counter_register(number) : number) {
    case hw::msr::kPmc0:
      return pebs_.counter();
    case hw::msr::kPerfEvtSel0:
      return perf_evt_sel0_;
    case hw::msr::kPerfGlobalStatus:
      return global_status_;
    case hw::msr::kPerfGlobalCtrl:
      return global_ctrl_;
    case hw::msr::kPerfGlobalOvfCtrl:
      return 0;
    case hw::msr::kPebsEnable:
      if (features_.ds) return pebs_enable_;
      return std::nullopt;
    case hw::msr::kPebsDataCfg:
      if (features_.pebs_format().value_or(0) >= 4) return pebs_data_cfg_;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Status> Processor::write_perfmon(std::uint32_t number, std::uint64_t value) {
  if (!read_perfmon(number)) return std::nullopt;
  switch (is_amd() ? intel_counter_register(number) : number) {
    case hw::msr::kPerfGlobalStatus:
      return std::nullopt;
    case hw::msr::kPmc0:
      if (is_amd()) {
        pebs_.set_counter(value);
        break;
      }
      // SDM: only the low half is written; its sign fills the rest.
      pebs_.set_counter(static_cast<std::uint64_t>(
          std::int64_t{static_cast<std::int32_t>(static_cast<std::uint32_t>(value))}));
      break;
    case hw::msr::kPerfEvtSel0:
      perf_evt_sel0_ = value;
      break;
    case hw::msr::kPerfGlobalCtrl:
      global_ctrl_ = value;
      break;
    case hw::msr::kPerfGlobalOvfCtrl:
      if ((value & ~kClearable) != 0) return reserved(number);
      global_status_ &= ~value;
      update_lbr();
      break;
    case hw::msr::kPebsEnable:
      if ((value & ~kPmc0) != 0) return reserved(number);  // the one counter there is
      pebs_enable_ = value;
      update_pebs();
      break;
    case hw::msr::kPebsDataCfg:
      if ((value & ~hw::pebs_data_cfg::kKnown) != 0) return reserved(number);
      pebs_data_cfg_ = value;
      update_pebs();
      break;
    default:
      break;
  }
  return Status{};
}

void Processor::update_pebs() {
  const auto format = features_.pebs_format();
  if ((pebs_enable_ & kPmc0) == 0 || !format || features_.pebs_unavailable()) return pebs_.stop();
  pebs_.start({.ds_area = ds_area_,
               .memory = memory_,
               .format = {*format, features_.ds_layout()},
               .data_cfg = pebs_data_cfg_,
               .interrupt =
                   [](void* self) {
                     static_cast<Processor*>(self)->request_interrupt(
                         hw::perf_global_status::kOvfDsBuffer);
                   },
               .owner = this});
}

bool Processor::counts(const ExecutedBranch& b) const {
  const std::uint64_t level = b.from_cpl == 0 ? kSelOs : kSelUsr;
  return (perf_evt_sel0_ & kSelEn) != 0 && (perf_evt_sel0_ & level) != 0 &&
         (global_ctrl_ & kPmc0) != 0 && !b.event &&
         (global_status_ & hw::perf_global_status::kCtrFrz) == 0;
}

hw::PebsRecord Processor::sample(const ExecutedBranch& b,
                                 const hw::PebsRegisters& registers) const {
  hw::PebsRecord out{.event_ip = b.from, .counters = kPmc0, .memory = hw::PebsMemory{}};
  out.registers = registers;
  out.registers->ip = b.to;
  out.xmm.emplace();
  out.lbr.resize(LbrLayout::kMaxDepth);
  out.lbr.resize(lbr_.newest_first(out.lbr));
  return out;
}

// Whatever event the counter was set to, it counts branches: nothing else is known here.
void Processor::count(const ExecutedBranch& b, const hw::PebsRegisters& registers) {
  if (pebs_.running()) return pebs_.event(sample(b, registers));
  pebs_.set_counter(pebs_.counter() + 1);
  if (pebs_.counter() != 0) return;
  if ((perf_evt_sel0_ & kSelInt) != 0) {
    request_interrupt(hw::perf_global_status::kOvfPmc0);
  } else {
    global_status_ |= hw::perf_global_status::kOvfPmc0;
  }
}

void Processor::branch(const ExecutedBranch& b, const hw::PebsRegisters& registers) {
  lbr_.branch(b);
  bts_.branch(b);
  if (counts(b)) count(b, registers);
  if (trap_flag_ && !b.event && debugctl(features_.debugctl.btf)) raise_debug_exception();
}

// SDM: the processor clears BTF and LBR before the handler runs, which has to set them again.
void Processor::raise_debug_exception() {
  ++debug_exceptions_;
  debugctl_ &= ~(features_.debugctl.btf | features_.debugctl.lbr);
  update_lbr();
}

// SDM, "Freezing LBR and Performance Counters on PMI": up to version 3 of performance monitoring
// the enable bits are cleared, from version 4 on the status register stops what they enable.
void Processor::request_interrupt(std::uint64_t status) {
  global_status_ |= status;
  const hw::DebugctlLayout& bits = features_.debugctl;
  if (debugctl(bits.freeze_lbrs_on_pmi)) {
    if (freezes_by_status()) {
      global_status_ |= hw::perf_global_status::kLbrFrz;
    } else {
      debugctl_ &= ~bits.lbr;
    }
    update_lbr();
  }
  if (debugctl(bits.freeze_perfmon_on_pmi)) {
    if (freezes_by_status()) {
      global_status_ |= hw::perf_global_status::kCtrFrz;
    } else {
      global_ctrl_ = 0;
    }
  }
  if ((lvt_pmi_ & hw::lvt::kMasked) != 0 || interrupt_.handler == nullptr) {
    ++missed_interrupts_;
    return;
  }
  lvt_pmi_ |= hw::lvt::kMasked;
  interrupt_.handler(interrupt_.owner);
}

}  // namespace hodo::unit
