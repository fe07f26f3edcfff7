// Paths through the code that were taken before: what a packet did the last time it came at the
// same place.
//
// Most of a trace repeats: the same few outcomes at the same address lead over the same branches to
// the same next address. The first time, the walker goes there block by block; what it emitted is
// kept here under (address, outcomes), and from then on one look-up replaces the walk. A path's
// branches are numbers into one list of the distinct ones, so that a path takes little more than
// its own 64 bytes, and a path that is only to be counted takes one increment.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/decoder.h"
#include "path.h"
#include "return_stack.h"
#include "stretch.h"
#include "tally.h"
#include "trial.h"

namespace hodo::flow {

class PathMemo {
 public:
  PathMemo();

  // Null: none is known. Valid until the next remember() or clear().
  Path* find(std::uint64_t ip, std::uint64_t key, std::uint8_t what) {
    for (std::size_t at = slot(ip, key, what);; at = (at + 1) & (table_.size() - 1)) {
      Path& path = table_[at];
      if (path.ip == ip && path.key == key && path.what == what) return &path;
      if (path.what == 0) return nullptr;
    }
  }
  void hit(Path& path) {
    if (path.hits++ == 0) hits_.add(static_cast<std::size_t>(&path - table_.data()));
  }

  // Takes over `path` but its place and hits, with its edges and return addresses. Replaces one
  // with the same key. full() must be false.
  void remember(const Path& path, std::span<const Branch> edges,
                std::span<const std::uint64_t> returns);
  // Only keeps what belongs to a path: its edges' numbers and its return addresses.
  void store(Path& path, std::span<const std::uint32_t> edges,
             std::span<const std::uint64_t> returns);
  // The number of an edge like `number`, of `path`, with more instructions before it, in a straight
  // line that begins at `begin`.
  std::uint32_t later(std::uint32_t number, std::uint32_t more_insns, std::uint64_t begin,
                      const Path& path);
  // A path's edges are a number of this memory; clear() makes another one of it.
  std::uint32_t number() const { return number_; }
  StretchTable& stretches() { return stretches_; }
  // No room for another path, or no sense in it: to be settled and cleared.
  bool full() const {
    return count_ >= kMostPaths || numbers_.size() >= kMostNumbers || edges_.size() >= kMostEdges ||
           stretches_.full() || seldom_comes_back();
  }

  // From here on what is there stays where it is, as long as it is known: others may read it.
  void keep_in_place() {
    numbers_.reserve(kMostNumbers + kSlack);
    edges_.reserve(kMostEdges + kSlack);
  }

  const std::uint32_t* edge_ids(const Path& path) const { return numbers_.data() + path.edges; }
  std::span<const std::uint32_t> numbers() const { return numbers_; }
  const Branch* edges() const { return edges_.data(); }
  std::span<const Branch> edge_list() const { return edges_; }
  std::size_t edge_total() const { return edges_.size(); }
  // The straight line of code that ends with an edge.
  struct Line {
    std::uint64_t begin = 0;  // of a path's first edge: where the path begins
    std::uint64_t time = 0;   // when it was executed first since the memo was empty
  };
  const Line& line(std::uint32_t number) const { return lines_[number]; }
  std::uint64_t return_address(const Path& path, unsigned i) const {
    const std::uint32_t* half = edge_ids(path) - 2 * path.pushes + 2 * i;
    return half[0] | std::uint64_t{half[1]} << 32;
  }

  // What the path does to the return stack.
  void move_returns(ReturnStack& returns, const Path& path) const {
    returns.rise_to(path.peak);
    if (path.pops != 0) returns.drop();
    for (unsigned i = 0; i < path.pushes; ++i) returns.put(return_address(path, i));
  }

  // A trace begins. `again`: the decoder has had another one before, which may have been much the
  // same.
  void begin_trace(bool again, const Config& config) {
    this_time_ = {.again = again};
    trial_ = Trial(config.trial_bytes);
  }
  // So many bytes of trace were followed by it, and so many of these in stretches that came again.
  void followed(std::size_t bytes, std::size_t in_stretches) {
    followed_ += bytes;
    this_time_.followed += bytes;
    this_time_.in_stretches += in_stretches;
    trial_.remembered(bytes, in_stretches);
  }
  // So many were followed by steps.
  void stepped(std::size_t bytes) { trial_.stepped(bytes); }
  // Steps are faster than paths that come one by one: of a trace that comes again, what lies behind
  // its first part is learned when that has been known, twice as much each time, unless it was full
  // again so soon that there is no sense in it. Of others it is tried.
  bool waits() const {
    if (!this_time_.again) return trial_.rests();
    const bool known = 2 * this_time_.in_stretches >= this_time_.followed;
    return gave_up_ || (this_time_.followed >= kFirstPart && !known);
  }

  // What the hits since the last settling come to; after it, there are none.
  const Tally& settle();
  // Forgets everything; unsettled hits are lost.
  void clear();
  // The same when it is full.
  void start_anew() {
    const bool pays = followed_ >= kWorthRemembering;
    if (this_time_.again) gave_up_ = !pays;
    if (!pays) trial_.fail();
    clear();
  }

 private:
  static constexpr std::size_t kLeastSize = 1 << 10;
  static constexpr std::size_t kMostPaths = 1 << 18;
  // Paths, that it is known what trace this is.
  static constexpr std::size_t kJudged = 1 << 14;
  static constexpr std::size_t kWorthAPath = 256;  // bytes that were followed for each
  static constexpr std::size_t kWorthRemembering = kMostPaths * kWorthAPath;
  static constexpr std::size_t kFirstPart = std::size_t{1} << 20;
  static constexpr std::size_t kMostNumbers = 1 << 23;
  static constexpr std::uint32_t kNumberMask = (1 << 24) - 1;  // all that a Path can name
  static constexpr std::size_t kMostEdges = 1 << 20;
  static constexpr std::size_t kSlack = 1 << 12;  // of what one path, or stretch, adds

  std::size_t slot(std::uint64_t ip, std::uint64_t key, std::uint8_t what) const {
    const std::uint64_t hash = (ip * 0x9e3779b97f4a7c15u) ^ ((key + what) * 0xd6e8feb86659fd93u);
    return static_cast<std::size_t>(hash >> shift_);
  }
  bool seldom_comes_back() const { return count_ >= kJudged && followed_ < count_ * kWorthAPath; }
  Path& place_for(const Path& path);
  void grow();
  // `path` has the edge: what ran at its addresses while other code was there has another number.
  std::uint32_t number_of(const Branch& edge, const Line& line, const Path& path);
  void grow_numbers();

  std::size_t followed_ = 0;
  bool gave_up_ = false;
  struct Trace {
    bool again = false;
    std::size_t followed = 0;  // bytes
    std::size_t in_stretches = 0;
  };
  Trace this_time_;
  Trial trial_{Config{}.trial_bytes};
  std::uint32_t number_ = 0;
  std::vector<Path> table_;  // open addressing, at most half full
  unsigned shift_ = 0;       // 64 - log2 of its size
  std::size_t count_ = 0;
  std::vector<std::uint32_t> path_edges_;  // for remember()
  HitList hits_;
  std::vector<std::uint32_t> numbers_;  // all paths' edges and return addresses
  std::vector<Branch> edges_;           // the distinct ones, without time
  std::vector<Line> lines_;             // of each of them
  std::vector<std::uint32_t> known_;    // their numbers + 1 by hash; 0: free
  StretchTable stretches_;
  Tally tally_;
};

}  // namespace hodo::flow
