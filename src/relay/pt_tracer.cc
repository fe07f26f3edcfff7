// Intel PT packets into the channel's ring.
#include "hodo/relay/tracer.h"
#include "hodo/unit/pt_unit.h"

namespace hodo::relay {
namespace {

class PtTracer final : public Tracer {
 public:
  PtTracer(ChannelWriter& channel, isa::Mode mode, const unit::SignalQuery& signals, Clock clock)
      : channel_(channel), signals_(signals) {
    unit::PtOutput output;
    output.base = channel.aux();
    output.size = channel.aux_size();
    output.owner = this;
    output.reserve = &PtTracer::reserve;
    if (signals.interrupted != nullptr) output.interrupted = &PtTracer::interrupted;
    output.remains = &channel.remains();
    output.key = channel.key();
    unit_.start(channel.settings().rtit_ctl, mode, output, clock);
  }

  void* unit() override { return &unit_; }
  const unit::Block* current() const override { return unit_.current(); }
  void move_current(const unit::Block* to) override { unit_.move_current(to); }
  bool counts_cycles() const override { return unit_.counts_cycles(); }
  void leave_context() override { unit_.leave_context(); }
  void interrupt(std::uint64_t ip, bool faulted) override { unit_.interrupt(ip, faulted); }
  void after_new_code() override { unit_.code_changed(); }
  void publish() override { hand_over(0); }

 private:
  std::uint64_t hand_over(unsigned patience_ms) {
    channel_.count(unit_.overflows(), unit_.unexplained());
    return channel_.publish_aux(unit_.written(), unit_.digest(), patience_ms);
  }

  static std::uint64_t reserve(void* self, std::uint64_t) {
    auto* tracer = static_cast<PtTracer*>(self);
    unit::PtUnit& unit = tracer->unit_;
    const auto stop = [&] {
      unit.stop();
      return tracer->hand_over(0);
    };
    if (tracer->channel_.over()) return stop();
    // After a loss, do not wait again at every block; go on as soon as there is room.
    const bool lossy = unit.overflows() != tracer->overflows_seen_;
    const std::uint64_t room = tracer->hand_over(lossy ? 0 : kPatienceMs);
    // While it waited: nothing is lost by want of room.
    if (tracer->channel_.over()) return stop();
    if (room >= tracer->channel_.aux_size() / 4) tracer->overflows_seen_ = unit.overflows();
    return room;
  }

  static bool interrupted(void* self, const unit::Block& b, std::uint64_t& ip, bool& faulted) {
    const unit::SignalQuery& signals = static_cast<PtTracer*>(self)->signals_;
    return signals.interrupted(signals.owner, b, ip, faulted);
  }

  ChannelWriter& channel_;
  unit::SignalQuery signals_;
  alignas(64) unit::PtUnit unit_;  // its first line is the hot one
  std::uint64_t overflows_seen_ = 0;
};

}  // namespace

std::unique_ptr<Tracer> start_pt(ChannelWriter& channel, isa::Mode mode,
                                 const unit::SignalQuery& signals, Clock clock) {
  return std::make_unique<PtTracer>(channel, mode, signals, clock);
}

}  // namespace hodo::relay
