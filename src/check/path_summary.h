// The decoder recognises stretches of a program's way that it has seen before (flow::Repeats). Here
// is kept what such a path does to the calls that a thread has open, so that its next execution
// costs the checker one look-up instead of one for each branch.
//
// A path has such a summary if no rule has anything to say of it and it does nothing but call,
// return and jump. All others are looked at branch by branch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hodo::check {

// What a path does to a thread's open calls: it returns from some that were open before, and leaves
// some of its own open.
struct PathEffect {
  std::span<const std::uint64_t> returned;  // where to, the innermost call's first
  std::span<const std::uint64_t> called;    // where these will return to, the innermost last
  bool ends_returns = false;                // there is a call or return: no chain goes on
  bool ends_jumps = false;
};

// What one branch of a path does. Others than these no summary can tell of.
struct EdgeEffect {
  enum class What : std::uint8_t { nothing, jumps, calls, returns, other };
  What what = What::other;
  std::uint64_t next = 0;  // of a call: what is behind it
  bool apart = false;      // of a return: kEndsApart
};

// Makes the effect of a path out of its calls and returns, in their order.
class PathEffectBuilder {
 public:
  void clear();
  // `next`: behind the call. One that calls this place only asks where it is.
  void call(std::uint64_t next, std::uint64_t to);
  void ret(std::uint64_t to);
  void jump() { ends_jumps_ = true; }
  // A path with a return that does not go behind the call before it has no effect that could be
  // said without looking at the branches.
  bool possible() const { return possible_; }
  PathEffect effect() const { return {returned_, called_, ends_returns_, ends_jumps_}; }

 private:
  std::vector<std::uint64_t> returned_;
  std::vector<std::uint64_t> called_;
  bool ends_returns_ = false;
  bool ends_jumps_ = false;
  bool possible_ = true;
};

// The paths of one memory of the decoder and the branches that they are made of, in one space as
// long as its mappings stay.
class PathSummaries {
 public:
  enum class Known : std::uint8_t { no, simple, not_simple };

  // Forgets everything unless it is of this memory and salt (PlainBranches::salt).
  void select(std::uint32_t memory, std::uint64_t salt);
  // A path that will be asked for soon, and one that will be sooner and was fetched before.
  void prefetch(std::uint32_t path) const {
    if (path < entries_.size()) __builtin_prefetch(&entries_[path]);
  }
  void prefetch_effect(std::uint32_t path) const {
    if (path < entries_.size()) __builtin_prefetch(addresses_.data() + entries_[path].first);
  }
  Known known(std::uint32_t path) const {
    if (path >= entries_.size() || entries_[path].epoch != epoch_) return Known::no;
    return entries_[path].simple ? Known::simple : Known::not_simple;
  }
  // Of a path that is simple; valid until the next is added.
  PathEffect effect(std::uint32_t path) const {
    const Entry& e = entries_[path];
    const std::span all(addresses_.data() + e.first, e.returns + std::size_t{e.calls});
    return {all.first(e.returns), all.subspan(e.returns), e.ends_returns, e.ends_jumps};
  }
  void add(std::uint32_t path, const PathEffectBuilder& made);
  void add_not_simple(std::uint32_t path) { entry(path) = {.epoch = epoch_}; }

  // Of a branch by its number; null: not known.
  const EdgeEffect* edge(std::uint32_t number) const {
    if (number >= edges_.size() || edges_[number].epoch != epoch_) return nullptr;
    return &edges_[number].effect;
  }
  void add_edge(std::uint32_t number, const EdgeEffect& effect);

 private:
  static constexpr std::size_t kMostAddresses = std::size_t{1} << 22;
  static constexpr unsigned kMostOfPath = 31;

  struct Entry {
    std::uint32_t first = 0;  // in addresses_: those returned to, then those called from
    std::uint16_t epoch = 0;  // 0: never used
    std::uint16_t returns : 5 = 0;
    std::uint16_t calls : 5 = 0;
    bool ends_returns : 1 = false;
    bool ends_jumps : 1 = false;
    bool simple : 1 = false;
  };
  static_assert(sizeof(Entry) == 8);
  Entry& entry(std::uint32_t path);

  std::uint32_t memory_ = 0;
  std::uint64_t salt_ = 0;
  std::uint16_t epoch_ = 1;
  struct Edge {
    EdgeEffect effect;
    std::uint16_t epoch = 0;
  };
  std::vector<Edge> edges_;     // by number
  std::vector<Entry> entries_;  // by path
  std::vector<std::uint64_t> addresses_;
};

}  // namespace hodo::check
