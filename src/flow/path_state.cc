// Handing the path from one decoder to another, at a PSB.
#include "path_decoder.h"

namespace hodo::flow {

PathDecoder::State PathDecoder::state() const {
  return {.psb = psb_,
          .offset = reader_.offset(),
          .entered = paused_,
          .enabled = walker_.enabled,
          .in_tx = walker_.in_tx,
          .mode = walker_.mode,
          .ip = walker_.ip,
          .last_ip = last_ip_,
          .clock = clock_,
          .exec = exec_,
          .cbr = cbr_,
          .after_overflow = after_overflow_,
          .synced = synced_,
          .in_gap = in_gap_,
          .gap_from = gap_from_,
          .pending_insns = out_.pending_insns(),
          .line = out_.line()};
}

void PathDecoder::resume(const Piece& piece, const State& state) {
  enter_piece(piece, state.offset);
  forget_pending();
  walker_.returns().clear();
  psb_ = state.psb;
  paused_ = state.entered;
  walker_.enabled = state.enabled;
  walker_.in_tx = state.in_tx;
  walker_.mode = state.mode;
  walker_.ip = state.ip;
  walker_.time = state.clock.now();
  last_ip_ = state.last_ip;
  clock_ = state.clock;
  exec_ = state.exec;
  cbr_ = state.cbr;
  after_overflow_ = state.after_overflow;
  synced_ = state.synced;
  in_gap_ = state.in_gap;
  gap_from_ = state.gap_from;
  out_.resume(state.pending_insns, state.line);
}

void PathDecoder::assume(const Piece& piece, std::size_t psb, const State& known) {
  State before = known;
  before.offset = psb;
  before.entered = true;
  before.in_gap = false;
  before.after_overflow = false;
  before.synced = true;
  before.pending_insns = 0;
  // That it was off need not be known: then the PSB+ says so, too.
  before.enabled = true;
  before.exec.reset();  // it may have changed since
  resume(piece, before);
  const auto ip = psb_plus().ip();
  walker_.enabled = ip.has_value();
  walker_.ip = ip.value_or(0);
  psb_ = psb;
  // What cannot be read here is read again by whoever comes from before.
  (void)enter(psb);
  if (!exec_) exec_ = known.exec;
}

bool PathDecoder::alike(const State& a, const State& b) {
  const bool same_place = a.psb == b.psb && a.offset == b.offset && a.entered == b.entered &&
                          a.enabled == b.enabled && (!a.enabled || a.ip == b.ip) &&
                          a.last_ip.ip() == b.last_ip.ip();
  const bool same_modes = a.in_tx == b.in_tx && a.mode == b.mode && a.exec == b.exec &&
                          a.cbr == b.cbr && a.after_overflow == b.after_overflow &&
                          a.synced == b.synced;
  const bool same_gap = a.in_gap == b.in_gap && (!a.in_gap || a.gap_from == b.gap_from);
  return same_place && same_modes && same_gap && a.clock.goes_as(b.clock);
}

}  // namespace hodo::flow
