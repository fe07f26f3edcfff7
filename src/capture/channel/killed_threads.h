// Threads that are gone without a word while their process goes on: the kernel has killed them
// alone, as a filter of system calls may ask for (SECCOMP_RET_KILL_THREAD).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "hodo/capture/options.h"

namespace hodo::capture {

class KilledThreads {
 public:
  struct Thread {
    pid_t pid = 0;
    pid_t tid = 0;
    auto operator<=>(const Thread&) const = default;
  };

  // Often enough; now is in nanoseconds.
  bool is_due(std::uint64_t now) const { return now - looked_ >= kPeriod; }
  // `silent`: those of processes that have not said that they end, which have not said so either.
  void look(std::span<const Thread> silent, std::uint64_t now);

  const std::vector<ProcessEnd>& ends() const { return ends_; }  // the first ones

 private:
  static constexpr std::uint64_t kPeriod = 100'000'000;

  std::uint64_t looked_ = 0;
  std::set<Thread> missed_;  // when that was looked at last
  std::set<Thread> killed_;
  std::vector<ProcessEnd> ends_;
};

}  // namespace hodo::capture
