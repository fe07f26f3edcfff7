#include "tracer.h"

namespace hodo::plugin {

std::unique_ptr<Tracer> start_tracer(relay::ChannelWriter& channel, isa::Mode mode,
                                     const unit::SignalQuery& signals) {
  switch (channel.settings().recording) {
    case relay::Recording::bts:
      return start_bts(channel, signals);
    case relay::Recording::lbr:
      return start_lbr(channel, signals);
    case relay::Recording::pt:
      break;
  }
  return start_pt(channel, mode, signals);
}

}  // namespace hodo::plugin
