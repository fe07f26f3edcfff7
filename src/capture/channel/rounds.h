// The order of time that a file with finished rounds promises: behind one of them no record is
// older than the newest one that stood before the round before (perf's tools/perf/util/
// ordered-events.c counts as "out of order" what is).
//
// A thread that is interrupted between the moment that a record tells and its being handed over may
// come too late for that. Its record then bears the oldest time that keeps the promise.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace hodo::capture {

class Rounds {
 public:
  // The time, in ns, that a record bears which is written now.
  std::uint64_t time_of(std::uint64_t time) {
    time = std::max(time, promised_);
    newest_ = std::max(newest_, time);
    return time;
  }
  // A round is finished. What claims to be younger than `now` holds nobody else to that.
  void finish(std::uint64_t now) {
    promised_ = std::max(promised_, std::exchange(before_, std::min(newest_, now)));
  }

 private:
  std::uint64_t promised_ = 0;  // nothing older is written any more
  std::uint64_t before_ = 0;    // the newest before the last finished round
  std::uint64_t newest_ = 0;
};

}  // namespace hodo::capture
