// Counts by address need to know when an address came to mean another file, and which processes ran
// the same code.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "hodo/session/names.h"

namespace hodo::session {

// Where what ran between two addresses is counted. What ran in files is counted for all processes
// together, at the addresses that one of them had for it.
struct Home {
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t time = 0;   // trace clock: what names and code are looked up with
  std::uint32_t space = 0;  // kKernelSpace for the kernel's own code
  std::uint32_t era = 0;    // the same addresses in another one are of other code

  bool operator==(const Home&) const = default;
};

// Of what is counted, branch after branch: asks only where it may have changed.
class Homes {
 public:
  static constexpr std::size_t kMostPairs = std::size_t{1} << 20;

  // `names` must outlive this. Branches between more pairs of files than `most_pairs`, which nobody
  // but a forger has, are counted for each process.
  explicit Homes(const Names& names, std::size_t most_pairs = kMostPairs);

  // 0 is no address: of either, the home is the other one's.
  Home of(std::uint32_t space, std::uint64_t from, std::uint64_t to, std::uint64_t time);

 private:
  static constexpr std::uint32_t kNoPart = ~std::uint32_t{0};
  struct Known {
    std::uint32_t space = 0;
    std::uint32_t part = kNoPart;   // by number; kNoPart: of no file
    FileAround around{.until = 0};  // nothing is known
  };
  struct KnownEra {
    std::uint32_t space = 0;
    Era era{.until = 0};
  };
  // Two parts of files that a branch leads from and to, as the process mapped them that was seen
  // first.
  struct Pair {
    std::uint32_t number = 0;
    std::uint32_t space = 0;
    std::uint64_t time = 0;
    std::uint64_t from_start = 0, to_start = 0;
  };
  using Parts = std::pair<std::uint32_t, std::uint32_t>;

  const Known& around(std::vector<Known>& all, std::uint32_t space, std::uint64_t address,
                      std::uint64_t time);
  void learn(Known& known, std::uint32_t space, std::uint64_t address, std::uint64_t time);
  std::uint32_t era(std::uint32_t space, std::uint64_t time);
  // Null where there are too many.
  const Pair* pair_of(const Known& from, const Known& to, std::uint32_t space, std::uint64_t time);

  const Names& names_;
  std::size_t most_pairs_;
  std::vector<Known> known_[2];  // of the one end and of the other
  const Known nowhere_;
  KnownEra eras_[2];  // of processes and of the kernel
  std::map<FileAround::Part, std::uint32_t> parts_;
  std::map<Parts, Pair> pairs_;
  Parts last_{kNoPart, kNoPart};
  const Pair* last_pair_ = nullptr;  // of last_
};

}  // namespace hodo::session
