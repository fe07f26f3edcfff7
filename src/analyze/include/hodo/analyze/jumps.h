// What sampling profilers gather of branch stacks, exactly: which branches were taken how often,
// and which straight lines of code were executed between two of them. For compilers and linkers
// that optimise by that.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hodo/session/names.h"
#include "hodo/session/sink.h"

namespace hodo::analyze {

// Addresses are those of the file before relocation.
struct Jump {
  static constexpr std::uint64_t kElsewhere = ~std::uint64_t{0};  // not in this file

  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t count = 0;
  std::uint64_t mispredicted = 0;  // of them, as far as the source says it
};
// From where a branch led to, through the instruction that branches next.
struct StraightLine {
  std::uint64_t first = 0;
  std::uint64_t last = 0;  // of the last instruction
  std::uint64_t count = 0;
  bool stub = false;  // begins in a PLT stub
};
struct FileJumps {
  std::string path;                 // raw
  std::uint64_t base = 0;           // where its first segment is to lie
  std::vector<Jump> jumps;          // by from, to
  std::vector<StraightLine> lines;  // by first, last
  std::uint64_t dropped = 0;        // branches and lines of all files that are in none: too many
};

// Gathers in memory bounded by the distinct code that ran. System calls and interruptions behind
// which the path goes on where it was are no branches here.
class Jumps final : public session::BranchSink {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 21;

  // `names`, those of the session that is decoded, must outlive this.
  explicit Jumps(const session::Names& names, std::size_t most = kMost);
  ~Jumps() override;

  bool branches(const session::Context& context, std::span<const Branch> batch) override;

  // Of every file that ran, those with the most executions first.
  std::vector<FileJumps> files() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hodo::analyze
