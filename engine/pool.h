// Things of one kind that come and go. What is given back is taken again; the memory stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {

template <class Thing>
class Pool {
 public:
  // As if it had just been made.
  Thing* take() {
    if (!reserve(1)) die("no memory for its lists");
    Slot* slot = free_;
    free_ = slot->next;
    ++taken_;
    --free_count_;
    return new (slot) Thing;
  }
  void give(Thing* thing) {
    auto* slot = reinterpret_cast<Slot*>(thing);
    slot->next = free_;
    free_ = slot;
    --taken_;
    ++free_count_;
  }
  // False: there is no memory for so many more.
  bool reserve(std::size_t more) {
    while (free_count_ < more) {
      if (!make_more()) return false;
    }
    return true;
  }
  std::uint64_t bytes() const { return taken_ * sizeof(Slot); }

 private:
  union Slot {
    Slot* next;
    alignas(Thing) unsigned char room[sizeof(Thing)];
  };
  bool make_more() {
    constexpr std::size_t kBytes = 256 << 10;
    constexpr std::size_t kAtOnce = kBytes / sizeof(Slot);
    auto* fresh = static_cast<Slot*>(try_map_memory(kAtOnce * sizeof(Slot)));
    if (fresh == nullptr) return false;
    free_count_ += kAtOnce;
    for (std::size_t i = kAtOnce; i-- > 0;) {
      fresh[i].next = free_;
      free_ = &fresh[i];
    }
    return true;
  }
  Slot* free_ = nullptr;
  std::uint64_t taken_ = 0;
  std::size_t free_count_ = 0;
};

}  // namespace hodo::engine
