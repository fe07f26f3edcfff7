#include <set>
#include <utility>

#include "each_way.h"
#include "hodo/flow/checkpoint.h"

namespace hodo::flow::ways {
namespace {

// How many branches have been told at each PSB that a decoder could go on from.
class Marks final : public CheckpointSink {
 public:
  void on_branches(std::span<const Branch> batch) override { branches_ += batch.size(); }
  void on_loss(const Loss&) override {}
  void on_checkpoint(const Checkpoint& at) override { all.emplace(at.offset, branches_); }

  std::set<std::pair<std::uint64_t, std::uint64_t>> all;

 private:
  std::uint64_t branches_ = 0;
};

}  // namespace

std::string marking_differs(PieceSource& stream, PieceSource& same, const image::CodeSource& code,
                            Config config) {
  config.threads = 1;
  Marks expected;
  PartDecoder(code, config).decode(stream, 1, expected);
  for (const unsigned threads : {1u, 3u}) {
    config.threads = threads;
    Marks marks;
    PartDecoder(code, config).decode(same, 1, marks);
    for (const auto& mark : marks.all) {
      if (!expected.all.contains(mark)) return "other branches before a checkpoint";
    }
  }
  return "";
}

std::string part_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                         Config config, const Told& expected) {
  config.threads = 3;
  config.thread_bytes = 1;
  PartDecoder decoder(code, config);
  for (const char* what : {"a part: ", "a part again: "}) {
    Told told;
    decoder.decode_part(nullptr, pieces, ~std::uint64_t{0}, told, told.stats);
    if (const std::string found = difference(told, expected); !found.empty()) return what + found;
  }
  return "";
}

}  // namespace hodo::flow::ways
