// Where a program spent its path: counts by edge, gathered while decoding. Its instructions are
// those of the line of code that ends with the edge: they belong to the function that they lie in,
// also where no branch was taken.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

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
  std::uint64_t dropped() const { return dropped_; }

 private:
  void add(std::uint32_t space, const flow::RunCount& run);
  // The place of the number of an edge like this.
  std::uint32_t& slot(const Edge& like);
  void grow();

  session::Homes homes_;
  std::size_t max_edges_;
  std::uint64_t dropped_ = 0;
  std::deque<Edge> edges_;            // by number, from 1 on; they stay where they are
  std::vector<std::uint32_t> table_;  // of numbers: open addressing, size a power of two; 0: free
  std::map<std::pair<std::int32_t, std::int32_t>, TaskTotals> tasks_;
};

}  // namespace hodo::analyze
