// Samples of the LBR stack into the channel's ring: a counter of branches overflows, and its
// handler reads the registers, as a kernel's does.
#include <array>
#include <cstring>

#include "hodo/hw/lbr.h"
#include "hodo/relay/clock.h"
#include "hodo/unit/lbr_unit.h"
#include "tracer.h"

namespace hodo::plugin {
namespace {

constexpr unsigned kDepth = 32;
// struct perf_branch_entry's bit field (include/uapi/linux/perf_event.h).
constexpr std::uint64_t kMispred = 1, kPredicted = 2;
constexpr unsigned kCyclesShift = 4;

class LbrTracer final : public Tracer {
 public:
  LbrTracer(relay::ChannelMemory& memory, const unit::SignalQuery& signals) : memory_(memory) {
    walk_.unit.configure(hw::arch_lbr_layout(kDepth, true));
    count_down();
    walk_.unit.enable(true);
    walk_.start(signals);
  }

  void* unit() override { return &walk_; }
  const unit::Block* current() const override { return walk_.current(); }
  void leave_context() override { walk_.leave_context(); }
  void publish() override { relay::publish_aux(memory_, written_, 0); }

 private:
  void count_down() {
    walk_.unit.count_down(memory_.header().settings.sample_period, &LbrTracer::overflow, this);
  }

  static void overflow(void* self) {
    auto* tracer = static_cast<LbrTracer*>(self);
    tracer->sample();
    if (tracer->walk_.unit.enabled()) tracer->count_down();
  }

  // Whether a sample fits into the ring; waits for that at first.
  bool reserve() {
    constexpr std::uint64_t kLargest =
        sizeof(relay::StackSample) + relay::kMaxStack * sizeof(relay::StackEntry);
    relay::ChannelHeader& header = memory_.header();
    if (header.stop.load(std::memory_order_relaxed) != 0) {
      walk_.unit.enable(false);
      walk_.stop();
      return false;
    }
    if (room_ >= kLargest) return true;
    room_ = relay::publish_aux(memory_, written_, lossy_ ? 0 : kPatienceMs);
    lossy_ = room_ < kLargest;
    return !lossy_;
  }

  void sample() {
    relay::ChannelHeader& header = memory_.header();
    header.unexplained.store(walk_.unexplained(), std::memory_order_relaxed);
    if (!reserve()) {
      header.dropped.fetch_add(walk_.unit.enabled() ? 1 : 0, std::memory_order_relaxed);
      return;
    }
    std::array<hw::LbrRegisters, hw::LbrLayout::kMaxDepth> registers;
    const std::size_t count = walk_.unit.newest_first(registers);
    std::uint8_t* const begin = memory_.aux() + written_ % memory_.aux_size();
    std::uint8_t* to = begin + sizeof(relay::StackSample);
    relay::StackSample head{.time = relay::now()};
    for (std::size_t i = 0; i < count; ++i) {
      const auto branch = hw::decode_lbr(registers[i], walk_.unit.layout().format);
      if (!branch) continue;
      const relay::StackEntry entry{branch->from, branch->to,
                                    (branch->mispredicted ? kMispred : kPredicted) |
                                        std::uint64_t{branch->cycles} << kCyclesShift};
      if (head.entries++ == 0) head.ip = branch->to;
      std::memcpy(to, &entry, sizeof(entry));
      to += sizeof(entry);
    }
    std::memcpy(begin, &head, sizeof(head));
    const auto size = static_cast<std::uint64_t>(to - begin);
    written_ += size;
    room_ -= size;
    header.aux_head.store(written_, std::memory_order_release);
  }

  relay::ChannelMemory& memory_;
  unit::BranchWalk<unit::LbrUnit> walk_;
  std::uint64_t written_ = 0;
  std::uint64_t room_ = 0;
  bool lossy_ = false;
};

}  // namespace

std::unique_ptr<Tracer> start_lbr(relay::ChannelMemory& memory, const unit::SignalQuery& signals) {
  return std::make_unique<LbrTracer>(memory, signals);
}

}  // namespace hodo::plugin
