// Where a program spent its path: counts by edge, gathered while decoding. Its instructions are
// those of the line of code that ends with the edge: they belong to the function that they lie in,
// also where no branch was taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hodo/analyze/pair_counts.h"
#include "hodo/session/homes.h"
#include "hodo/session/names.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

// One distinct branch, of whatever processes ran the code.
struct Edge : PairCount {
  // Executed up to `from` since the branch before, taken or not, all times together.
  std::uint64_t insns = 0;
};

// For CountTable.
inline void add_up(Edge& into, const Edge& edge) {
  add_up(static_cast<PairCount&>(into), edge);
  into.insns += edge.insns;
}

struct TaskTotals {
  std::uint64_t instructions = 0;
  std::uint64_t branches = 0;  // taken
};

// Gathers in bounded memory: a trace has few distinct edges, but a hostile one may have any number;
// behind kMaxEdges new ones are only counted as dropped.
class Profile final : public session::RunSink {
 public:
  static constexpr std::size_t kMaxEdges = std::size_t{1} << 21;

  // `names`, those of the session that is decoded, must outlive the profile. `max_edges` is less
  // than 2^32.
  explicit Profile(const session::Names& names, std::size_t max_edges = kMaxEdges);

  bool runs(const session::Context& context, std::span<const flow::RunCount> batch) override;

  // In order of space, era, from, to.
  std::vector<Edge> edges() const;
  // By pid and tid.
  const std::map<std::pair<std::int32_t, std::int32_t>, TaskTotals>& tasks() const {
    return tasks_;
  }
  // Branches that are in no edge because there were too many.
  std::uint64_t dropped() const { return edges_.dropped(); }

 private:
  session::Homes homes_;
  CountTable<Edge> edges_;
  std::map<std::pair<std::int32_t, std::int32_t>, TaskTotals> tasks_;
};

}  // namespace hodo::analyze
