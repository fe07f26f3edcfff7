// A table of things that know their key themselves, so that a number of each is all that it keeps.
// Open addressing; grows by half when three quarters are full. 0 is no key.
#pragma once

#include <cstdint>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {

// Things::kBits: of a number, which is not 0, nor has all of them; Things::key(number): its key.
template <class Things>
class KeyTable {
 public:
  // 0: there is none.
  std::uint32_t find(std::uint64_t key) const {
    const std::uint32_t* place = place_of(key);
    return place == nullptr ? 0 : *place & kNumber;
  }
  // Instead of the one with this key, if there is one.
  void put(std::uint64_t key, std::uint32_t number) {
    if (key == 0) return;
    if (std::uint32_t* place = place_of(key)) {
      *place = tag(key) | number;
      return;
    }
    if (!reserve(1)) die("no memory for its tables", capacity_);
    insert(tag(key) | number, key);
    ++count_;
  }
  void take_out(std::uint64_t key) {
    if (std::uint32_t* place = place_of(key)) *place = kGone;
  }
  // False: there is no memory for so many more.
  bool reserve(std::uint64_t more) {
    while (4 * (count_ + more) > 3 * capacity_) {
      if (!grow()) return false;
    }
    return true;
  }
  std::uint64_t bytes() const { return capacity_ * sizeof(std::uint32_t); }
  // Whoever changed it was killed half way: forgets all of them.
  void abandon() { *this = {}; }
  // Forgets all of them, and gives the memory back.
  void clear() {
    if (entries_ != nullptr) {
      unmap_memory(reinterpret_cast<std::uint64_t>(entries_), bytes());
    }
    *this = {};
  }

 private:
  // An entry is a number under bits of its key's hash, which spare most looks at other keys.
  static constexpr std::uint32_t kNumber = (1U << Things::kBits) - 1;
  static constexpr std::uint32_t kGone = kNumber;  // one was here

  static std::uint64_t hash(std::uint64_t key) { return key * 0x9e3779b97f4a7c15; }
  static std::uint32_t tag(std::uint64_t key) {
    return static_cast<std::uint32_t>(hash(key)) & ~kNumber;
  }
  std::uint64_t first(std::uint64_t key) const {
    return (hash(key) >> 32) * capacity_ >> 32;  // capacities are below 4 G
  }
  std::uint64_t next(std::uint64_t i) const { return i + 1 == capacity_ ? 0 : i + 1; }

  std::uint32_t* place_of(std::uint64_t key) const {
    if (capacity_ == 0 || key == 0) return nullptr;
    for (std::uint64_t i = first(key); entries_[i] != 0; i = next(i)) {
      const std::uint32_t number = entries_[i] & kNumber;
      if (number == kGone || (entries_[i] & ~kNumber) != tag(key)) continue;
      if (Things::key(number) == key) return &entries_[i];
    }
    return nullptr;
  }
  void insert(std::uint32_t entry, std::uint64_t key) {
    std::uint64_t i = first(key);
    while (entries_[i] != 0) i = next(i);
    entries_[i] = entry;
  }
  bool grow() {
    constexpr std::uint64_t kLeast = 256;
    std::uint32_t* const old = entries_;
    const std::uint64_t old_capacity = capacity_;
    const std::uint64_t capacity = capacity_ == 0 ? kLeast : capacity_ + capacity_ / 2;
    void* const got = try_map_memory(capacity * sizeof(std::uint32_t));
    if (got == nullptr) return false;
    capacity_ = capacity;
    entries_ = static_cast<std::uint32_t*>(got);
    count_ = 0;
    for (std::uint64_t i = 0; i < old_capacity; ++i) {
      const std::uint32_t number = old[i] & kNumber;
      if (number == 0 || number == kGone) continue;
      insert(old[i], Things::key(number));
      ++count_;
    }
    if (old != nullptr) {
      unmap_memory(reinterpret_cast<std::uint64_t>(old), old_capacity * sizeof(std::uint32_t));
    }
    return true;
  }

  std::uint32_t* entries_ = nullptr;
  std::uint64_t capacity_ = 0;
  std::uint64_t count_ = 0;  // with those that are gone
};

}  // namespace hodo::engine
