// For users who ask how often code ran (RunSink), of recordings that list every branch: each branch
// becomes the run of code before it. What is the same at one time is put together, since a loop is.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/session/sink.h"

namespace hodo::session {

class RunsFromBranches final : public BranchSink {
 public:
  // `sink` must outlive this.
  explicit RunsFromBranches(RunSink& sink) : sink_(sink), places_(kPlaces) {}
  bool branches(const Context& context, std::span<const Branch> batch) override;
  // Behind the last branch. False if the sink wants no more.
  bool finish();

 private:
  static constexpr std::size_t kPlaces = 1 << 12;  // a power of two
  static constexpr std::size_t kMostRuns = kPlaces;
  // Where in runs_ one that hashes here is, if `round` is the present one.
  struct Place {
    std::uint64_t round = 0;
    std::size_t at = 0;
  };

  void add(const flow::RunCount& run);

  RunSink& sink_;
  Context context_;
  std::uint64_t time_ = 0;  // of all in runs_
  std::vector<flow::RunCount> runs_;
  std::vector<Place> places_;
  std::uint64_t round_ = 1;
  std::uint64_t line_ = 0;  // as RunCount::begin
};

}  // namespace hodo::session
