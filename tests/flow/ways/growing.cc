#include "hodo/flow/growing.h"

#include <algorithm>

#include "each_way.h"
#include "judging.h"

namespace hodo::flow::ways {
namespace {

// Without what only the whole trace tells: where its PSBs are, and what else there is to say of a
// loss than its cause.
class Path final : public Judging {
 public:
  // Judges by this code, or does not judge.
  Path(const image::CodeSource* by, bool repeats) : Judging(by, repeats), judges_(by != nullptr) {}

  bool wants_passages() const override { return judges_; }
  void on_branches(std::span<const Branch> batch) override {
    const std::lock_guard lock(mutex);
    for (const Branch& b : batch) come(b);
  }
  void on_loss(const Loss& loss) override {
    others.push_back(std::to_string(branches.size()) + " " + std::string(name(loss.cause)));
  }
  void on_event(const Event& event) override {
    others.push_back(std::to_string(branches.size()) + " " + std::string(name(event.kind)) + " " +
                     std::to_string(event.offset));
  }
  bool on_progress(std::uint64_t) override { return true; }

 private:
  bool judges_;
};

void grow(std::span<const Piece> pieces, const image::CodeSource& code, const Config& config,
          std::size_t parts, BranchSink& sink) {
  GrowingDecoder decoder(code, config);
  for (const Piece& piece : pieces) {
    const std::size_t step = std::max<std::size_t>(1, piece.bytes.size() / parts);
    for (std::size_t at = 0; at == 0 || at < piece.bytes.size(); at += step) {
      const std::size_t size = std::min(step, piece.bytes.size() - at);
      decoder.add({.bytes = piece.bytes.subspan(at, size),
                   .offset = piece.offset + at,
                   .lost_before = piece.lost_before},
                  at == 0 && &piece != pieces.data(), sink);
      decoder.decode(sink);
    }
  }
  decoder.end(sink);
}

}  // namespace

std::string growing_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                            const Config& config, std::size_t parts) {
  Path expected(nullptr, false);
  Decoder(code, config).decode(pieces, expected);
  for (const char* what : {"growing: ", "growing, passages: ", "growing, repeats: "}) {
    const bool judges = what != std::string("growing: ");
    if (judges && config.want_not_taken) break;
    Path grown(judges ? &code : nullptr, what == std::string("growing, repeats: "));
    grow(pieces, code, config, parts, grown);
    if (!grown.wrong.empty()) return what + grown.wrong;
    std::string found = difference(std::span<const Branch>(grown.branches), expected.branches);
    if (found.empty())
      found = difference(std::span<const std::string>(grown.others), expected.others);
    if (!found.empty()) return what + found;
  }
  return "";
}

}  // namespace hodo::flow::ways
