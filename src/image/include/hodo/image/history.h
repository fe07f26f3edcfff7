// What a process had mapped where, over time, whatever is known about a mapping.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "hodo/image/timeline.h"

namespace hodo::image {

// A Timeline of Payloads that knows processes' ways: mappings are replaced, removed and inherited.
// Events in any order; those of equal time count in the order in which they were added. find() is
// safe for concurrent use, the others are not.
template <class Payload>
class History {
 public:
  struct Found {
    const Payload* payload = nullptr;  // null: nothing is mapped; else as long as its history lives
    std::uint64_t first = 0;           // the mapped range, or what is left of it, is [first, last]
    std::uint64_t last = Timeline::kEnd;
    std::uint64_t valid_from = 0;  // the answer holds in [valid_from, valid_until)
    std::uint64_t valid_until = Timeline::kEnd;
  };

  // A range that would pass 2^64 ends there; length 0 is no event.
  void map(std::uint64_t start, std::uint64_t length, Payload payload, std::uint64_t time) {
    if (length == 0) return;
    timeline_.cover(start, last_address(start, length), time, add({.payload = std::move(payload)}));
  }
  void unmap(std::uint64_t start, std::uint64_t length, std::uint64_t time) {
    if (length == 0) return;
    timeline_.cover(start, last_address(start, length), time, Timeline::kNothing);
  }
  // exec: all mappings go.
  void clear(std::uint64_t time) { timeline_.cover(0, Timeline::kEnd, time, Timeline::kNothing); }
  // fork: from `time` on this history has what `parent` had at that time. The parent must outlive
  // it; its events may be added later.
  void fork_from(const History& parent, std::uint64_t time) {
    timeline_.cover(0, Timeline::kEnd, time, add({.parent = &parent, .parent_time = time}));
  }

  Found find(std::uint64_t address, std::uint64_t time) const {
    auto answer = timeline_.find(address, time);
    Found found{nullptr, answer.first, answer.last, answer.valid_from, answer.valid_until};
    // What a parent had is found there; how long the answer holds is this history's own affair.
    const History* owner = this;
    for (int depth = 0; depth < kDeepestFork && answer.value != Timeline::kNothing; ++depth) {
      const Entry& entry = owner->entries_[answer.value];
      if (entry.parent == nullptr) {
        found.payload = &entry.payload;
        break;
      }
      owner = entry.parent;
      answer = owner->timeline_.find(address, entry.parent_time);
      found.first = std::max(found.first, answer.first);
      found.last = std::min(found.last, answer.last);
    }
    return found;
  }

 private:
  // A chain of forks without an exec is this deep only if somebody made it up (or made it a ring,
  // which forks of equal time allow).
  static constexpr int kDeepestFork = 1024;

  struct Entry {
    Payload payload{};
    const History* parent = nullptr;  // if set: the parent's mappings as of parent_time
    std::uint64_t parent_time = 0;
  };

  static std::uint64_t last_address(std::uint64_t start, std::uint64_t length) {
    return start + std::min(length - 1, ~start);
  }
  Timeline::Value add(Entry entry) {
    entries_.push_back(std::move(entry));
    return static_cast<Timeline::Value>(entries_.size() - 1);
  }

  std::deque<Entry> entries_;  // a deque keeps payloads where they are
  Timeline timeline_;
};

}  // namespace hodo::image
