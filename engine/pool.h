// Things of one kind that come and go. What is given back is taken again; the memory stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "memory.h"

namespace hodo::engine {

template <class Thing>
class Pool {
 public:
  // As if it had just been made.
  Thing* take() {
    if (free_ == nullptr) make_more();
    Slot* slot = free_;
    free_ = slot->next;
    ++taken_;
    return new (slot) Thing;
  }
  void give(Thing* thing) {
    auto* slot = reinterpret_cast<Slot*>(thing);
    slot->next = free_;
    free_ = slot;
    --taken_;
  }
  std::uint64_t bytes() const { return taken_ * sizeof(Slot); }

 private:
  union Slot {
    Slot* next;
    alignas(Thing) unsigned char room[sizeof(Thing)];
  };
  void make_more() {
    constexpr std::size_t kBytes = 256 << 10;
    constexpr std::size_t kAtOnce = kBytes / sizeof(Slot);
    auto* fresh = static_cast<Slot*>(map_memory(kAtOnce * sizeof(Slot)));
    for (std::size_t i = kAtOnce; i-- > 0;) {
      fresh[i].next = free_;
      free_ = &fresh[i];
    }
  }
  Slot* free_ = nullptr;
  std::uint64_t taken_ = 0;
};

}  // namespace hodo::engine
