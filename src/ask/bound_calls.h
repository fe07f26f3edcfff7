// Calls through a procedure linkage table whose functions the loader looks up when they are first
// called (System V ABI, AMD64, "Procedure Linkage Table").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hodo/flow/branch.h"
#include "neutral.h"

namespace hodo::ask {

// A branch of a thread, its number, and how many behind it are a part of it.
struct TakenBranch {
  std::uint64_t number = 0;
  std::uint32_t space = 0;
  std::uint32_t folded = 0;
  Branch branch;
};

// Has the jump of a stub lead to its function from the first call on, as it does from the second:
// which of a process's threads comes first, and has the loader look the function up, is chance. The
// stub's jump leads to the entry behind it, which jumps to the table's first, and that to the
// loader, which ends in a jump to the function.
class BoundCalls {
 public:
  explicit BoundCalls(Neutral& neutral) : neutral_(neutral) {}

  // Whether next() would give back this branch alone.
  bool passes(const Branch& branch) const {
    return stage_ == Stage::none && branch.kind != BranchKind::ijmp;
  }
  // What is known to count, now that the thread has taken this branch. Valid until the next call.
  std::span<const TakenBranch> next(const TakenBranch& taken);
  // No more will come. What a thread does that does not come back from the loader is left out.
  std::span<const TakenBranch> rest();

 private:
  // How far a call has come that may be one of these.
  enum class Stage : std::uint8_t { none, stub, first, loader };

  bool goes_on(const TakenBranch& taken);
  std::span<const TakenBranch> in_loader(const TakenBranch& taken);

  Neutral& neutral_;
  Stage stage_ = Stage::none;
  std::array<TakenBranch, 3> held_;
  std::size_t count_ = 0;
  std::array<TakenBranch, 4> out_;
  int depth_ = 0;  // in the loader: calls less returns
};

}  // namespace hodo::ask
