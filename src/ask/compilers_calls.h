// Calls of the C library's functions that one build of a file has and the other need not have:
// compilers do their work in place ("strlen"), call them where a loop does what they do ("memset"),
// or call them once in front of a loop ("__ctype_b_loc").
#pragma once

#include <cstdint>

#include "hodo/flow/branch.h"
#include "neutral.h"

namespace hodo::ask {

// Leaves them out of a thread's path, with all that is done for them: the look-up of a function
// that is called for the first time, too.
class CompilersCalls {
 public:
  explicit CompilersCalls(Neutral& neutral) : neutral_(neutral) {}

  // Whether the branch is a part of one; branches have to come one after the other. Where a jump
  // made the call, its return is the caller's, and becomes that.
  bool has(std::uint32_t space, Branch& branch) {
    if (depth_ == 0) return begins(space, branch);
    if (branch.kind == BranchKind::lost || neutral_.in_rebuilt_code(space, branch)) {
      depth_ = 0;  // a signal's handler, or a longjmp
      return begins(space, branch);
    }
    if (is_call(branch)) ++depth_;
    if (branch.kind == BranchKind::ret) --depth_;
    if (depth_ != 0 || jumped_from_ == 0) return true;
    branch.from = jumped_from_;
    return false;
  }

 private:
  static bool is_call(const Branch& branch) {
    return branch.kind == BranchKind::call || branch.kind == BranchKind::icall;
  }
  bool begins(std::uint32_t space, const Branch& branch) {
    if (!neutral_.calls_as_compilers_do(space, branch)) return false;
    depth_ = 1;
    jumped_from_ = is_call(branch) ? 0 : branch.from;
    return true;
  }

  Neutral& neutral_;
  int depth_ = 0;                  // calls less returns; 0: in none
  std::uint64_t jumped_from_ = 0;  // 0: it was called
};

}  // namespace hodo::ask
