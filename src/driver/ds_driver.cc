#include "hodo/driver/ds_driver.h"

#include <algorithm>
#include <utility>

#include "hodo/hw/features.h"
#include "hodo/hw/support.h"
#include "saved_msr.h"

namespace hodo::driver {
namespace {

namespace msr = hw::msr;
using hw::perf_global_status::kOvfDsBuffer;
using hw::perf_global_status::kOvfPmc0;

constexpr std::uint64_t kPmc0 = 1;
constexpr std::uint64_t kSelEn = 1ull << 22;

// WRMSR of a counter takes the low 32 bits and repeats the highest of them above (SDM vol. 3,
// "Architectural Performance Monitoring"), so that it starts at most this far from 0.
constexpr std::uint64_t kMostPeriod = 1ull << 31;

// A tenth of the buffer lies behind the threshold: room for what is recorded until the interrupt is
// served. At least one record does.
std::uint64_t threshold_records(std::size_t records) {
  return records - std::max<std::size_t>(1, records / 10);
}

// Counters count up and overflow at 0.
std::uint64_t counter_start(const PebsOptions& pebs) { return 0 - std::uint64_t{pebs.period}; }

}  // namespace

struct DsDriver::State {
  hw::MsrBus* msrs = nullptr;
  hw::DsMemory* memory = nullptr;
  hw::BranchFeatures features;
  DsOptions options;
  hw::PebsFormat pebs_format;
  std::size_t pebs_bytes = 0;  // of one record

  std::vector<std::uint64_t> allocated;
  std::uint64_t area_address = 0;
  bool running = false;

  SavedMsr ds_area{msr::kDsArea};
  SavedMsr debugctl{msr::kDebugctl};
  SavedMsr lvt{msr::kX2apicLvtPmi};
  SavedMsr event_select{msr::kPerfEvtSel0};
  SavedMsr counter{msr::kPmc0};
  SavedMsr global_ctrl{msr::kPerfGlobalCtrl};
  SavedMsr data_cfg{msr::kPebsDataCfg};
  SavedMsr pebs_enable{msr::kPebsEnable};

  hw::DsLayout layout() const { return features.ds_layout(); }
  std::size_t bts_bytes() const { return hw::bts_record_bytes(layout()); }
  bool interrupts() const { return options.pebs || (options.bts && !options.bts->circular); }

  Status check() const;
  Status check_unused();
  Status allocate();
  Result<hw::DsBuffer> allocate_buffer(std::size_t records, std::size_t record_bytes);
  Status program();
  Status program_counter();
  std::uint64_t debugctl_when_on() const;

  Status set_running(bool on);
  Status write(std::uint32_t number, std::uint64_t value) { return msrs->write_msr(number, value); }
  Result<hw::DsArea> read_area() const;
  Status empty(hw::DsArea area, DsRecords& out);
  void copy_bts(const hw::DsBuffer& buffer, std::vector<hw::BtsRecord>& out) const;
  Status copy_pebs(const hw::DsBuffer& buffer, std::vector<hw::PebsRecord>& out) const;
  Status close();
};

Status DsDriver::State::check() const {
  if (!options.bts && !options.pebs)
    return fail(ErrorCode::usage, "neither BTS nor PEBS is wanted");
  if (options.bts) {
    if (const auto can = hw::bts_support(features); !can) {
      return fail(ErrorCode::unsupported, can.why);
    }
    if (!options.bts->os && !options.bts->user) {
      return fail(ErrorCode::usage, "BTS of no privilege level is wanted");
    }
    if (!(options.bts->os && options.bts->user) && features.debugctl.bts_off_os == 0) {
      return fail(ErrorCode::unsupported,
                  "this processor cannot select privilege levels (CPUID.1:ECX.DS-CPL is 0); record "
                  "both");
    }
  }
  if (options.pebs) {
    if (const auto can = hw::pebs_support(features); !can) {
      return fail(ErrorCode::unsupported, can.why);
    }
    if (!features.pebs_format()) {
      return fail(ErrorCode::unsupported,
                  "the PEBS record format is not known: IA32_PERF_CAPABILITIES cannot be read");
    }
    if (options.pebs->period == 0 || options.pebs->period > kMostPeriod) {
      return fail(ErrorCode::usage, "a PEBS period is 1 to 2147483648 events");
    }
  }
  if (std::min(options.bts ? options.bts->records : 2, options.pebs ? options.pebs->records : 2) <
      2) {
    return fail(ErrorCode::usage, "a buffer needs room for at least two records");
  }
  return {};
}

// Nobody may be using the debug store already: the kernel's intel_bts, or another driver.
Status DsDriver::State::check_unused() {
  const std::uint64_t bts_bits = features.debugctl.tr | features.debugctl.bts;
  if (options.bts && (debugctl.value() & bts_bits) != 0) {
    return fail(ErrorCode::io,
                "branch trace messages are on already (IA32_DEBUGCTL): another program records "
                "branches; stop that one first");
  }
  if (options.pebs && pebs_enable.value() != 0) {
    return fail(ErrorCode::io,
                "PEBS is on already (IA32_PEBS_ENABLE): another program samples; stop that one "
                "first");
  }
  return {};
}

Result<hw::DsBuffer> DsDriver::State::allocate_buffer(std::size_t records,
                                                      std::size_t record_bytes) {
  if (records > SIZE_MAX / record_bytes) {
    return fail(ErrorCode::usage, "a buffer of more records than memory can hold");
  }
  auto base = memory->allocate(records * record_bytes);
  if (!base) return std::unexpected(std::move(base.error()));
  allocated.push_back(*base);
  return hw::DsBuffer{.base = *base,
                      .index = *base,
                      .maximum = *base + records * record_bytes,
                      .threshold = *base + threshold_records(records) * record_bytes};
}

Status DsDriver::State::allocate() {
  auto address = memory->allocate(hw::ds_area_bytes(layout()));
  if (!address) return std::unexpected(std::move(address.error()));
  allocated.push_back(*address);
  area_address = *address;

  hw::DsArea area;
  if (options.bts) {
    auto buffer = allocate_buffer(options.bts->records, bts_bytes());
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    area.bts = *buffer;
  }
  if (options.pebs) {
    auto buffer = allocate_buffer(options.pebs->records, pebs_bytes);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    area.pebs = *buffer;
    area.pebs_counter_reset[0] = counter_start(*options.pebs);
  }
  const auto bytes = memory->at(area_address, hw::ds_area_bytes(layout()));
  if (bytes.empty()) return fail(ErrorCode::io, "the DS area's memory is not mapped");
  hw::write_ds_area(area, layout(), bytes);
  return {};
}

Status DsDriver::State::program() {
  std::vector<SavedMsr*> needed = {&ds_area, &debugctl};
  if (interrupts()) needed.push_back(&lvt);
  if (options.pebs) {
    for (SavedMsr* saved : {&event_select, &counter, &global_ctrl, &pebs_enable}) {
      needed.push_back(saved);
    }
    if (pebs_format.adaptive()) needed.push_back(&data_cfg);
  }
  for (SavedMsr* saved : needed) {
    if (Status status = saved->save(*msrs); !status) return status;
  }
  if (Status status = check_unused(); !status) return status;
  if (Status status = allocate(); !status) return status;
  if (Status status = write(msr::kDsArea, area_address); !status) return status;
  return options.pebs ? program_counter() : Status{};
}

Status DsDriver::State::program_counter() {
  const PebsOptions& pebs = *options.pebs;
  if (pebs_format.adaptive()) {
    if (Status status = write(msr::kPebsDataCfg, pebs.data_cfg); !status) return status;
  }
  if (Status status = write(msr::kPmc0, counter_start(pebs) & 0xffffffff); !status) return status;
  return write(msr::kPerfEvtSel0, pebs.event_select | kSelEn);
}

std::uint64_t DsDriver::State::debugctl_when_on() const {
  const hw::DebugctlLayout& bits = features.debugctl;
  std::uint64_t out = debugctl.value() | bits.tr | bits.bts;
  if (!options.bts->circular) out |= bits.btint;
  if (!options.bts->os) out |= bits.bts_off_os;
  if (!options.bts->user) out |= bits.bts_off_usr;
  return out;
}

Status DsDriver::State::set_running(bool on) {
  if (options.bts) {
    if (Status status = write(msr::kDebugctl, on ? debugctl_when_on() : debugctl.value());
        !status) {
      return status;
    }
  }
  if (options.pebs) {
    if (Status status = write(msr::kPebsEnable, on ? kPmc0 : 0); !status) return status;
    const std::uint64_t others = global_ctrl.value() & ~kPmc0;
    return write(msr::kPerfGlobalCtrl, on ? others | kPmc0 : others);
  }
  return {};
}

Result<hw::DsArea> DsDriver::State::read_area() const {
  const auto area =
      hw::read_ds_area(memory->at(area_address, hw::ds_area_bytes(layout())), layout());
  if (!area) return fail(ErrorCode::io, "the DS area's memory is gone");
  return *area;
}

// Appends the records that are in the buffers and resets the indexes. Nothing may be recording.
Status DsDriver::State::empty(hw::DsArea area, DsRecords& out) {
  Status status;
  if (options.bts) {
    copy_bts(area.bts, out.bts);
    area.bts.index = area.bts.base;
  }
  if (options.pebs) {
    status = copy_pebs(area.pebs, out.pebs);
    area.pebs.index = area.pebs.base;
  }
  hw::write_ds_area(area, layout(), memory->at(area_address, hw::ds_area_bytes(layout())));
  return status;
}

void DsDriver::State::copy_bts(const hw::DsBuffer& buffer, std::vector<hw::BtsRecord>& out) const {
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    ByteReader in(memory->at(from, to - from));
    while (const auto record = read_bts_record(in, layout())) {
      if (*record != hw::BtsRecord{}) out.push_back(*record);
    }
  };
  if (!buffer.is_sound(bts_bytes())) return;
  // A circular buffer goes on behind the index with its oldest records, or with zeros.
  if (options.bts->circular) copy(buffer.index, buffer.maximum);
  copy(buffer.base, buffer.index);
  std::ranges::fill(memory->at(buffer.base, buffer.maximum - buffer.base), std::uint8_t{0});
}

Status DsDriver::State::copy_pebs(const hw::DsBuffer& buffer,
                                  std::vector<hw::PebsRecord>& out) const {
  if (!buffer.is_sound(pebs_bytes)) return {};
  ByteReader in(memory->at(buffer.base, buffer.used()));
  while (in.remaining() != 0) {
    auto record = read_pebs_record(in, pebs_format);
    if (!record) return std::unexpected(std::move(record.error()));
    out.push_back(std::move(*record));
  }
  return {};
}

Status DsDriver::State::close() {
  Status first;
  const auto keep = [&](Status status) {
    if (first && !status) first = std::move(status);
  };
  if (std::exchange(running, false)) keep(set_running(false));
  for (SavedMsr* saved : {&debugctl, &pebs_enable, &global_ctrl, &event_select, &counter, &data_cfg,
                          &ds_area, &lvt}) {
    keep(saved->restore(*msrs));
  }
  for (const std::uint64_t address : allocated) memory->release(address);
  allocated.clear();
  return first;
}

DsDriver::DsDriver(std::unique_ptr<State> state) : state_(std::move(state)) {}
DsDriver::DsDriver(DsDriver&&) noexcept = default;
DsDriver& DsDriver::operator=(DsDriver&& other) noexcept {
  if (this != &other) {
    if (state_) static_cast<void>(state_->close());
    state_ = std::move(other.state_);
  }
  return *this;
}
DsDriver::~DsDriver() {
  if (state_) static_cast<void>(state_->close());
}

Result<DsDriver> DsDriver::open(const hw::Cpuid& cpuid, hw::MsrBus& msrs, hw::DsMemory& memory,
                                const DsOptions& options) {
  auto state = std::make_unique<State>();
  state->msrs = &msrs;
  state->memory = &memory;
  state->options = options;
  state->features = hw::find_branch_features(cpuid, &msrs);
  if (Status status = state->check(); !status) return std::unexpected(std::move(status.error()));
  if (options.pebs) {
    state->pebs_format = {*state->features.pebs_format(), state->layout()};
    state->pebs_bytes = hw::pebs_record_bytes(state->pebs_format, options.pebs->data_cfg);
  }
  if (Status status = state->program(); !status) {
    static_cast<void>(state->close());
    return std::unexpected(std::move(status.error()));
  }
  return DsDriver(std::move(state));
}

Status DsDriver::start() {
  if (state_->interrupts()) {
    const std::uint64_t unmasked = state_->lvt.value() & ~hw::lvt::kMasked;
    if (Status status = state_->write(msr::kX2apicLvtPmi, unmasked); !status) return status;
  }
  Status status = state_->set_running(true);
  state_->running = status.has_value();
  return status;
}

Status DsDriver::stop() {
  state_->running = false;
  return state_->set_running(false);
}

Result<bool> DsDriver::handle_interrupt(DsRecords& out) {
  State& s = *state_;
  // First of all nothing may be recorded any more: the area is about to be read and changed.
  if (Status status = s.set_running(false); !status) return std::unexpected(status.error());
  auto area = s.read_area();
  if (!area) return std::unexpected(std::move(area.error()));
  // One vector for both: look at both, whichever it was.
  const bool mine = (s.options.bts && area->bts.index >= area->bts.threshold) ||
                    (s.options.pebs && area->pebs.index >= area->pebs.threshold);
  Status copied;
  if (mine) copied = s.empty(*area, out);
  if (s.options.pebs) {
    if (Status status = s.write(msr::kPerfGlobalOvfCtrl, kOvfDsBuffer | kOvfPmc0); !status) {
      return std::unexpected(status.error());
    }
  }
  if (Status status = s.write(msr::kX2apicLvtPmi, s.lvt.value() & ~hw::lvt::kMasked); !status) {
    return std::unexpected(status.error());
  }
  if (s.running) {
    if (Status status = s.set_running(true); !status) return std::unexpected(status.error());
  }
  if (!copied) return std::unexpected(std::move(copied.error()));
  return mine;
}

Status DsDriver::drain(DsRecords& out) {
  State& s = *state_;
  if (Status status = s.set_running(false); !status) return status;
  auto area = s.read_area();
  if (!area) return std::unexpected(std::move(area.error()));
  Status copied = s.empty(*area, out);
  if (s.running) {
    if (Status status = s.set_running(true); !status) return status;
  }
  return copied;
}

Status DsDriver::close() { return state_->close(); }

}  // namespace hodo::driver
