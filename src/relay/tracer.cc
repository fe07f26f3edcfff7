#include "hodo/relay/tracer.h"

namespace hodo::relay {

std::unique_ptr<Tracer> start_tracer(ChannelWriter& channel, isa::Mode mode,
                                     const unit::SignalQuery& signals, Clock clock) {
  switch (channel.settings().recording) {
    case Recording::bts:
      return start_bts(channel, signals, clock);
    case Recording::lbr:
      return start_lbr(channel, signals, clock);
    case Recording::pt:
      break;
  }
  return start_pt(channel, mode, signals, clock);
}

}  // namespace hodo::relay
