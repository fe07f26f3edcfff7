// Intel PT packets into the channel's ring. The unit itself lives in the channel, so that the
// recorder can finish the stream of a killed process.
#include "hodo/relay/clock.h"
#include "hodo/unit/pt_unit.h"
#include "tracer.h"

namespace hodo::plugin {
namespace {

class PtTracer final : public Tracer {
 public:
  PtTracer(relay::ChannelMemory& memory, isa::Mode mode, const unit::SignalQuery& signals)
      : memory_(memory), signals_(signals) {
    unit::PtOutput output;
    output.base = memory_.aux();
    output.size = memory_.aux_size();
    output.owner = this;
    output.reserve = &PtTracer::reserve;
    output.interrupted = &PtTracer::interrupted;
    pt().start(memory_.header().settings.rtit_ctl, mode, output, &relay::now);
  }

  void* unit() override { return &pt(); }
  const unit::Block* current() const override { return memory_.header().unit.current(); }
  bool counts_cycles() const override { return memory_.header().unit.counts_cycles(); }
  void leave_context() override { pt().leave_context(); }
  void after_new_code() override { pt().code_changed(); }
  void publish() override { relay::publish_aux(memory_, pt().written(), 0); }

 private:
  unit::PtUnit& pt() { return memory_.header().unit; }

  static std::uint64_t reserve(void* self, std::uint64_t written) {
    auto* tracer = static_cast<PtTracer*>(self);
    unit::PtUnit& unit = tracer->pt();
    relay::ChannelMemory& memory = tracer->memory_;
    if (memory.header().stop.load(std::memory_order_relaxed) != 0) {
      unit.stop();
      return relay::publish_aux(memory, unit.written(), 0);
    }
    // After a loss, do not wait again at every block; go on as soon as there is room.
    const bool lossy = unit.overflows() != tracer->overflows_seen_;
    const std::uint64_t room = relay::publish_aux(memory, written, lossy ? 0 : kPatienceMs);
    if (room >= memory.aux_size() / 4) tracer->overflows_seen_ = unit.overflows();
    return room;
  }

  static bool interrupted(void* self, const unit::Block& b, std::uint64_t& ip, bool& faulted) {
    const unit::SignalQuery& signals = static_cast<PtTracer*>(self)->signals_;
    return signals.interrupted(signals.owner, b, ip, faulted);
  }

  relay::ChannelMemory& memory_;
  unit::SignalQuery signals_;
  std::uint64_t overflows_seen_ = 0;
};

}  // namespace

std::unique_ptr<Tracer> start_pt(relay::ChannelMemory& memory, isa::Mode mode,
                                 const unit::SignalQuery& signals) {
  return std::make_unique<PtTracer>(memory, mode, signals);
}

}  // namespace hodo::plugin
