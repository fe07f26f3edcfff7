// The processor's return stack, as far as Intel PT needs it (SDM, "Indirect Transfer Compression
// for Returns"): the youngest 64 return addresses; older ones fall off the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "link.h"

namespace hodo::flow {

class ReturnStack {
 public:
  void clear() { depth_ = 0; }
  void push(std::uint64_t ip) {
    put(ip);
    peak_ = std::max(peak_, ++level_);
  }
  std::optional<std::uint64_t> pop() {
    low_ = std::min(low_, --level_);
    if (depth_ == 0) return std::nullopt;
    const std::uint64_t ip = ips_[top_];
    drop();
    return ip;
  }
  // What pop() would give. Inlined wherever it is asked, as for each compressed return.
  [[gnu::always_inline]] std::optional<std::uint64_t> top() const {
    if (depth_ == 0) return std::nullopt;
    return ips_[top_];
  }
  unsigned depth() const { return depth_; }
  // The entry `below` the top, which must be less than depth().
  std::uint64_t entry(unsigned below) const { return ips_[(top_ - below) % kSize]; }

  // How far pushes and pops went up and down from where watch() was called.
  void watch() { level_ = low_ = peak_ = 0; }
  int level() const { return level_; }
  int low() const { return low_; }
  int peak() const { return peak_; }

  // The effect of a stretch of path that was watched before. Calls that returned in it left nothing
  // behind, but pushed the oldest entries off the end all the same.
  void rise_to(unsigned peak) { depth_ = std::min(depth_, kSize - peak); }
  // `link` is the step at `ip` (steps.h), if it is known.
  void put(std::uint64_t ip, Link link = kNoLink) {
    top_ = (top_ + 1) % kSize;
    ips_[top_] = ip;
    links_[top_] = link;
    if (depth_ < kSize) ++depth_;
  }
  Link top_link() const { return links_[top_]; }
  Link link(unsigned below) const { return links_[(top_ - below) % kSize]; }
  void forget_links() { links_.fill(kNoLink); }
  void drop() {
    if (depth_ == 0) return;
    top_ = (top_ + kSize - 1) % kSize;
    --depth_;
  }

  static constexpr unsigned kSize = 64;

 private:
  std::array<std::uint64_t, kSize> ips_{};
  std::array<Link, kSize> links_{};
  unsigned top_ = 0;
  unsigned depth_ = 0;
  int level_ = 0;
  int low_ = 0;
  int peak_ = 0;
};

}  // namespace hodo::flow
