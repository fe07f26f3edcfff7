// Which thread ran on a processor at which time, for traces that are a processor's and not a
// thread's.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/image/code.h"
#include "hodo/perfdata/model.h"

namespace hodo::session {

inline constexpr std::uint32_t kNoSpace = ~std::uint32_t{0};

struct Occupant {
  std::uint64_t from = 0;  // trace time
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::uint32_t space = kNoSpace;  // index of the process in perfdata::Model::processes()
  bool same_task(const Occupant& other) const {
    return pid == other.pid && tid == other.tid && space == other.space;
  }
};

// The tasks of one queue in order of time; never empty, the first one from 0.
class Occupancy {
 public:
  Occupancy() : turns_(1) {}
  // `turns` by time; those that change nothing are dropped.
  explicit Occupancy(const std::vector<Occupant>& turns);

  const std::vector<Occupant>& turns() const { return turns_; }
  // The index in turns() of who runs at `time`.
  std::size_t at(std::uint64_t time) const;
  // When the turn ends; "for ever" for the last.
  std::uint64_t until(std::size_t turn) const {
    return turn + 1 < turns_.size() ? turns_[turn + 1].from : perfdata::kForever;
  }

 private:
  std::vector<Occupant> turns_;
};

// The occupancy of a recorded queue: a thread's own, by the lives of its process; a cpu's by its
// context switches.
Occupancy occupancy_of(const perfdata::AuxQueue& queue, const perfdata::Model& recording);

}  // namespace hodo::session
