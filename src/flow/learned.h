// What several packets do where a sink leaves jumps out and its calls are followed: learned when
// their bytes come again at the same place, so that from then on they need not be followed.
//
// All is counted from where they begin, as if nothing had run and no call had been open before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "hodo/flow/branch.h"
#include "hodo/flow/call_spans.h"
#include "link.h"
#include "return_guards.h"
#include "transfer_log.h"

namespace hodo::flow {

// A return from a call that was open before.
struct LearnedReturn {
  ReturnedCall call;
  std::uint32_t noted = 0;  // so many of `noted` come before it
  bool jumped = false;      // functions that were jumped to end with it: their caller must be known
};
// A jump to another function from one that was open before: only whoever knows that can tell
// whether the calls of both end together (CallOp::Kind::tail).
struct LearnedTail {
  std::uint32_t returned = 0;  // so many returns come before it
  std::uint32_t callee = 0;
};

// Lists while they are made, and as they are kept.
template <class T>
using Made = std::vector<T>;
template <class T>
using Kept = std::span<const T>;

// What CallPen has followed.
struct LearnedSpan {
  bool begun = false;  // anything
  CallSpan span;       // what it says of lists is of no account
};
template <template <class> class List>
struct LearnedCalls : LearnedSpan {
  List<LearnedReturn> returned;
  List<LearnedTail> tails;
  List<std::uint64_t> noted;
  List<OpenedCall> opened;
  List<PassedCalls> passed;
  // Of callees whose calls were told one by one then. The caller is kOpenBefore also of what any
  // call from before has called.
  List<SingleCall> singles;
};

// What SummingPen has followed.
struct LearnedSum {
  bool begun = false;
  std::uint32_t insns = 0;        // all that paths have
  std::uint32_t first_insns = 0;  // as SummedSpan has them
  std::uint32_t first = 0;
  std::uint32_t here = 0;  // the path behind the open calls
};
template <template <class> class List>
struct LearnedSums : LearnedSum {
  List<LearnedReturn> returned;
  List<LearnedTail> tails;
  List<std::uint64_t> noted;
  List<CalledPath> paths;  // in order, the first one kOpenBefore
  List<LeftOpen> open;     // each with the path below it
};

// Where a call returns to (OpenedCall, LeftOpen) that is of no stub.
template <class Call>
std::uint64_t returns_of(const Call& call) {
  return call.returns ^ (call.is_noted() ? OpenedCall::kNoted : 0);
}

// A jump to another function: whether the calls of both end together.
enum class Jump : std::uint8_t { fits, does_not_fit, hangs_on_before };
// Of one to a function where these calls are open, the innermost before `top`; function_of(call).
template <class Call, class FunctionOf>
Jump jump_to(std::uint32_t function, const Call* top, const Call* bottom, FunctionOf function_of) {
  for (const Call* call = top; call != bottom; --call) {
    if (call[-1].is_stub() || function_of(call[-1]) == function) return Jump::does_not_fit;
    if (!call[-1].was_jumped_to()) return Jump::fits;
  }
  return Jump::hangs_on_before;
}

// While calls are learned: what is done to those from before, which nobody knows.
class CallLearner {
 public:
  void begin() {
    learns_ = learnable_ = true;
    returned_.clear();
    tails_.clear();
  }
  void end() { learns_ = false; }
  void give_up() { learnable_ = false; }
  bool learns() const { return learns_; }
  bool learnable() const { return learnable_; }  // not given up since begin()
  std::size_t returned() const { return returned_.size(); }
  void come_back(const LearnedReturn& by) { returned_.push_back(by); }
  // What hangs on calls from before is taken on trust, and checked when it is put down.
  bool may_jump(Jump jump, std::uint32_t callee) {
    if (jump != Jump::hangs_on_before || !learns_) return jump == Jump::fits;
    tails_.push_back({static_cast<std::uint32_t>(returned_.size()), callee});
    return true;
  }
  template <class Learned>
  void hand_over(Learned& out) const {
    out.returned = returned_;
    out.tails = tails_;
  }

 private:
  bool learns_ = false;
  bool learnable_ = false;
  std::vector<LearnedReturn> returned_;
  std::vector<LearnedTail> tails_;
};

// Whether returns and jumps that were learned would do the same where these calls are open, the
// innermost before `top`; may_jump(callee, top) says it of a jump.
template <class Learned, class Call, class MayJump>
bool fits_calls(const Learned& learned, const Call* top, const Call* bottom, MayJump may_jump) {
  auto tail = learned.tails.begin();
  const auto jumps_fit = [&](std::size_t returned) {
    for (; tail != learned.tails.end() && tail->returned == returned; ++tail) {
      if (!may_jump(tail->callee, top)) return false;
    }
    return true;
  };
  for (std::size_t i = 0; i < learned.returned.size(); ++i) {
    if (!jumps_fit(i)) return false;
    const LearnedReturn& one = learned.returned[i];
    const Call* call = top;
    while (call != bottom && call[-1].was_jumped_to()) --call;
    if (call == bottom) {
      if (call != top || one.jumped) return false;
      continue;
    }
    if (returns_of(call[-1]) != one.call.to) return false;
    top = call - 1;
  }
  return jumps_fit(learned.returned.size());
}

// What TransferPen has put down.
struct LearnedTransfers {
  LeftOut left;               // behind all that calls have been followed through
  std::uint64_t pending = 0;  // instructions since the last branch
  std::array<std::uint32_t, kBranchKinds> branches{};
  std::uint32_t not_taken = 0;
  std::uint32_t instructions = 0;
  // As TransferPen has them.
  Link last = kNoLink;
  std::uint64_t last_insns = 0;
  std::uint64_t last_to = 0;
  bool told = false;
};

// A unit of code (kCodeUnitBits) by its number, and the first step that ran in it.
struct LearnedUnit {
  std::uint32_t unit = 0;
  Link step = kNoLink;
};

// A call that it leaves on the return stack.
struct LearnedPush {
  std::uint64_t returns = 0;
  Link step = kNoLink;  // there, if it is known
};

template <bool kExact, template <class> class List = Made>
struct Learned {
  std::conditional_t<kExact, LearnedCalls<List>, LearnedSums<List>> calls;
  LearnedTransfers rest;
  List<LearnedUnit> units;  // with kExact, in the order in which they ran first,
  std::uint32_t round = 0;  // and when that was told last (StepGraph::round)
  List<ReturnGuard> guards;
  List<LearnedPush> pushed;  // the innermost call last
  Link to = kNoLink;         // where it leads
};

}  // namespace hodo::flow
