// BTS records into the channel's ring: its owner acts as the interrupt handler of a driver. The DS
// area's buffer is a stretch of the ring. At the interrupt the stretch is handed to the recorder
// and the next one takes its place, so nothing is copied here.
#include <algorithm>
#include <array>

#include "hodo/relay/tracer.h"
#include "hodo/unit/bts_unit.h"

namespace hodo::relay {
namespace {

constexpr std::uint64_t kRecord = sizeof(hw::BtsRecord);
// What one stretch holds at most: so much that its hand-over costs nothing beside it, and so little
// that the recorder has work long before the ring is full.
constexpr std::uint64_t kStretch = 16 * 1024 * kRecord;

class BtsTracer final : public Tracer, private hw::DsMemory {
 public:
  BtsTracer(ChannelWriter& channel, const unit::SignalQuery& signals, Clock clock)
      : channel_(channel), clock_(clock) {
    arm(channel.aux_size());
    unit::BtsControl control;
    control.ds_area = reinterpret_cast<std::uintptr_t>(ds_area_.data());
    control.remains = &channel.remains().digest;
    control.key = channel.key();
    control.memory = this;
    control.interrupts = true;
    control.interrupt = &BtsTracer::interrupt;
    control.owner = this;
    walk_.unit.start(control);
    walk_.start(signals);
  }

  void* unit() override { return &walk_; }
  const unit::Block* current() const override { return walk_.current(); }
  void move_current(const unit::Block* to) override { walk_.move_current(to); }
  void leave_context() override { walk_.leave_context(); }
  void interrupt(std::uint64_t ip, bool faulted) override { walk_.interrupt(ip, faulted); }
  void before_new_code() override { publish(); }
  void publish() override {
    walk_.unit.drain();
    hand_over(0);
    mark();
  }

 private:
  // Addresses in the DS area are this process's own.
  std::span<std::uint8_t> at(std::uint64_t address, std::size_t size) override {
    return {reinterpret_cast<std::uint8_t*>(address), size};
  }
  Result<std::uint64_t> allocate(std::size_t) override {
    return fail(ErrorCode::no_space, "the DS area lies in the channel");
  }
  void release(std::uint64_t) override {}

  static void interrupt(void* self) {
    auto* tracer = static_cast<BtsTracer*>(self);
    // After a loss, do not wait again at every record; go on as soon as there is room.
    const bool lossy = tracer->walk_.unit.dropped() != tracer->dropped_told_;
    tracer->hand_over(lossy ? 0 : kPatienceMs);
  }

  // What was recorded goes to the recorder, and the next stretch of the ring to the unit.
  void hand_over(unsigned patience_ms) {
    const auto area = hw::read_ds_area(ds_area_, hw::DsLayout::bits64);
    if (!area) return;  // cannot be: there is room for one
    written_ += area->bts.used();
    channel_.count(walk_.unit.dropped(), walk_.unexplained());
    const std::uint64_t room = channel_.publish_aux(written_, walk_.unit.digest(), patience_ms);
    if (channel_.over()) {
      walk_.unit.stop();
      walk_.stop();
      return arm(0);
    }
    // What is left of the stretch is the unit's in any case.
    const std::uint64_t usable = std::max(room, area->bts.maximum - area->bts.index);
    if (usable != 0 && walk_.unit.dropped() != dropped_told_) mark();
    arm(usable);
    if (walk_.unit.recording()) walk_.unit.reload();
  }

  void arm(std::uint64_t room) {
    const std::uint64_t size = std::min(room, kStretch) / kRecord * kRecord;
    hw::DsArea area;
    area.bts.base =
        reinterpret_cast<std::uintptr_t>(channel_.aux()) + written_ % channel_.aux_size();
    area.bts.index = area.bts.base;
    area.bts.maximum = area.bts.threshold = area.bts.base + size;
    hw::write_ds_area(area, hw::DsLayout::bits64, ds_area_);
  }

  void mark() {
    const std::uint64_t dropped = walk_.unit.dropped();
    RecordHeader record;
    record.type = RecordType::mark;
    record.time = clock_();
    const MarkRecord fixed{.position = written_, .dropped = dropped - dropped_told_};
    channel_.write_record(record, {reinterpret_cast<const std::uint8_t*>(&fixed), sizeof(fixed)},
                          {});
    dropped_told_ = dropped;
  }

  ChannelWriter& channel_;
  Clock clock_;
  std::array<std::uint8_t, hw::ds_area_bytes(hw::DsLayout::bits64)> ds_area_{};
  unit::BranchWalk<unit::BtsUnit> walk_;
  std::uint64_t written_ = 0;
  std::uint64_t dropped_told_ = 0;
};

}  // namespace

std::unique_ptr<Tracer> start_bts(ChannelWriter& channel, const unit::SignalQuery& signals,
                                  Clock clock) {
  return std::make_unique<BtsTracer>(channel, signals, clock);
}

}  // namespace hodo::relay
