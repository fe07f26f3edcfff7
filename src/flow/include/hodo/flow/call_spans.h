// Calls that the decoder follows by itself: of most branches it is known what they do to the calls
// that are open, whatever these are. So a sink that follows calls (BranchSink::call_judge) says it
// once for each branch of the code, and hears of many branches at once: what they leave open, what
// of the calls before they closed, and how many came and went.
#pragma once

#include <cstdint>

#include "hodo/flow/branch.h"

namespace hodo::flow {

// What a branch does to the open calls.
struct CallOp {
  enum class Kind : std::uint8_t {
    other,  // depends on more: the branch has to come
    stays,  // nothing: it stays in the function
    call,   // opens a call of `callee`, which returns to behind the branch
    ret,   // closes the innermost call and those that were jumped to from it, if it leads behind it
    tail,  // opens a call of `callee` that ends together with the one below, unless that or one
           // that was jumped to from it is of the same function
    enters,  // the innermost call, of a stub, becomes one of `callee`
  };
  static constexpr std::uint32_t kMostCallees = std::uint32_t{1} << 23;

  Kind kind = Kind::other;
  bool stub = false;         // `callee` is one
  bool noted = false;        // of a call: where it returns to is told each time (Transfers::noted)
  bool single = false;       // its calls are told one by one, too (CallJudge::is_single)
  std::uint32_t callee = 0;  // the judge's number of it, less than kMostCallees
  std::uint32_t function = 0;  // likewise of its function: several callees may be of one
};

// Any thread may ask at any time.
class CallJudge {
 public:
  virtual ~CallJudge() = default;
  // What op() says at one time holds at others of the same number.
  virtual std::uint64_t judged_by(std::uint64_t time) const = 0;
  // Of a branch that was taken.
  virtual CallOp op(const Branch& branch) const = 0;
  // Whether calls of a callee that op() named as `single` are still to be told one by one.
  virtual bool is_single(std::uint32_t /*callee*/) const { return false; }
};

// A call that was opened in a span and is open at its end. Branches and instructions are counted
// from where the span begins.
struct OpenedCall {
  std::uint64_t returns = 0;        // where it returns to; see is_stub() and was_jumped_to()
  std::uint32_t at = 0;             // the branch in the book (TransferBook) that opened it
  std::uint32_t callee = 0;         // CallOp's
  std::uint32_t branches = 0;       // with the one that led into it, behind a stub on the way
  std::uint32_t insns = 0;          // likewise
  std::uint32_t made_branches = 0;  // before the one that opened it,
  std::uint32_t made_insns = 0;     // and instructions between them

  // Of a stub that has not been left yet. No address has this bit, but those of which it is a sign.
  static constexpr std::uint64_t kStub = std::uint64_t{1} << 62;
  bool is_stub() const { return ((returns ^ returns << 1) >> 63) != 0; }
  // The same of CallOp::noted. Never one that was jumped to.
  static constexpr std::uint64_t kNoted = std::uint64_t{1} << 60;
  bool is_noted() const { return ((returns ^ returns >> 1) >> 60 & 1) != 0; }
  // By CallOp::Kind::tail.
  bool was_jumped_to() const { return (returns & ~kStub) == 0; }
};

// A return from a call that was open where the span begins.
struct ReturnedCall {
  std::uint64_t to = 0;
  std::uint32_t at = 0;        // the return in the book
  std::uint32_t branches = 0;  // with the return
  std::uint32_t insns = 0;
  std::uint32_t since = 0;  // instructions between the branch before and the return
};

// One call that began and ended in a span. Branches and instructions are counted from where that
// begins.
struct SingleCall {
  // Instead of a callee: the innermost call that was open before the span, once `returned` of it
  // are closed.
  static constexpr std::uint32_t kOpenBefore = ~std::uint32_t{0};

  std::uint32_t callee = 0;        // CallOp's
  std::uint32_t caller = 0;        // likewise, of the innermost call around it that is of no stub
  std::uint32_t returned = 0;      // so many of the span's have been closed before it
  std::uint32_t at = 0;            // the branch in the book that opened it
  std::uint32_t branches = 0;      // with the one that led into it, behind a stub on the way
  std::uint32_t insns = 0;         // likewise
  std::uint32_t end_branches = 0;  // with the one that ended it
  std::uint32_t end_insns = 0;
};

// A row of branches, of one time.
struct CallSpan {
  std::uint32_t branches = 0;
  std::uint32_t insns = 0;     // with the last branch
  std::uint32_t returned = 0;  // so many of Transfers::returned, behind those of the spans before,
  std::uint32_t opened = 0;    // and of Transfers::opened: outermost first,
  std::uint32_t singles = 0;   // and of Transfers::singles: in the order in which they ended,
  std::uint32_t noted = 0;     // and of Transfers::noted: in order
  // The last branches that led into a call, and back from one that was opened in the span; 0: none.
  std::uint32_t last_call = 0;
  std::uint32_t last_return = 0;
  // The first and the last row of the book in it; of the last one what Transfer has of it.
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::uint32_t since = 0;
  std::uint64_t to = 0;
};

// Where nobody wants lines (BranchSink::wants_lines), spans are only summed up, by call path.

// A path of calls that began in a span, or what they began in.
struct CalledPath {
  // Instead of a callee: the innermost call that is open, where the span begins, or when one more
  // of Transfers::returned has been closed.
  static constexpr std::uint32_t kOpenBefore = ~std::uint32_t{0};

  std::uint32_t parent = 0;  // number of a path of the span, before this one's
  std::uint32_t callee = 0;  // CallOp's
  std::uint32_t calls = 0;   // those of stubs are their caller's until they lead elsewhere
  std::uint32_t insns = 0;   // in the callee itself
};

// A call that a span leaves open.
struct LeftOpen {
  std::uint64_t returns = 0;  // as OpenedCall's
  std::uint32_t at = 0;       // likewise
  std::uint32_t callee = 0;
  std::uint32_t path = 0;  // number of its path in the span; a stub's is its caller's

  bool is_stub() const { return OpenedCall{.returns = returns}.is_stub(); }
  bool is_noted() const { return OpenedCall{.returns = returns}.is_noted(); }
  bool was_jumped_to() const { return OpenedCall{.returns = returns}.was_jumped_to(); }
};

struct SummedSpan {
  std::uint32_t paths = 0;  // so many of Transfers::paths, behind those of the spans before: in the
                            // order in which they began, the first one kOpenBefore
  std::uint32_t returned = 0;  // and of Transfers::returned, of which only `to` and `at` are told
  std::uint32_t open = 0;      // and of Transfers::left_open: outermost first,
  std::uint32_t noted = 0;     // and of Transfers::noted: in order
  // Of the span's instructions, those up to the first branch of which it is known what it is, with
  // it; and that branch, in the book.
  std::uint32_t insns = 0;
  std::uint32_t first = 0;
};

// So many calls of it began and ended in spans.
struct PassedCalls {
  std::uint32_t callee = 0;
  std::uint32_t count = 0;
};

}  // namespace hodo::flow
