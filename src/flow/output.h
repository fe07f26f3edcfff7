// Collects branches into batches for the sink, counts them, and can take back what a walk emitted
// that proved wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "hodo/flow/decoder.h"

namespace hodo::flow {

class Output {
 public:
  // Both must outlive the output.
  Output(const Config& config, BranchSink& sink);

  bool wants_instructions() const { return config_.want_instructions; }
  void count(std::uint32_t instructions) { pending_insns_ += instructions; }
  void instruction(std::uint64_t ip) { instructions_.push_back(ip); }
  // Fills in `insns`.
  void branch(Branch branch);
  // The sink may have to be called before: an event lies between two branches.
  void event(const Event& event);
  void loss(Loss loss);
  // False: no more is wanted.
  bool progress(std::uint64_t offset) { return sink_.on_progress(offset); }

  // What was emitted since a mark can be taken back until the next commit().
  struct Mark {
    std::size_t branches;
    std::size_t instructions;
    std::uint64_t counted_insns;
    std::uint64_t pending_insns;
  };
  Mark mark() const {
    return {batch_.size(), instructions_.size(), stats_.instructions, pending_insns_};
  }
  void take_back(const Mark& mark);
  void commit() {
    if (batch_.size() >= kBatch || instructions_.size() >= kBatch) flush();
  }
  void flush();
  void finish();  // the path ends here

  Stats& stats() { return stats_; }

 private:
  static constexpr std::size_t kBatch = 4096;

  const Config& config_;
  BranchSink& sink_;
  Stats stats_;
  std::vector<Branch> batch_;
  std::vector<std::uint64_t> instructions_;
  std::uint64_t pending_insns_ = 0;  // since the last branch
};

}  // namespace hodo::flow
