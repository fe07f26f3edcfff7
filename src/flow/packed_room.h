// Room for records of any size, one behind the other, that are given back all at once. They never
// move.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace hodo::flow {

class PackedRoom {
 public:
  static constexpr std::size_t kWord = 8;  // bytes; all begin at a whole one
  static constexpr std::size_t words(std::size_t bytes) { return (bytes + kWord - 1) / kWord; }

  // Of one record with all that belongs to it; reserve() takes no more.
  static constexpr std::size_t kMostWords = std::size_t{1} << 15;
  // What is put from here on stands in one piece, at most so many words. Where that is, for at().
  std::uint32_t reserve(std::size_t most) {
    if (chunks_.empty() || kMostWords - used_ < most) {
      chunks_.push_back(std::make_unique_for_overwrite<std::uint64_t[]>(kMostWords));
      used_ = 0;
    }
    return static_cast<std::uint32_t>((chunks_.size() - 1) * kMostWords + used_);
  }
  void* at(std::uint32_t place) const {
    return chunks_[place / kMostWords].get() + place % kMostWords;
  }
  template <class T>
  T& put(T record) {
    static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= kWord);
    return *new (take(words(sizeof(T)))) T(std::move(record));
  }
  template <class T>
  std::span<const T> put_list(std::span<const T> list) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kWord);
    if (list.empty()) return {};
    T* const out = static_cast<T*>(take(words(list.size_bytes())));
    std::uninitialized_copy(list.begin(), list.end(), out);
    return {out, list.size()};
  }
  // In bytes.
  std::size_t size() const { return chunks_.size() * kMostWords * kWord; }

 private:
  void* take(std::size_t count) {
    return chunks_.back().get() + std::exchange(used_, used_ + count);
  }

  std::vector<std::unique_ptr<std::uint64_t[]>> chunks_;
  std::size_t used_ = 0;  // words of the last one
};

}  // namespace hodo::flow
