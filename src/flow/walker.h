// Walks through the code, as far as it is told: the half of the decoder that knows instructions and
// no packets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "block_cache.h"
#include "hodo/flow/branch.h"
#include "hodo/flow/decoder.h"
#include "hodo/isa/insn.h"
#include "output.h"
#include "return_stack.h"

namespace hodo::flow {

// Where a walk came to an end.
enum class Halt : std::uint8_t {
  decision,  // before a branch that needs a packet
  arrived,   // where it was sent
  no_code,
  bad_code,
  endless,  // the code loops without a decision
};

constexpr bool needs_packet(isa::InsnClass cls) {
  using enum isa::InsnClass;
  switch (cls) {
    case other:
    case jmp:
    case call:
    case xbegin:
    case xabort:
    case mov_cr3:
    case ptwrite:
      return false;
    default:
      return true;
  }
}

class Walker {
 public:
  // All must outlive the walker.
  Walker(BlockCache& blocks, const Config& config, Output& out);

  // State that packets set. `ip` only counts while `enabled`.
  bool enabled = false;
  bool in_tx = false;
  isa::Mode mode;
  std::uint64_t ip = 0;
  std::uint64_t time = 0;

  ReturnStack& returns() { return returns_; }
  const ReturnStack& returns() const { return returns_; }
  // A branch from here on as `kind` says; for those that no instruction causes.
  void emit(std::uint64_t from, std::uint64_t to, BranchKind kind, std::uint8_t flags);

  // Goes through everything that needs no packet. On Halt::decision `block` ends with the branch
  // that needs one, ip is at its start and nothing of it is counted yet: pass it to one of the
  // functions below before any other call.
  Halt to_decision(const Block*& block);
  void take_cond(const Block& block, bool taken);
  void take_indirect(const Block& block, std::uint64_t to);
  // Pops the return stack: the target of a compressed return, if the stack has one.
  std::optional<std::uint64_t> take_return(const Block& block);

  // To the instruction at `wanted`, which is not executed yet: decision if a branch comes before
  // it.
  Halt to_ip(std::uint64_t wanted);
  // To where TIP.PGD ended the trace, with its IP if it has one, and out of it (enabled = false).
  // Halt::decision: there is a branch on the way at which tracing cannot have ended.
  Halt to_trace_end(std::optional<std::uint64_t> to);
  // Through the next instruction of class `cls` if there is one before the next decision; its
  // address. Otherwise stays where it is.
  std::optional<std::uint64_t> through(isa::InsnClass cls);

  // Whether the instruction at ip is of that class (which must end a block); executes it if so.
  bool is_at(isa::InsnClass cls);
  void execute_if(isa::InsnClass cls);

  // Whether nothing but instructions without a branch lead from one address to the other.
  bool in_line(std::uint64_t from, std::uint64_t to);

  bool outside_filter(std::uint64_t address) const;

 private:
  class LoopGuard;
  // Where a walk that may have to be taken back began. (Returns need not be: after a failure
  // the return stack is emptied before it is used again.)
  struct Start {
    Output::Mark mark;
    std::uint64_t ip;
  };
  Start here() const { return {out_.mark(), ip}; }
  Halt undo(const Start& start);
  const Block* block_here() { return blocks_.at(ip, mode, time); }
  Halt no_block() const;
  void execute(const Block& block);
  void pass(const Block& block);
  bool starts_insn(std::uint64_t wanted, std::uint64_t start, const Block& block) const;
  void step_to(std::uint64_t wanted);
  void leave(const Block& block, std::uint64_t to);
  std::optional<Halt> ends_at(const Block& block, std::optional<std::uint64_t> to);
  Halt leave_cond(const Block& block, std::optional<std::uint64_t> to);

  BlockCache& blocks_;
  std::span<const IpRange> filter_;
  Output& out_;
  ReturnStack returns_;
};

}  // namespace hodo::flow
