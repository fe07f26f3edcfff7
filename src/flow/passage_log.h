// The passages of a batch (Passages), and the one that is being written.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/decoder.h"
#include "link.h"

namespace hodo::flow {

// An entry of a passage: a row of outcomes, or a branch with a packet of its own, from the step
// (steps.h) where it begins. What it leads through lies in the steps; where its returns led, in
// Passages::returns.
struct PassedRow {
  Link step = kNoLink;
  // Of outcomes, where its first return is in `returns`; else the step that the branch led to.
  std::uint32_t to = 0;
  std::uint64_t outcomes = 0;  // under a stop bit; 0: the branch with a packet at the step's end

  static constexpr unsigned kLinkBits = 32;

  Passages::Entry packed() const { return {step | std::uint64_t{to} << kLinkBits, outcomes}; }
  static PassedRow of(const Passages::Entry& entry) {
    return {.step = static_cast<Link>(entry.where),
            .to = static_cast<std::uint32_t>(entry.where >> kLinkBits),
            .outcomes = entry.outcomes};
  }
};

class PassageLog {
 public:
  // Entries of a batch, returns and addresses: enough that what a sink does for each batch is
  // nothing, and the sink finds them in the second cache.
  static constexpr std::size_t kMost = 1 << 11;
  static constexpr std::size_t kMostReturns = 1 << 12;
  static constexpr std::size_t kMostAddresses = 1 << 12;
  // Before limits are asked for again, so many outcomes are followed at most, and each step has at
  // most so many calls.
  static constexpr std::size_t kAtOnce = 64;
  static constexpr std::size_t kMostCalls = 64;

  // Where the open passage goes on. It has `called` behind the addresses that it returns to.
  struct Cursor {
    Passages::Entry* entry = nullptr;
    std::uint64_t* address = nullptr;
    Link* returned = nullptr;  // (not beside `called`: both would be loaded as one)
    std::uint64_t* called = nullptr;
  };

  // Nothing may be written before.
  void open() {
    entries_.resize(kMost + kAtOnce);
    returns_.resize(kMostReturns + kAtOnce);
    addresses_.resize(kMostAddresses + kAtOnce * kMostCalls);
    clear();
  }
  const Cursor& cursor() const { return at_; }
  // `branches` more are in the open passage.
  void put(const Cursor& at, std::uint64_t branches) {
    at_ = at;
    branches_ += branches;
  }
  // True: close() it and clear().
  struct Limits {
    const Passages::Entry* entry = nullptr;
    const Link* returned = nullptr;
    const std::uint64_t* address = nullptr;
    bool reached(const Cursor& at) const {
      return at.entry >= entry || at.returned >= returned || at.address >= address;
    }
  };
  Limits limits() const {
    return {entries_.data() + kMost, returns_.data() + kMostReturns,
            addresses_.data() + kMostAddresses};
  }
  // The entries of the open passage so far.
  std::span<const Passages::Entry> open_entries() const { return {begin_.entry, at_.entry}; }
  // The open passage ends, where so many branches that are in none came before it; `time` is its
  // branches', `insns` as in Passage. Without branches there is none.
  void close(std::uint64_t time, std::size_t begin, std::uint64_t insns);
  bool empty() const { return list_.empty(); }
  void clear();

  std::span<const Passage> list() const { return list_; }
  std::span<const Passages::Entry> entries() const { return {entries_.data(), at_.entry}; }
  std::span<const Link> returns() const { return {returns_.data(), at_.returned}; }
  std::span<const std::uint64_t> addresses() const { return {addresses_.data(), at_.address}; }

 private:
  std::vector<Passages::Entry> entries_;
  std::vector<Link> returns_;
  std::vector<std::uint64_t> addresses_;
  std::vector<Passage> list_;
  Cursor at_;
  Cursor begin_;  // of the open passage
  std::uint64_t branches_ = 0;
};

}  // namespace hodo::flow
