// Dated events over address ranges, and for any address and time the one that counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

namespace hodo::image {

// Answers "which event covered this address last, as of this time". Each event covers what it names
// until a later one covers it; of equally old ones the one added last counts. Events come in any
// order.
//
// find() is O(log^2 n) whatever the events are, and n events take O(n log n) memory: a segment tree
// over the addresses at which any event begins or ends, in which each node lists its events by
// time. The index is built by the first find() after an event. find() is safe for concurrent use,
// cover() is not.
class Timeline {
 public:
  using Value = std::uint32_t;  // the caller's name for an event
  static constexpr Value kNothing = ~Value{0};
  static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

  struct Answer {
    Value value = kNothing;   // kNothing also where no event has covered the address yet
    std::uint64_t first = 0;  // the answer is the same for all addresses in [first, last] ...
    std::uint64_t last = kEnd;
    std::uint64_t valid_from = 0;  // ... at all times in [valid_from, valid_until)
    std::uint64_t valid_until = kEnd;
  };

  Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline();

  // From `time` on, [first, last] (both included) has `value`. Ignored if last < first.
  void cover(std::uint64_t first, std::uint64_t last, std::uint64_t time, Value value);

  Answer find(std::uint64_t address, std::uint64_t time) const;

 private:
  struct Event {
    std::uint64_t first;
    std::uint64_t last;
    std::uint64_t time;
    Value value;
    std::uint32_t order;  // in which it was added
  };
  class Index;
  const Index& index() const;

  std::vector<Event> events_;
  mutable std::mutex building_;
  mutable std::unique_ptr<const Index> index_;
  mutable std::atomic<const Index*> ready_{nullptr};
};

}  // namespace hodo::image
