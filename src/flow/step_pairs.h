// Where the branch at a step's end leads, where a packet says it: how often to which other steps,
// or to which of them it may.
//
// Each step has a list of its own: most of what a return leads to then lies in one or two lines of
// memory, where a table of all pairs has a line for each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hodo::flow {

class StepPairs {
 public:
  // Where a step's list lies, over the logarithm of its size. kEmpty: it has none yet.
  using List = std::uint32_t;
  static constexpr List kEmpty = 0;

  StepPairs() { clear(); }

  // Once more to the step with this number (not 0), for the first time at `time` if it is new.
  [[gnu::always_inline]] void count(List& list, std::uint32_t to, std::uint64_t time) {
    Pair& home = pair(home_of(list, to));
    if (home.to == to) [[likely]] {
      ++home.count;
    } else {
      ++look(list, to, time).count;
    }
  }
  // To have it at all, without a count.
  void add(List& list, std::uint32_t to) { (void)look(list, to, 0); }
  [[gnu::always_inline]] bool has(List list, std::uint32_t to) const {
    const std::size_t home = home_of(list, to);
    return pair(home).to == to || pair(next_of(list, home)).to == to;
  }
  // Lists take so much room that they should be cleared.
  bool full() const { return lines_.size() >= kMostLines; }
  // All lists are void then.
  void clear();

  // Calls visit(to, count, time of the first) for each with a count; after it there are no counts.
  template <class Visit>
  void settle(List list, Visit visit) {
    const std::size_t begin = place_of(list);
    for (std::size_t at = begin; at != begin + size_of(list); ++at) {
      Pair& one = pair(at);
      if (one.count == 0) continue;
      visit(one.to, one.count, times_[at]);
      one.count = 0;
    }
  }

 private:
  static constexpr unsigned kLineLog2 = 3;
  static constexpr std::size_t kOfLine = std::size_t{1} << kLineLog2;
  static constexpr std::size_t kMostLines = std::size_t{1} << 16;  // 4 MiB, and as much of times
  static constexpr unsigned kSizeBits = 5;

  struct Pair {
    std::uint32_t to = 0;  // 0: free
    std::uint32_t count = 0;
  };
  struct alignas(64) Line {
    std::array<Pair, kOfLine> pairs;
  };

  static std::size_t place_of(List list) { return list >> kSizeBits; }
  static unsigned log2_of(List list) { return list & ((1U << kSizeBits) - 1); }
  static std::size_t size_of(List list) { return std::size_t{1} << log2_of(list); }
  // Steps are numbered one by one: their lowest bits are spread as well as any hash. Of numbers
  // with the same bits there are fewer with each bit more, so that lists do not grow for ever.
  static std::size_t home_of(List list, std::uint32_t to) {
    return place_of(list) + (to & (size_of(list) - 1));
  }
  Pair& pair(std::size_t place) { return lines_[place >> kLineLog2].pairs[place & (kOfLine - 1)]; }
  const Pair& pair(std::size_t place) const {
    return lines_[place >> kLineLog2].pairs[place & (kOfLine - 1)];
  }
  // Where it may be if its home has another.
  static std::size_t next_of(List list, std::size_t home) {
    const std::size_t begin = place_of(list);
    return begin + ((home + 1 - begin) & (size_of(list) - 1));
  }
  Pair& look(List& list, std::uint32_t to, std::uint64_t time);
  std::size_t place_for(List list, std::uint32_t to) const;
  List grown(List list);
  std::size_t take(unsigned log2);

  std::vector<Line> lines_;
  std::vector<std::uint64_t> times_;                                          // by place
  std::array<std::vector<std::uint32_t>, std::size_t{1} << kSizeBits> free_;  // by logarithm
};

}  // namespace hodo::flow
