// The passages of a batch (Passages), and the one that is being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hodo/flow/decoder.h"
#include "link.h"

namespace hodo::flow {

// An entry of a passage: a step (steps.h) that was gone through with at least one taken branch.
struct PassedStep {
  Link step = kNoLink;
  std::uint32_t to = 0;     // the outcome, or the step that the branch at its end led to
  std::uint32_t insns = 0;  // since the taken branch before it

  static constexpr unsigned kLinkBits = 22;
  static constexpr unsigned kInsnBits = 64 - 2 * kLinkBits;
  static constexpr std::uint32_t kMostInsns = (1u << kInsnBits) - 1;

  // `insns` is at most kMostInsns.
  static std::uint64_t packed(Link step, std::uint32_t to, std::uint64_t insns) {
    return step | std::uint64_t{to} << kLinkBits | insns << 2 * kLinkBits;
  }
  static PassedStep of(std::uint64_t packed) {
    constexpr std::uint64_t kLink = (1u << kLinkBits) - 1;
    return {.step = static_cast<Link>(packed & kLink),
            .to = static_cast<std::uint32_t>(packed >> kLinkBits & kLink),
            .insns = static_cast<std::uint32_t>(packed >> 2 * kLinkBits)};
  }
};

class PassageLog {
 public:
  // Entries of a batch, and addresses: enough that what a sink does for each batch is nothing, and
  // the sink finds them in the second cache.
  static constexpr std::size_t kMost = 1 << 12;
  // What one step may add to the addresses.
  static constexpr std::size_t kMostCalls = 64;

  // Where the open passage goes on. It has `called` behind the addresses that it returns to.
  struct Cursor {
    std::uint64_t* entry = nullptr;
    std::uint64_t* address = nullptr;
    std::uint64_t* called = nullptr;
  };

  // Nothing may be written before.
  void open() {
    entries_.resize(kMost);
    addresses_.resize(kMost + kMostCalls);
    clear();
  }
  const Cursor& cursor() const { return at_; }
  // `branches` more are in the open passage.
  void put(const Cursor& at, std::uint64_t branches) {
    at_ = at;
    branches_ += branches;
  }
  // To be asked behind each step; true: close() it and clear().
  struct Limits {
    const std::uint64_t* entry = nullptr;
    const std::uint64_t* address = nullptr;
    bool reached(const Cursor& at) const { return at.entry == entry || at.address >= address; }
  };
  Limits limits() const { return {entries_.data() + kMost, addresses_.data() + kMost}; }
  // The open passage ends, where so many branches that are in none came before it; `time` is its
  // branches'.
  void close(std::uint64_t time, std::size_t begin);
  bool empty() const { return list_.empty(); }
  void clear();

  std::span<const Passage> list() const { return list_; }
  std::span<const std::uint64_t> entries() const { return entries_; }
  std::span<const std::uint64_t> addresses() const { return addresses_; }

 private:
  std::vector<std::uint64_t> entries_;
  std::vector<std::uint64_t> addresses_;
  std::vector<Passage> list_;
  Cursor at_;
  Cursor begin_;  // of the open passage
  std::uint64_t branches_ = 0;
};

}  // namespace hodo::flow
