// Samples of the LBR stack into the channel's ring: a counter of branches overflows, and its
// handler reads the registers, as a kernel's does.
#include <array>
#include <cstring>

#include "hodo/hw/lbr.h"
#include "hodo/relay/tracer.h"
#include "hodo/unit/lbr_unit.h"

namespace hodo::relay {
namespace {

constexpr unsigned kDepth = 32;
// struct perf_branch_entry's bit field (include/uapi/linux/perf_event.h).
constexpr std::uint64_t kMispred = 1, kPredicted = 2;
constexpr unsigned kCyclesShift = 4;

class LbrTracer final : public Tracer {
 public:
  LbrTracer(ChannelWriter& channel, const unit::SignalQuery& signals, Clock clock)
      : channel_(channel), clock_(clock) {
    walk_.unit.configure(hw::arch_lbr_layout(kDepth, true));
    count_down();
    walk_.unit.enable(true);
    walk_.start(signals);
  }

  void* unit() override { return &walk_; }
  const unit::Block* current() const override { return walk_.current(); }
  void move_current(const unit::Block* to) override { walk_.move_current(to); }
  void leave_context() override { walk_.leave_context(); }
  void interrupt(std::uint64_t ip, bool faulted) override { walk_.interrupt(ip, faulted); }
  void publish() override { hand_over(0); }

 private:
  std::uint64_t hand_over(unsigned patience_ms) {
    channel_.count(dropped_, walk_.unexplained());
    return channel_.publish_aux(written_, digest_.value(), patience_ms);
  }

  void count_down() {
    walk_.unit.count_down(channel_.settings().sample_period, &LbrTracer::overflow, this);
  }

  static void overflow(void* self) {
    auto* tracer = static_cast<LbrTracer*>(self);
    tracer->sample();
    if (tracer->walk_.unit.enabled()) tracer->count_down();
  }

  // Whether a sample fits into the ring; waits for that at first.
  bool reserve() {
    constexpr std::uint64_t kLargest = sizeof(StackSample) + kMaxStack * sizeof(StackEntry);
    if (!channel_.over()) {
      if (room_ >= kLargest) return true;
      room_ = hand_over(lossy_ ? 0 : kPatienceMs);
      lossy_ = room_ < kLargest;
      if (!channel_.over()) return !lossy_;
    }
    walk_.unit.enable(false);
    walk_.stop();
    hand_over(0);
    return false;
  }

  void sample() {
    if (!reserve()) {
      dropped_ += walk_.unit.enabled() ? 1 : 0;
      return;
    }
    std::array<hw::LbrRegisters, hw::LbrLayout::kMaxDepth> registers;
    const std::size_t count = walk_.unit.newest_first(registers);
    // Made aside: what is in the ring may not be ours by the time that it is sealed.
    StackSample head{.time = clock_()};
    std::array<StackEntry, kDepth> entries;
    for (std::size_t i = 0; i < count; ++i) {
      const auto branch = hw::decode_lbr(registers[i], walk_.unit.layout().format);
      if (!branch) continue;
      const StackEntry entry{branch->from, branch->to,
                             (branch->mispredicted ? kMispred : kPredicted) |
                                 std::uint64_t{branch->cycles} << kCyclesShift};
      if (head.entries == 0) head.ip = branch->to;
      entries[head.entries++] = entry;
    }
    put(&head, sizeof(head));
    put(entries.data(), head.entries * sizeof(StackEntry));
    channel_.count(dropped_, walk_.unexplained());
    channel_.seal_aux(written_, digest_.value());
  }

  // Whole words.
  void put(const void* data, std::size_t size) {
    std::memcpy(channel_.aux() + written_ % channel_.aux_size(), data, size);
    for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::uint8_t*>(data) + at, sizeof(word));
      digest_.add(word, sizeof(word));
    }
    written_ += size;
    room_ -= size;
  }

  ChannelWriter& channel_;
  Clock clock_;
  unit::BranchWalk<unit::LbrUnit> walk_;
  unit::StreamDigest digest_{channel_.key()};
  std::uint64_t written_ = 0;
  std::uint64_t dropped_ = 0;  // samples that found no room
  std::uint64_t room_ = 0;
  bool lossy_ = false;
};

}  // namespace

std::unique_ptr<Tracer> start_lbr(ChannelWriter& channel, const unit::SignalQuery& signals,
                                  Clock clock) {
  return std::make_unique<LbrTracer>(channel, signals, clock);
}

}  // namespace hodo::relay
