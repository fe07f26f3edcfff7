#include "hodo/image/timeline.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

namespace hodo::image {

// The addresses at which events begin or end cut the address space into columns; an event covers a
// column entirely or not at all. Column c is leaf columns() + c of a binary tree kept as an array,
// node n having the children 2n and 2n + 1. An event is listed at the O(log n) nodes that together
// make up its columns, so those that cover a column are the ones on the way from its leaf to the
// root.
class Timeline::Index {
 public:
  explicit Index(const std::vector<Event>& events) : events_(events) {
    std::ranges::sort(events_, {}, [](const Event& e) { return std::pair(e.time, e.order); });
    find_columns();
    list_events();
  }

  Answer find(std::uint64_t address, std::uint64_t time) const {
    const auto column =
        static_cast<std::size_t>(std::ranges::upper_bound(starts_, address) - starts_.begin()) - 1;
    // Events are numbered by time, so "up to `time`" means "below this number".
    const auto past = static_cast<Number>(
        std::ranges::upper_bound(events_, time, {}, &Event::time) - events_.begin());
    Number latest = kNone;
    Number next = kNone;
    for (auto node = columns() + column; node >= 1; node /= 2) {
      const auto list = listed_at(node);
      const auto later = std::ranges::lower_bound(list, past);
      if (later != list.begin() && (latest == kNone || *(later - 1) > latest))
        latest = *(later - 1);
      if (later != list.end()) next = std::min(next, *later);
    }
    return {.value = latest == kNone ? kNothing : events_[latest].value,
            .first = starts_[column],
            .last = column + 1 < columns() ? starts_[column + 1] - 1 : kEnd,
            .valid_from = latest == kNone ? 0 : events_[latest].time,
            .valid_until = next == kNone ? kEnd : events_[next].time};
  }

 private:
  using Number = std::uint32_t;  // of an event, in order of time
  static constexpr Number kNone = ~Number{0};

  std::size_t columns() const { return starts_.size(); }

  std::span<const Number> listed_at(std::size_t node) const {
    return std::span(lists_).subspan(list_start_[node], list_start_[node + 1] - list_start_[node]);
  }

  void find_columns() {
    starts_.push_back(0);
    for (const Event& e : events_) {
      starts_.push_back(e.first);
      starts_.push_back(e.last + 1);  // of kEnd: 0, a start anyway
    }
    std::ranges::sort(starts_);
    const auto repeated = std::ranges::unique(starts_);
    starts_.erase(repeated.begin(), repeated.end());
  }

  // Calls visit(node) for the nodes that make up the event's columns, from both ends up the tree.
  template <class Visit>
  void for_each_node(const Event& e, Visit visit) const {
    auto low = columns() + (std::ranges::lower_bound(starts_, e.first) - starts_.begin());
    auto high = columns() + (std::ranges::upper_bound(starts_, e.last) - starts_.begin());
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) visit(low++);
      if (high % 2 == 1) visit(--high);
    }
  }

  void list_events() {
    list_start_.assign(2 * columns() + 1, 0);
    for (const Event& e : events_) {
      for_each_node(e, [&](std::size_t node) { ++list_start_[node + 1]; });
    }
    for (std::size_t n = 1; n < list_start_.size(); ++n) list_start_[n] += list_start_[n - 1];
    lists_.resize(list_start_.back());
    auto end = list_start_;
    for (Number i = 0; i < events_.size(); ++i) {
      for_each_node(events_[i], [&](std::size_t node) { lists_[end[node]++] = i; });
    }
  }

  std::vector<Event> events_;            // by time
  std::vector<std::uint64_t> starts_;    // of the columns; the first is 0
  std::vector<std::size_t> list_start_;  // by node: where its list begins in lists_
  std::vector<Number> lists_;            // all nodes' lists, each in order of time
};

Timeline::Timeline() = default;
Timeline::~Timeline() = default;

void Timeline::cover(std::uint64_t first, std::uint64_t last, std::uint64_t time, Value value) {
  if (last < first) return;
  events_.push_back({first, last, time, value, static_cast<std::uint32_t>(events_.size())});
  ready_.store(nullptr, std::memory_order_relaxed);
}

const Timeline::Index& Timeline::index() const {
  if (const auto* index = ready_.load(std::memory_order_acquire)) return *index;
  const std::lock_guard lock(building_);
  if (ready_.load(std::memory_order_relaxed) == nullptr) {
    index_ = std::make_unique<const Index>(events_);
    ready_.store(index_.get(), std::memory_order_release);
  }
  return *index_;
}

Timeline::Answer Timeline::find(std::uint64_t address, std::uint64_t time) const {
  return index().find(address, time);
}

}  // namespace hodo::image
