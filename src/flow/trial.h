// Finds out whether remembering pays in a trace that comes for the first time, by trying it now and
// then.
//
// Where the same bytes come again and again, as in loops of an interpreter, a stretch of packets is
// found by one look-up, several times as fast as by steps. Where they do not, each path is walked,
// kept and hardly ever found again, several times as slowly. Which of both a trace is changes on
// its way. So, behind its beginning, a little of it is followed by what is remembered, and then
// either more of it, as long as that pays, or a lot by steps, longer after each trial that failed.
#pragma once

#include <algorithm>
#include <cstddef>

namespace hodo::flow {

class Trial {
 public:
  // `bytes`: what is followed to learn, and as much to judge.
  explicit Trial(std::size_t bytes)
      : bytes_(bytes), rest_(kLeastRest * bytes), resting_(kLeastRest * bytes) {}

  // Steps are to be taken: there is none, or the last one failed.
  bool rests() const { return resting_ != 0; }
  // So many bytes were followed by what is remembered, so many of them in stretches.
  void remembered(std::size_t bytes, std::size_t in_stretches) {
    followed_ += bytes;
    in_stretches_ += in_stretches;
    if (learned_ < bytes_) {
      learned_ += bytes;
      followed_ = in_stretches_ = 0;
      return;
    }
    if (followed_ < bytes_) return;
    if (2 * in_stretches_ < followed_) return fail();
    followed_ = in_stretches_ = 0;
    rest_ = kLeastRest * bytes_;
  }
  // There was too much to remember.
  void fail() {
    resting_ = rest_;
    rest_ = std::min(2 * rest_, kMostRest * bytes_);
    followed_ = in_stretches_ = learned_ = 0;
  }
  // So many were followed by steps.
  void stepped(std::size_t bytes) { resting_ -= std::min(resting_, bytes); }

 private:
  static constexpr std::size_t kLeastRest = 16;
  static constexpr std::size_t kMostRest = 1024;

  std::size_t bytes_;
  std::size_t learned_ = 0;  // in this trial
  std::size_t followed_ = 0;
  std::size_t in_stretches_ = 0;
  std::size_t rest_;     // after the next one, if it fails
  std::size_t resting_;  // until the next one
};

}  // namespace hodo::flow
