// What a decoded session hands to whoever uses it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "hodo/flow/branch.h"
#include "hodo/flow/decoder.h"

namespace hodo::session {

// Who executed a batch of branches: the same for all branches of the batch.
struct Context {
  std::uint32_t queue = 0;  // index in Session::queues()
  std::uint32_t space =
      0;  // the address space, for Names; that of a process, which an exec goes on with
  std::int32_t pid = -1;  // -1: unknown
  std::int32_t tid = -1;
  std::int32_t cpu = -1;
  std::optional<std::uint64_t> cr3;
  friend bool operator==(const Context&, const Context&) = default;
};

// Takes the branches of a session: all of one queue before those of the next, each queue in the
// order of execution.
class BranchSink {
 public:
  virtual ~BranchSink() = default;
  // The span is only valid during the call. False stops the decoding early.
  virtual bool branches(const Context& context, std::span<const Branch> batch) = 0;
  // As flow::BranchSink's: repeats() is called in the place of branches(), where there are any.
  virtual bool wants_repeats() const { return false; }
  virtual bool repeats(const Context& context, const flow::Repeats& batch) {
    return branches(context, batch.all());
  }
  // As flow::BranchSink's: transfers() is called in the place of branches().
  virtual bool leaves_out_jumps() const { return false; }
  virtual bool may_leave_out(const Context&, std::uint64_t /*line*/, const Branch&) const {
    return false;
  }
  virtual bool wants_lines() const { return false; }
  virtual const flow::CallJudge* call_judge(const Context&) { return nullptr; }
  virtual bool transfers(const Context&, const flow::Transfers&) { return true; }
  // As flow::BranchSink's: passages() is called in the place of branches().
  virtual bool wants_passages() const { return false; }
  virtual flow::BranchSink::Judged judged(const Context&, const Branch&, std::uint64_t /*next*/) {
    return flow::BranchSink::Judged::comes;
  }
  virtual std::uint64_t judged_by(const Context&, std::uint64_t /*time*/) { return 0; }
  virtual bool passages(const Context&, const flow::Passages&) { return true; }
  // As flow::BranchSink's: written() is called in the place of branches().
  virtual bool writes() const { return false; }
  virtual std::unique_ptr<flow::BranchWriter> writer(const Context&) const { return nullptr; }
  virtual bool written(std::string_view) { return true; }
};

// Takes the code that a session ran with its counts: that of one queue before that of the next, in
// no order, the same any number of times. Conditional branches that fell through are among the
// edges.
class RunSink {
 public:
  virtual ~RunSink() = default;
  // As BranchSink::branches.
  virtual bool runs(const Context& context, std::span<const flow::RunCount> batch) = 0;
};

}  // namespace hodo::session
