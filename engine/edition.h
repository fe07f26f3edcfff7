// The code cache in editions, so that it stays within bounds. All that translating makes belongs to
// the edition of its time: fragments and their maps, what they name below 2 GB, the tables that
// lead to them. An edition that has its share of --cache-size is closed, and the next begins with
// nothing.
//
// Threads still run in the closed one. They leave it where they next ask for something, or at the
// next head of a fragment: those have become INT3, where all registers are the program's. When the
// last thread has left, its memory is given back. ThreadArea::stands_in says where a thread is.
#pragma once

#include <cstdint>

#include "hodo/relay/protocol.h"
#include "keys.h"

namespace hodo::engine {

struct ThreadArea;

// Of all editions together; before the first one is begun. 0: the usual.
void limit_cache(std::uint64_t bytes);
void begin_first_edition();
// From 1 on.
std::uint32_t current_edition();
// Gives up all that has been translated: the next edition begins. With the lock, by a thread that
// is in a system call.
void begin_anew(ThreadArea& self);
// `killed` shared this memory and is gone, by SIGKILL perhaps: if it held the lock, what it was
// changing then is left alone from now on, and a new edition begins. The caller is in a system
// call.
void begin_anew_after(const ThreadArea& killed);

// The lock, for as long as `area`'s thread looks for a place in the cache, or has one made, to go
// on at. It stands in the current edition from then on, and no pointer into another one holds.
class Entering {
 public:
  // `ip`: of the program, where it is to go on.
  Entering(ThreadArea& area, std::uint64_t ip);
  ~Entering();
  Entering(const Entering&) = delete;
  Entering& operator=(const Entering&) = delete;
  // What the thread has come from is of the same edition.
  bool stayed() const { return stayed_; }

 private:
  OpenKeys keys_;
  bool stayed_;
};

// The thread leaves the cache: it comes back by Entering.
void leave_cache(ThreadArea& area);

// What this process has used until now. These need the lock.
relay::CacheRecord cache_use();
void count_translated(std::uint64_t bytes);

}  // namespace hodo::engine
