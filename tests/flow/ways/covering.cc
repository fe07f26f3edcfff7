#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "each_way.h"
#include "in_rounds.h"

namespace hodo::flow::ways {
namespace {

// Sums up edges, to be compared with branches.
struct Edges final : EdgeSink {
  std::vector<EdgeCount> edges;
  void on_edges(std::span<const EdgeCount> batch) override {
    edges.insert(edges.end(), batch.begin(), batch.end());
  }
  std::array<std::uint64_t, 2> sums() const {
    std::array<std::uint64_t, 2> out{};
    for (const EdgeCount& e : edges) {
      out[0] += e.count;
      out[1] += e.count * (e.from * 31 + e.to + static_cast<unsigned>(e.kind) * 7u + e.flags);
    }
    return out;
  }
};

// The same for the code between them.
struct Runs final : RunSink {
  std::vector<RunCount> runs;
  void on_runs(std::span<const RunCount> batch) override {
    runs.insert(runs.end(), batch.begin(), batch.end());
  }
  std::array<std::uint64_t, 3> sums() const {
    std::array<std::uint64_t, 3> out{};
    for (const RunCount& r : runs) {
      out[2] += r.edge.count * r.insns * (r.edge.from + 1);
      out[0] += r.edge.count;
      out[1] += r.edge.count * (r.begin * 37 + r.edge.from * 31 + r.edge.to +
                                static_cast<unsigned>(r.edge.kind) * 7u + r.edge.flags);
    }
    return out;
  }
};

// What covering has to come to.
struct Covered {
  explicit Covered(std::span<const Piece> of, const image::CodeSource& code, const Config& config) {
    const Told told = walk(of, code, config);
    std::uint64_t begin = 0;
    for (const Branch& b : told.branches) {
      all.edges.push_back({b.from, b.to, 1, b.kind, b.flags});
      runs.runs.push_back({all.edges.back(), begin, b.time, b.insns});
      begin = line_behind(b);
    }
    stats = told.stats;
  }
  std::string difference_of(Decoder& decoder, PieceSource& stream) const {
    Edges edges;
    if (auto found = difference(decoder.cover(stream, edges), stats); !found.empty()) return found;
    if (std::ranges::any_of(edges.edges, [](const EdgeCount& e) { return e.count == 0; })) {
      return "an edge that did not run";
    }
    if (edges.sums() != all.sums()) return "edges";
    return runs_differ(decoder, stream);
  }
  std::string runs_differ(Decoder& decoder, PieceSource& stream) const {
    Runs ran;
    if (auto found = difference(decoder.cover(stream, ran), stats); !found.empty()) return found;
    return ran.sums() == runs.sums() ? "" : "code between edges";
  }

  Edges all;
  Runs runs;
  Stats stats;
};

}  // namespace

std::string covering_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                             Config config) {
  config.want_not_taken = true;
  Piece half = pieces.front();
  half.bytes = half.bytes.first(half.bytes.size() / 2);
  const Covered whole(pieces, code, config);
  const Covered less(std::span(&half, 1), code, config);
  WholeStream all(pieces);
  WholeStream half_of_it(std::span(&half, 1));
  InRounds in_rounds(pieces);
  // Of a decoder that knows nothing yet.
  Decoder first(code, config);
  if (auto found = whole.runs_differ(first, all); !found.empty()) return "covering first: " + found;
  Decoder decoder(code, config);
  const auto differ = [](const Covered& covered, Decoder& by, PieceSource& stream, auto what) {
    const std::string found = covered.difference_of(by, stream);
    return found.empty() ? found : what + found;
  };
  for (const auto& [what, covered, stream] :
       {std::tuple<const char*, const Covered*, PieceSource*>{"covering: ", &whole, &all},
        {"covering again: ", &whole, &all},
        {"covering half: ", &less, &half_of_it},
        {"covering all again: ", &whole, &all},
        {"covering in rounds: ", &whole, &in_rounds}}) {
    if (auto found = differ(*covered, decoder, *stream, what); !found.empty()) return found;
  }
  config.threads = 3;
  config.thread_bytes = 1;
  Decoder several(code, config);
  const std::string found = differ(whole, several, all, "threads covering: ");
  return found.empty() ? differ(whole, several, in_rounds, "threads covering in rounds: ") : found;
}

}  // namespace hodo::flow::ways
