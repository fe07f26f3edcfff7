// The call paths of several threads as one tree, and trees made from it: of one function's stacks,
// and turned round.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hodo/ask/moment.h"
#include "overview.h"

namespace hodo::serve {

struct Weight {
  std::uint64_t instructions = 0;
  std::uint64_t time = 0;  // nanoseconds
  std::uint64_t calls = 0;
  Weight& operator+=(const Weight& other) {
    instructions += other.instructions;
    time += other.time;
    calls += other.calls;
    return *this;
  }
};

struct PathNode {
  std::uint32_t name = 0;    // index in CallPaths::names; of the root nothing
  std::uint32_t parent = 0;  // a node before this one
  Weight self;               // calls: times that it was entered; inverted, from nowhere
  Weight total;              // with all below; calls: times that it was entered
  ask::Moment first;         // where it was entered first, of the first thread that did
};

struct CallPaths {
  std::vector<PathNode> nodes{PathNode{}};  // the root comes first, parents before children
  std::vector<SliceName> names;
  Weight other;  // of paths that there was no room for
};

// Of the lanes that are wanted. Nodes of the same names below the same parents are one.
CallPaths paths_of(const std::vector<Lane>& lanes, const std::vector<SliceName>& names,
                   const std::function<bool(const ThreadTotal&)>& wanted);
// Only stacks through a function that is meant, from its outermost call inwards: below the root.
CallPaths through(const CallPaths& paths, const std::function<bool(const SliceName&)>& meant);
// From each function outwards: its callers lie below it. What a function executed itself is its
// weight; where `meant` is given, what its outermost calls executed with all below. What is less
// than a 5000th of all has no callers below it.
CallPaths inverted(const CallPaths& paths, const std::function<bool(const SliceName&)>& meant);

}  // namespace hodo::serve
