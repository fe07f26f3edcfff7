// What is known of each distinct branch, so that its second execution costs a look-up.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/flow/branch.h"
#include "path_facts.h"

namespace hodo::check {

// One cache line each: a look-up then waits for memory once.
struct alignas(64) KnownEdge {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t next = 0;   // behind the instruction at `from`
  std::uint64_t until = 0;  // the regions are the same from that generation to before this time
  std::uint32_t space = 0;
  std::uint32_t generation = 0;  // of the space's mappings when it was last looked at
  std::uint32_t from_region = 0;
  std::uint32_t to_region = 0;
  std::uint32_t findings = 0;  // index of a list of findings; 0: none
  PathFacts facts = 0;
  BranchKind kind = BranchKind::lost;
  std::uint8_t flags = 0;
  bool used = false;
  bool returns = false;  // though it is a jump (Edge::popped_return)
  FarBranch far = FarBranch::none;
  bool at_breakpoint = false;     // as Edge's
  bool from_probes = false;       // End::in_probes()
  bool to_probes = false;         // the same
  bool to_probed_return = false;  // End::is_probed_return()
};

// The plain direct branches that were looked at last, which are most of what runs: one compare
// tells that nothing is to be done.
class PlainBranches {
 public:
  // Of one space at one generation of its mappings.
  static std::uint64_t salt(std::uint32_t space, std::uint32_t generation) {
    return (std::uint64_t{space} << 32 | generation) * 0x9e3779b97f4a7c15;
  }
  // Nothing else is known of such a branch than where it is.
  static bool fits(const Branch& b) { return b.kind <= BranchKind::jmp && b.flags == 0; }
  bool contains(const Branch& b, std::uint64_t salt) const {
    const Entry& e = table_[index(b)];
    return e.from == b.from && e.to == (b.to ^ salt);
  }
  void add(const Branch& b, std::uint64_t salt) { table_[index(b)] = {b.from, b.to ^ salt}; }

 private:
  struct Entry {
    std::uint64_t from = 0;
    std::uint64_t to = 0;
  };
  static constexpr unsigned kBits = 15;
  static std::size_t index(const Branch& b) {
    return static_cast<std::size_t>(((b.from + (b.to << 1)) * 0x9e3779b97f4a7c15) >> (64 - kBits));
  }
  std::vector<Entry> table_ = std::vector<Entry>(std::size_t{1} << kBits);
};

// Open addressing; forgets everything when it has grown to `most` edges.
class EdgeCache {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 22;
  explicit EdgeCache(std::size_t most = kMost) : most_(most), table_(kFirst) {}

  // Null: it is not known.
  KnownEdge* peek(std::uint32_t space, const Branch& branch) {
    KnownEdge* edge = slot(space, branch);
    return edge->used ? edge : nullptr;
  }

  // The entry for a branch; `used` is false where it is new. The reference holds until the next
  // call.
  KnownEdge& find(std::uint32_t space, const Branch& branch) {
    KnownEdge* edge = slot(space, branch);
    if (edge->used) return *edge;
    if (2 * ++count_ > table_.size()) {
      grow();
      edge = slot(space, branch);
    }
    *edge = KnownEdge{.from = branch.from,
                      .to = branch.to,
                      .space = space,
                      .kind = branch.kind,
                      .flags = relevant(branch)};
    return *edge;
  }

 private:
  static constexpr std::size_t kFirst = std::size_t{1} << 14;

  static std::uint8_t relevant(const Branch& b) {
    return static_cast<std::uint8_t>(b.flags & (kNotTaken | kAsync | kTraceEnd));
  }
  static std::size_t hash(std::uint32_t space, const Branch& b) {
    const std::uint64_t h = (b.from ^ (b.to << 21 | b.to >> 43) ^ space) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }
  KnownEdge* slot(std::uint32_t space, const Branch& b) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t i = hash(space, b) & mask;; i = (i + 1) & mask) {
      KnownEdge& e = table_[i];
      if (!e.used) return &e;
      if (e.from == b.from && e.to == b.to && e.space == space && e.kind == b.kind &&
          e.flags == relevant(b)) {
        return &e;
      }
    }
  }
  void grow() {
    std::vector<KnownEdge> old(count_ > most_ ? kFirst : 2 * table_.size());
    old.swap(table_);
    if (count_ > most_) {
      count_ = 1;
      return;
    }
    for (const KnownEdge& e : old) {
      if (e.used)
        *slot(e.space, Branch{.from = e.from, .to = e.to, .kind = e.kind, .flags = e.flags}) = e;
    }
  }

  std::size_t most_;
  std::size_t count_ = 0;
  std::vector<KnownEdge> table_;  // a power of two, at most half full
};

}  // namespace hodo::check
