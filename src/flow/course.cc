#include "course.h"

namespace hodo::flow {

bool Course::next() {
  for (;;) {
    const PieceWalk::Next next = walk_.next();
    begins_ = next == PieceWalk::Next::begins;
    switch (next) {
      case PieceWalk::Next::begins:
        decoder_.begin(piece(), !walk_.is_first());
        return true;
      case PieceWalk::Next::goes_on:
        go_on();
        return true;
      case PieceWalk::Next::breaks:
        decoder_.end();
        break;
      case PieceWalk::Next::nothing:
        return false;
    }
  }
}

// The bytes before the PSB are not there any more.
void Course::go_on() {
  PathDecoder::State state = decoder_.state();
  state.offset -= state.psb;
  state.psb = 0;
  decoder_.resume(piece(), state);
  out_.stats().bytes += piece().bytes.size();
}

void Course::done(bool paused) {
  if (!paused) return walk_.end();
  const std::size_t at = decoder_.state().psb;
  out_.stats().bytes -= piece().bytes.size() - at;
  walk_.pause(at);
}

}  // namespace hodo::flow
