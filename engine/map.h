// A table from addresses to small values. Open addressing; grows by half when three quarters are
// full. 0 is no key.
#pragma once

#include <cstdint>

#include "memory.h"
#include "sys.h"

namespace hodo::engine {

template <class Value>
class Map {
 public:
  // Null: nothing was ever put there.
  Value* find(std::uint64_t key) {
    if (capacity_ == 0 || key == 0) return nullptr;
    Entry& entry = at(key);
    return entry.key() == key ? &entry.value : nullptr;
  }
  void put(std::uint64_t key, Value value) {
    if (key == 0) return;
    if (Value* known = find(key)) {
      *known = value;
      return;
    }
    if (!reserve(1)) die("no memory for its tables", capacity_);
    at(key).set(key, value);
    ++count_;
  }
  // False: there is no memory for so many more.
  bool reserve(std::uint64_t more) {
    while (4 * (count_ + more) > 3 * capacity_) {
      if (!grow()) return false;
    }
    return true;
  }
  // All that there are, in any order.
  template <class Visit>
  void each(Visit visit) {
    for (std::uint64_t i = 0; i < capacity_; ++i) {
      if (entries_[i].key() != 0) visit(entries_[i].key(), entries_[i].value);
    }
  }
  std::uint64_t size() const { return count_; }
  std::uint64_t bytes() const { return capacity_ * sizeof(Entry); }
  // Whoever changed it was killed half way: forgets all of them.
  void abandon() { *this = {}; }
  // Forgets all of them, and gives the memory back.
  void clear() {
    if (entries_ != nullptr) {
      unmap_memory(reinterpret_cast<std::uint64_t>(entries_), capacity_ * sizeof(Entry));
    }
    *this = {};
  }

 private:
  // In halves, so that values of four bytes make no gap.
  struct Entry {
    std::uint32_t low, high;
    Value value;

    std::uint64_t key() const { return std::uint64_t{high} << 32 | low; }
    void set(std::uint64_t new_key, Value new_value) {
      value = new_value;
      __atomic_signal_fence(__ATOMIC_RELEASE);  // abandon(): nothing is named that is not there
      low = static_cast<std::uint32_t>(new_key);
      high = static_cast<std::uint32_t>(new_key >> 32);
    }
  };
  // Where `key` is or belongs.
  Entry& at(std::uint64_t key) {
    const std::uint64_t hash = (key * 0x9e3779b97f4a7c15) >> 32;
    std::uint64_t i = hash * capacity_ >> 32;  // capacities are below 4 G
    while (entries_[i].key() != 0 && entries_[i].key() != key) i = i + 1 == capacity_ ? 0 : i + 1;
    return entries_[i];
  }
  bool grow() {
    Map larger;
    larger.capacity_ = capacity_ == 0 ? 256 : capacity_ + capacity_ / 2;
    void* const got = try_map_memory(larger.bytes());
    if (got == nullptr) return false;
    larger.entries_ = static_cast<Entry*>(got);
    larger.count_ = count_;
    each([&](std::uint64_t key, const Value& value) { larger.at(key).set(key, value); });
    Entry* const old = entries_;
    const std::uint64_t old_bytes = bytes();
    entries_ = larger.entries_;
    __atomic_signal_fence(__ATOMIC_RELEASE);  // abandon(): not more than there is
    capacity_ = larger.capacity_;
    if (old != nullptr) unmap_memory(reinterpret_cast<std::uint64_t>(old), old_bytes);
    return true;
  }

  Entry* entries_ = nullptr;
  std::uint64_t capacity_ = 0, count_ = 0;
};

}  // namespace hodo::engine
