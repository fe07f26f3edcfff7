// How the code's steps (steps.h) name each other.
#pragma once

#include <cstdint>

namespace hodo::flow {

// A step's number above two bits that say what it is like.
using Link = std::uint32_t;
enum class Shape : std::uint8_t {
  outcome,  // ends before a conditional branch
  calls,    // the same, with calls on the way: a Tail follows it
  packet,   // ends before another branch: a Tail follows it
  unknown,  // there is none, or nobody has looked yet
};
inline constexpr Link kNoLink = 3;
constexpr std::uint32_t number_of(Link link) { return link >> 2; }
constexpr Shape shape_of(Link link) { return static_cast<Shape>(link & 3); }
constexpr Link link_to(std::uint32_t number, Shape shape) {
  return number << 2 | static_cast<Link>(shape);
}

}  // namespace hodo::flow
