#include "hodo/flow/slices.h"

#include <algorithm>

#include "course.h"
#include "output.h"
#include "parallel.h"
#include "path_decoder.h"

namespace hodo::flow {

struct SharedCode::Knowledge : flow::Knowledge {
  using flow::Knowledge::Knowledge;
};

SharedCode::SharedCode(const image::CodeSource& code)
    : knowledge_(std::make_unique<Knowledge>(code)) {}
SharedCode::~SharedCode() = default;
SharedCode::SharedCode(SharedCode&& other) noexcept = default;
SharedCode& SharedCode::operator=(SharedCode&& other) noexcept = default;

// By steps: what they lead over is counted at once, so that streams whose turns alternate have
// nothing in common that would have to be told apart but a few paths. At the PSB where a turn ends,
// a decoder has no calls open, which are all that it would keep of the graph.
class Slices::Impl {
 public:
  Impl(flow::Knowledge& code, const Config& config, PieceSource& stream, BranchSink& sink)
      : code_(code),
        config_(plain(config)),
        out_(config_, {.listener = sink, .branches = &sink}),
        decoder_(code.blocks, &code.memo, &code.graph, true, config_, out_),
        course_(stream, decoder_, out_) {}

  bool advance(std::size_t bytes) {
    if (!within_ && !enter()) return false;
    const std::size_t rest = course_.limit() - std::min(course_.limit(), reached_);
    const bool paused = decoder_.advance(bytes < rest ? reached_ + bytes : course_.limit());
    if (paused) {
      reached_ = decoder_.state().psb;
    } else {
      decoder_.end();
    }
    if (!paused || reached_ >= course_.limit()) {
      course_.done(paused);
      enter();
    }
    out_.flush();
    out_.settle(code_.memo);
    out_.settle(code_.graph);
    return within_;
  }

  const Stats& stats() { return out_.stats(); }

 private:
  static Config plain(Config config) {
    config.want_instructions = false;
    return config;
  }

  bool enter() {
    within_ = course_.next();
    reached_ = 0;
    return within_;
  }

  flow::Knowledge& code_;
  const Config config_;
  Output out_;
  PathDecoder decoder_;
  Course course_;
  bool within_ = false;      // a piece
  std::size_t reached_ = 0;  // in it: the PSB where the last slice ended
};

Slices::Slices(SharedCode& code, const Config& config, PieceSource& stream, BranchSink& sink)
    : impl_(std::make_unique<Impl>(*code.knowledge_, config, stream, sink)) {}
Slices::~Slices() = default;
Slices::Slices(Slices&& other) noexcept = default;
Slices& Slices::operator=(Slices&& other) noexcept = default;

bool Slices::advance(std::size_t bytes) { return impl_->advance(bytes); }
const Stats& Slices::stats() const { return impl_->stats(); }

}  // namespace hodo::flow
