// Where a program spent its path: counts by edge, gathered while decoding. Its instructions are
// those of the line of code that ends with the edge: they belong to the function that they lie in,
// also where no branch was taken.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hodo/analyze/count_table.h"
#include "hodo/session/homes.h"
#include "hodo/session/names.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

// One distinct branch, of whatever processes ran the code.
struct Edge {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t count = 0;
  // Executed up to `from` since the branch before, taken or not, all times together.
  std::uint64_t insns = 0;
  std::uint64_t time = 0;  // what the names are looked up with
  std::uint32_t space = 0;
  std::uint32_t era = 0;  // this and the addresses: session::Home
  BranchKind kind = BranchKind::lost;
  bool not_taken = false;
};

// For CountTable.
inline std::size_t hash(const Edge& edge) {
  return hash_of_counted(edge.from, edge.to, edge.space, edge.era);
}
inline bool same(const Edge& a, const Edge& b) {
  return a.from == b.from && a.to == b.to && a.space == b.space && a.era == b.era &&
         a.kind == b.kind && a.not_taken == b.not_taken;
}
inline void add_up(Edge& into, const Edge& edge) {
  into.count += edge.count;
  into.insns += edge.insns;
  into.time = std::min(into.time, edge.time);
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
  Edge edge_of(std::uint32_t space, const flow::RunCount& run);

  session::Homes homes_;
  CountTable<Edge> edges_;
  std::map<std::pair<std::int32_t, std::int32_t>, TaskTotals> tasks_;
};

}  // namespace hodo::analyze
