#include "tracer.h"

namespace hodo::plugin {

std::unique_ptr<Tracer> start_tracer(relay::ChannelMemory& memory, isa::Mode mode,
                                     const unit::SignalQuery& signals) {
  switch (memory.header().settings.recording) {
    case relay::Recording::bts:
      return start_bts(memory, signals);
    case relay::Recording::lbr:
      return start_lbr(memory, signals);
    case relay::Recording::pt:
      break;
  }
  return start_pt(memory, mode, signals);
}

}  // namespace hodo::plugin
