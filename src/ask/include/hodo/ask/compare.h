// Where two paths part, and where they meet again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hodo/ask/builds.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"

namespace hodo::ask {

// A part of a thread's path: the branches numbered from + 1 to `to`.
struct Side {
  session::Session* session = nullptr;
  ThreadId thread;
  std::uint64_t from = 0;
  std::uint64_t to = ~std::uint64_t{0};
};

// The two paths were alike up to the instruction at these moments, and went on differently.
struct Parting {
  Moment a, b;
  // Moments of each side behind the branch that it took from there; absent: its path ends.
  std::optional<Moment> a_next, b_next;
  // Where they go on alike again; absent: not within what was looked at.
  std::optional<Moment> a_meet, b_meet;
  // The branch instruction where one of them, or both, left the common way, as that side has it.
  struct Place {
    bool in_b = false;
    std::uint32_t space = 0;
    std::uint64_t address = 0;  // 0: none in the trace
    std::uint64_t time = 0;
  };
  Place at;
};

struct Comparison {
  std::uint64_t a_branches = 0;  // of each side, that count
  std::uint64_t b_branches = 0;
  std::uint64_t common = 0;  // before they part, or all
  bool equal = false;
  std::vector<Parting> partings;  // in order, at most CompareOptions::most
  // Others, in order: one side waited there for other threads, or both did it otherwise, and both
  // went on alike in the same function. Locks, joins, loops that let time go by.
  std::vector<Parting> waits;
  bool more = false;  // behind the last of `partings` not all was looked at
  bool lost = false;  // a part of a path was lost: what comes behind it was compared as it stands
};

struct CompareOptions {
  RebuiltFiles rebuilt;                       // files of which each side has its own build
  RenamedFiles renamed;                       // of b, to what they are called in a and `rebuilt`
  std::size_t window = std::size_t{1} << 19;  // branches of each side behind the first parting
  std::size_t windows = 8;                    // so many times
  std::size_t most = 100;                     // partings
  session::ProgressFunction progress;
};

// Compares by file and place in the file, so that addresses may differ. Left out are interruptions
// after which the path goes on as before, and the inner life of memcpy,
// strlen and their like, which goes by where their arguments lie. Two passes over each side for
// every window; memory grows with the window and by 8 bytes for every 1024 branches. Errors: as
// walk(); not_found for a thread without branches; a part of its path, such as a call, may have
// none.
Result<Comparison> compare(const Side& a, const Side& b, const CompareOptions& options);

}  // namespace hodo::ask
