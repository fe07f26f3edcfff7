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
#include "hodo/isa/insn.h"

namespace hodo::flow {

// Which packet a path answers, and what its key is.
enum class StepKind : std::uint8_t {
  none,
  outcomes,      // TNT: outcomes as in the packet, under a stop bit
  compressed,    // a return in a TNT: the return address
  indirect,      // TIP: its IP
  trace_end,     // TIP.PGD with its IP
  trace_end_at,  // TIP.PGD without IP: 0
  trace_begin,   // TIP.PGE: its IP; the path begins at 0
};

struct alignas(64) Path {
  std::uint64_t ip = 0;  // where it begins
  std::uint64_t key = 0;
  std::uint64_t next = 0;        // where it leads
  std::uint64_t valid_from = 0;  // the code was as it was walked in [valid_from, valid_until)
  std::uint64_t valid_until = 0;
  std::uint32_t edges = 0;  // of its first edge's number in the memo
  std::uint32_t insns = 0;
  std::uint32_t tail = 0;  // of them, behind the last edge
  std::uint32_t hits = 0;  // times it was taken again since the last settling
  std::uint16_t edge_count = 0;
  std::uint8_t what = 0;     // StepKind and mode; 0: none
  std::uint8_t used = 0;     // of the key's outcomes; the rest are still to come
  std::uint8_t dropped = 0;  // branches not taken that are no edges of it
  // The return stack: takes one off, rises to a peak, and has grown in the end. The return
  // addresses stand behind the edges, in two halves each.
  std::uint8_t pops = 0;
  std::uint8_t peak = 0;
  std::uint8_t pushes = 0;

  bool valid_at(std::uint64_t time) const { return valid_from <= time && time < valid_until; }
};
static_assert(sizeof(Path) == 64);

inline constexpr std::size_t kMostPathEdges = 512;
// Edges are copied so many at a time, the last time perhaps some too many: the numbers behind them
// are some edges' numbers, too.
inline constexpr std::size_t kEdgesAtOnce = 4;

class PathMemo {
 public:
  PathMemo();

  static constexpr std::uint8_t what(StepKind kind, isa::Mode mode) {
    return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 2 |
                                     static_cast<unsigned>(mode));
  }

  // Null: none is known. Valid until the next remember() or clear().
  Path* find(std::uint64_t ip, std::uint64_t key, std::uint8_t what) {
    for (std::size_t at = slot(ip, key, what);; at = (at + 1) & (table_.size() - 1)) {
      Path& path = table_[at];
      if (path.ip == ip && path.key == key && path.what == what) return &path;
      if (path.what == 0) return nullptr;
    }
  }
  void hit(Path& path) {
    if (path.hits++ == 0) touched_.push_back(static_cast<std::uint32_t>(&path - table_.data()));
  }

  // Takes over `path` but its place and hits, with its edges (their time is of no account) and
  // return addresses. Replaces one with the same key. full() must be false.
  void remember(const Path& path, std::span<const Branch> edges,
                std::span<const std::uint64_t> returns);
  // Whether it is worth remembering so many outcomes together: they came before. Now and then they
  // do, in loops; where the data decides they do not, and it soon costs nothing to ask.
  bool together_pays() {
    if (pause_ != 0) --pause_;
    return pause_ == 0;
  }
  bool came_before(std::uint64_t ip, std::uint64_t outcomes);
  void together_paid() {
    patience_ = kPatience;
    next_pause_ = kLeastPause;
  }

  // No room for another path: to be settled and cleared.
  bool full() const {
    return count_ >= kMostPaths || numbers_.size() >= kMostNumbers || edges_.size() >= kMostEdges;
  }

  const std::uint32_t* edge_ids(const Path& path) const { return numbers_.data() + path.edges; }
  const Branch* edges() const { return edges_.data(); }
  std::size_t edge_total() const { return edges_.size(); }
  std::uint64_t return_address(const Path& path, unsigned i) const {
    const std::uint32_t* half = edge_ids(path) - 2 * path.pushes + 2 * i;
    return half[0] | std::uint64_t{half[1]} << 32;
  }

  // Calls visit(path) for each path with hits, whose hits are gone after that.
  template <class Visit>
  void settle(Visit visit) {
    for (const std::uint32_t at : touched_) {
      visit(static_cast<const Path&>(table_[at]));
      table_[at].hits = 0;
    }
    touched_.clear();
  }
  // Forgets everything; unsettled hits are lost.
  void clear();

 private:
  static constexpr std::size_t kLeastSize = 1 << 10;
  static constexpr std::size_t kMostPaths = 1 << 18;
  static constexpr std::size_t kMostNumbers = 1 << 23;
  static constexpr std::size_t kMostEdges = 1 << 20;
  // Has been replaced, and stays until its hits are settled and the memo is cleared.
  static constexpr std::uint8_t kReplaced = 0xff;

  static constexpr std::uint32_t kPatience = 64;
  static constexpr std::uint32_t kLeastPause = 64;
  static constexpr std::uint32_t kMostPause = 1 << 12;
  static constexpr std::size_t kMostSeen = 1 << 12;

  std::size_t slot(std::uint64_t ip, std::uint64_t key, std::uint8_t what) const {
    const std::uint64_t hash = (ip * 0x9e3779b97f4a7c15u) ^ ((key + what) * 0xd6e8feb86659fd93u);
    return static_cast<std::size_t>(hash >> shift_);
  }
  Path& place_for(const Path& path);
  void grow();
  std::uint32_t number_of(const Branch& edge);
  void grow_numbers();

  std::vector<Path> table_;  // open addressing, at most half full
  unsigned shift_ = 0;       // 64 - log2 of its size
  std::size_t count_ = 0;
  std::vector<std::uint32_t> touched_;  // slots of paths with hits
  std::vector<std::uint32_t> numbers_;  // all paths' edges and return addresses
  std::vector<Branch> edges_;           // the distinct ones, without time
  std::vector<std::uint32_t> known_;    // their numbers + 1 by hash; 0: free
  std::vector<std::uint16_t> seen_ = std::vector<std::uint16_t>(kMostSeen);  // parts of hashes
  std::uint32_t patience_ = kPatience;  // how often outcomes may be new before the next pause
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = kLeastPause;
};

}  // namespace hodo::flow
