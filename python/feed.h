// Rows that one thread makes and another takes, in blocks of a bounded number.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/session/session.h"

namespace hodo::python {

template <class Row>
class Feed {
 public:
  static constexpr std::size_t kMostReady = 2;  // blocks, beside the one that is being filled

  explicit Feed(std::size_t block) : size_(block) {}

  // For who makes them. False: nobody wants any more.
  bool add(const Row& row) {
    if (filling_.empty()) filling_.reserve(size_);
    filling_.push_back(row);
    return filling_.size() < size_ || hand_over();
  }
  void end(Result<session::Outcome> outcome) {
    if (!filling_.empty()) hand_over();
    const std::scoped_lock lock(mutex_);
    outcome_ = std::move(outcome);
    changed_.notify_all();
  }
  bool wanted() const {
    const std::scoped_lock lock(mutex_);
    return !stopped_;
  }

  // For who takes them: an empty block if none comes in time.
  std::vector<Row> take(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, time, [&] { return !ready_.empty() || outcome_; });
    if (ready_.empty()) return {};
    std::vector<Row> out = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_all();
    return out;
  }
  // All has been taken.
  bool at_end() const {
    const std::scoped_lock lock(mutex_);
    return outcome_ && ready_.empty();
  }
  // What it came to; at the end only.
  const Result<session::Outcome>& outcome() const { return *outcome_; }
  void stop() {
    const std::scoped_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  bool hand_over() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || ready_.size() < kMostReady; });
    if (!stopped_) ready_.push_back(std::move(filling_));
    filling_ = {};
    changed_.notify_all();
    return !stopped_;
  }

  const std::size_t size_;
  std::vector<Row> filling_;  // of who makes them
  mutable std::mutex mutex_;  // holds what follows
  std::condition_variable changed_;
  std::deque<std::vector<Row>> ready_;
  std::optional<Result<session::Outcome>> outcome_;
  bool stopped_ = false;
};

}  // namespace hodo::python
