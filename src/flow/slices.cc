#include "hodo/flow/slices.h"

#include <utility>

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
  Impl(flow::Knowledge& code, const Config& config, std::span<const Piece> pieces, BranchSink& sink)
      : code_(code),
        config_(plain(config)),
        pieces_(pieces),
        out_(config_, {.listener = sink, .branches = &sink}),
        decoder_(code.blocks, &code.memo, &code.graph, true, config_, out_) {}

  bool advance(std::size_t bytes) {
    if (at_ == pieces_.size()) return false;
    const Piece& piece = pieces_[at_];
    if (!std::exchange(begun_, true)) {
      decoder_.begin(piece, at_ > 0);
      reached_ = 0;
    }
    const std::size_t size = piece.bytes.size();
    if (decoder_.advance(bytes < size - reached_ ? reached_ + bytes : size)) {
      reached_ = decoder_.state().psb;
    } else {
      decoder_.end();
      begun_ = false;
      ++at_;
    }
    out_.flush();
    out_.settle(code_.memo);
    out_.settle(code_.graph);
    return at_ != pieces_.size();
  }

  const Stats& stats() { return out_.stats(); }

 private:
  static Config plain(Config config) {
    config.want_instructions = false;
    return config;
  }

  flow::Knowledge& code_;
  const Config config_;
  const std::span<const Piece> pieces_;
  Output out_;
  PathDecoder decoder_;
  std::size_t at_ = 0;       // the piece
  std::size_t reached_ = 0;  // in it: the PSB where the last slice ended
  bool begun_ = false;       // it
};

Slices::Slices(SharedCode& code, const Config& config, std::span<const Piece> pieces,
               BranchSink& sink)
    : impl_(std::make_unique<Impl>(*code.knowledge_, config, pieces, sink)) {}
Slices::~Slices() = default;
Slices::Slices(Slices&& other) noexcept = default;
Slices& Slices::operator=(Slices&& other) noexcept = default;

bool Slices::advance(std::size_t bytes) { return impl_->advance(bytes); }
const Stats& Slices::stats() const { return impl_->stats(); }

}  // namespace hodo::flow
