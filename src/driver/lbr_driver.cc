#include "hodo/driver/lbr_driver.h"

#include <algorithm>
#include <utility>

#include "hodo/hw/features.h"
#include "hodo/hw/support.h"
#include "saved_msr.h"

namespace hodo::driver {
namespace {

namespace msr = hw::msr;

std::uint64_t legacy_filter(const LbrOptions& options) {
  using namespace hw::lbr_select;
  std::uint64_t out = (options.os ? 0 : kCplEq0) | (options.user ? 0 : kCplNeq0);
  // SDM, "Call Stack Profiling": all but calls and returns must be suppressed.
  if (options.call_stack) out |= kEnCallstack | kJcc | kNearIndJmp | kNearRelJmp | kFarBranch;
  return out;
}

std::uint64_t arch_filter(const LbrOptions& options) {
  using namespace hw::arch_lbr_ctl;
  const std::uint64_t levels = (options.os ? kOs : 0) | (options.user ? kUsr : 0);
  if (options.call_stack) return levels | kCallStack | kNearRelCall | kNearIndCall | kNearRet;
  return levels | kAllBranches;
}

}  // namespace

struct LbrDriver::State {
  hw::MsrBus* msrs = nullptr;
  hw::BranchFeatures features;
  LbrOptions options;
  SavedMsr debugctl{msr::kDebugctl};
  SavedMsr select{0};
  SavedMsr depth{msr::kArchLbrDepth};
  SavedMsr extn_cfg{msr::kAmdDebugExtnCfg};

  const hw::LbrLayout& layout() const { return *features.lbr; }
  Status check() const;
  Status save();
  bool is_on() const;
  Status clear();
  Status enable(bool on);
  Status close();
};

Status LbrDriver::State::check() const {
  if (const auto can = hw::lbr_support(features); !can) {
    return fail(ErrorCode::unsupported, can.why);
  }
  if (!options.os && !options.user) {
    return fail(ErrorCode::usage, "last branch records of no privilege level are wanted");
  }
  if (options.call_stack && !layout().call_stack) {
    return fail(ErrorCode::unsupported,
                "the last branch records of this processor cannot keep a call stack");
  }
  if (layout().select == 0 && !(options.os && options.user)) {
    return fail(ErrorCode::unsupported,
                "the last branch records of this processor cannot select privilege levels; record "
                "both");
  }
  if (options.freeze && features.debugctl.freeze_lbrs_on_pmi == 0) {
    return fail(ErrorCode::unsupported,
                "the last branch records of this processor do not freeze at an interrupt");
  }
  return {};
}

Status LbrDriver::State::save() {
  std::vector<SavedMsr*> needed = {&debugctl};
  if (layout().select != 0) {
    select = SavedMsr(layout().select);
    needed.push_back(&select);
  }
  if (features.arch_lbr) needed.push_back(&depth);
  if (features.amd_lbr_v2) needed.push_back(&extn_cfg);
  for (SavedMsr* saved : needed) {
    if (Status status = saved->save(*msrs); !status) return status;
  }
  return {};
}

bool LbrDriver::State::is_on() const {
  if (features.arch_lbr) return (select.value() & hw::arch_lbr_ctl::kLbrEn) != 0;
  if (features.amd_lbr_v2) return (extn_cfg.value() & hw::amd_debug_extn_cfg::kLbrV2En) != 0;
  return (debugctl.value() & features.debugctl.lbr) != 0;
}

Status LbrDriver::State::clear() {
  // Writing the depth empties an architectural stack.
  if (features.arch_lbr) return msrs->write_msr(msr::kArchLbrDepth, layout().depth);
  if (layout().read_only) return {};
  for (unsigned n = 0; n < layout().depth; ++n) {
    if (Status status = msrs->write_msr(layout().from_msr(n), 0); !status) return status;
    if (layout().packed) continue;
    if (Status status = msrs->write_msr(layout().to_msr(n), 0); !status) return status;
    if (layout().info == 0) continue;
    if (Status status = msrs->write_msr(layout().info_msr(n), 0); !status) return status;
  }
  return {};
}

Status LbrDriver::State::enable(bool on) {
  const std::uint64_t freeze = options.freeze && on ? features.debugctl.freeze_lbrs_on_pmi : 0;
  const std::uint64_t lbr = on ? features.debugctl.lbr : 0;
  if (features.arch_lbr) {
    const std::uint64_t enabled = on ? hw::arch_lbr_ctl::kLbrEn : 0;
    if (Status status = msrs->write_msr(msr::kArchLbrCtl, arch_filter(options) | enabled);
        !status) {
      return status;
    }
    return msrs->write_msr(msr::kDebugctl, debugctl.value() | freeze);
  }
  if (layout().select != 0) {
    if (Status status = msrs->write_msr(layout().select, legacy_filter(options)); !status) {
      return status;
    }
  }
  if (features.amd_lbr_v2) {
    if (Status status = msrs->write_msr(msr::kDebugctl, debugctl.value() | freeze); !status) {
      return status;
    }
    const std::uint64_t v2 = hw::amd_debug_extn_cfg::kLbrV2En;
    return msrs->write_msr(msr::kAmdDebugExtnCfg,
                           on ? extn_cfg.value() | v2 : extn_cfg.value() & ~v2);
  }
  return msrs->write_msr(msr::kDebugctl, debugctl.value() | lbr | freeze);
}

Status LbrDriver::State::close() {
  Status first;
  for (SavedMsr* saved : {&debugctl, &extn_cfg, &depth, &select}) {
    if (Status status = saved->restore(*msrs); first && !status) first = std::move(status);
  }
  return first;
}

LbrDriver::LbrDriver(std::unique_ptr<State> state) : state_(std::move(state)) {}
LbrDriver::LbrDriver(LbrDriver&&) noexcept = default;
LbrDriver& LbrDriver::operator=(LbrDriver&& other) noexcept {
  if (this != &other) {
    if (state_) static_cast<void>(state_->close());
    state_ = std::move(other.state_);
  }
  return *this;
}
LbrDriver::~LbrDriver() {
  if (state_) static_cast<void>(state_->close());
}

Result<LbrDriver> LbrDriver::open(const hw::Cpuid& cpuid, hw::MsrBus& msrs,
                                  const LbrOptions& options) {
  auto state = std::make_unique<State>();
  state->msrs = &msrs;
  state->options = options;
  state->features = hw::find_branch_features(cpuid, &msrs);
  if (Status status = state->check(); !status) return std::unexpected(std::move(status.error()));
  if (Status status = state->save(); !status) return std::unexpected(std::move(status.error()));
  if (state->is_on()) {
    static_cast<void>(state->close());
    return fail(ErrorCode::io,
                "last branch records are on already: another program uses them; stop that one "
                "first");
  }
  return LbrDriver(std::move(state));
}

Status LbrDriver::start() {
  if (Status status = state_->clear(); !status) return status;
  return state_->enable(true);
}

Status LbrDriver::stop() { return state_->enable(false); }

Result<std::vector<hw::LbrEntry>> LbrDriver::read() {
  return read_lbr_stack(*state_->msrs, state_->layout(), state_->layout().depth);
}

Status LbrDriver::close() { return state_->close(); }

const hw::LbrLayout& LbrDriver::layout() const { return state_->layout(); }

Result<std::vector<hw::LbrEntry>> read_lbr_stack(hw::MsrBus& msrs, const hw::LbrLayout& layout,
                                                 unsigned depth) {
  std::uint64_t tos = 0;
  if (layout.tos != 0) {
    const auto value = msrs.read_msr(layout.tos);
    if (!value) return std::unexpected(value.error());
    tos = *value;
  }
  std::vector<hw::LbrEntry> out;
  const unsigned records = std::min<unsigned>(depth, layout.depth);
  for (unsigned n = 0; n < records; ++n) {
    // Older records lie below the top of the stack, or behind record 0.
    const auto at = static_cast<unsigned>(layout.tos != 0 ? (tos - n) % layout.depth : n);
    hw::LbrRegisters record;
    const auto from = msrs.read_msr(layout.from_msr(at));
    if (!from) return std::unexpected(from.error());
    record.from = *from;
    if (layout.packed) {
      record = hw::unpack_lbr(*from);
    } else {
      const auto to = msrs.read_msr(layout.to_msr(at));
      if (!to) return std::unexpected(to.error());
      record.to = *to;
    }
    if (layout.info != 0) {
      const auto info = msrs.read_msr(layout.info_msr(at));
      if (!info) return std::unexpected(info.error());
      record.info = *info;
    }
    const auto entry = hw::decode_lbr(record, layout.format);
    if (entry) out.push_back(*entry);
  }
  return out;
}

}  // namespace hodo::driver
