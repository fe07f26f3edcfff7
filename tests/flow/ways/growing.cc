#include "hodo/flow/growing.h"

#include <algorithm>

#include "each_way.h"

namespace hodo::flow::ways {
namespace {

// Without what only the whole trace tells: where its PSBs are, and what else there is to say of a
// loss than its cause.
struct Path final : BranchSink {
  std::vector<Branch> branches;
  std::vector<std::string> others;
  Paths paths;

  bool wants_repeats() const override { return true; }
  void on_repeats(const Repeats& batch) override { on_branches(paths.hear(batch)); }

  void on_branches(std::span<const Branch> batch) override {
    branches.insert(branches.end(), batch.begin(), batch.end());
  }
  void on_loss(const Loss& loss) override {
    others.push_back(std::to_string(branches.size()) + " " + std::string(name(loss.cause)));
  }
  void on_event(const Event& event) override {
    others.push_back(std::to_string(branches.size()) + " " + std::string(name(event.kind)) + " " +
                     std::to_string(event.offset));
  }
};

}  // namespace

std::string growing_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                            const Config& config, std::size_t parts) {
  Path expected;
  Decoder(code, config).decode(pieces, expected);
  Path grown;
  GrowingDecoder decoder(code, config);
  for (const Piece& piece : pieces) {
    const std::size_t step = std::max<std::size_t>(1, piece.bytes.size() / parts);
    for (std::size_t at = 0; at == 0 || at < piece.bytes.size(); at += step) {
      const std::size_t size = std::min(step, piece.bytes.size() - at);
      decoder.add({.bytes = piece.bytes.subspan(at, size),
                   .offset = piece.offset + at,
                   .lost_before = piece.lost_before},
                  at == 0 && &piece != pieces.data(), grown);
      decoder.decode(grown);
    }
  }
  decoder.end(grown);
  if (!grown.paths.wrong.empty()) return "growing: " + grown.paths.wrong;
  std::string found = difference(std::span<const Branch>(grown.branches), expected.branches);
  if (found.empty())
    found = difference(std::span<const std::string>(grown.others), expected.others);
  return found.empty() ? "" : "growing: " + found;
}

}  // namespace hodo::flow::ways
