// What is known of an address, or of a page, for as long as the mappings of its space, or what is
// called how in them, are the same.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hodo/session/names.h"

namespace hodo::ask {

struct PlaceKey {
  std::uint32_t space = 0;
  std::uint32_t generation = 0;  // of the mappings or names (session::Names)
  std::uint64_t place = 0;       // an address or the number of a page
  bool operator==(const PlaceKey&) const = default;

  struct Hash {
    std::size_t operator()(const PlaceKey& key) const {
      const std::uint64_t mappings = std::uint64_t{key.space} << 48 ^ key.generation;
      const std::uint64_t h = (key.place ^ mappings) * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(h ^ h >> 32);
    }
  };
};

// Names::generation() or naming(), which is mostly asked again of the same process and time.
class Generation {
 public:
  using Question = std::uint32_t (session::Names::*)(std::uint32_t, std::uint64_t) const;
  // `names` must outlive this.
  Generation(const session::Names& names, Question question) : names_(names), question_(question) {}

  std::uint32_t at(std::uint32_t space, std::uint64_t time) {
    if (space != space_ || time != time_ || !asked_) {
      generation_ = (names_.*question_)(space, time);
      space_ = space;
      time_ = time;
      asked_ = true;
    }
    return generation_;
  }

 private:
  const session::Names& names_;
  Question question_;
  std::uint32_t generation_ = 0;  // of the last question
  std::uint32_t space_ = 0;
  std::uint64_t time_ = 0;
  bool asked_ = false;
};

}  // namespace hodo::ask
