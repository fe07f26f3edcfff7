// Counts for the rules chain.rop and chain.jop. Return-oriented programming runs a program's own
// code in pieces of a few instructions ("gadgets"), each of which ends in a return that leads to
// the next; jump-oriented programming does it with indirect jumps. Several such pieces in a row are
// a finding of their own.
#pragma once

#include <cstdint>

namespace hodo::check {

// Counts links of one kind that follow each other.
class GadgetChain {
 public:
  // Three already do something; compilers make none.
  static constexpr unsigned kLinks = 3;
  // More instructions than any gadget that was published; kBouncer takes 20.
  static constexpr std::uint32_t kLongest = 20;

  // A link after `insns` instructions. True when the chain has become one.
  bool link(std::uint32_t insns) {
    links_ = insns > kLongest ? 1 : links_ + 1;
    return links_ >= kLinks;
  }
  void end() { links_ = 0; }
  bool is_none() const { return links_ == 0; }

 private:
  unsigned links_ = 0;
};

}  // namespace hodo::check
