#include "walker.h"

#include <algorithm>

#include "hodo/flow/branch_kind.h"

namespace hodo::flow {
namespace {

using isa::InsnClass;

constexpr bool is_direct(InsnClass cls) { return cls == InsnClass::jmp || cls == InsnClass::call; }

}  // namespace

// Tells that a walk which no packet steers goes round in circles (Brent's algorithm: compare with a
// position that is renewed at doubling distances), or is longer than any that makes sense.
class Walker::LoopGuard {
 public:
  explicit LoopGuard(std::uint64_t start) : mark_(start) {}
  bool circles(std::uint64_t now_at) {
    if (now_at == mark_ || ++steps_ > kMost) return true;
    if (steps_ == renew_at_) {
      mark_ = now_at;
      renew_at_ *= 2;
    }
    return false;
  }

 private:
  // Blocks, each a direct branch or 256 instructions; perf gives up after 10000 branches. Where the
  // code is made up, every packet may cost so many.
  static constexpr std::uint32_t kMost = 4096;
  std::uint64_t mark_;
  std::uint32_t steps_ = 0;
  std::uint32_t renew_at_ = 2;
};

Walker::Walker(BlockCache& blocks, const Config& config, Output& out)
    : mode(config.initial_mode), blocks_(blocks), filter_(config.filter), out_(out) {}

void Walker::emit(std::uint64_t from, std::uint64_t to, BranchKind kind, std::uint8_t flags) {
  if (in_tx) flags |= kInTx;
  out_.branch({.from = from, .to = to, .time = time, .kind = kind, .flags = flags});
}

bool Walker::outside_filter(std::uint64_t address) const {
  return !filter_.empty() && std::ranges::none_of(filter_, [&](const IpRange& range) {
    return range.lo <= address && address <= range.hi;
  });
}

Halt Walker::no_block() const {
  return blocks_.missing() == BlockCache::Missing::code ? Halt::no_code : Halt::bad_code;
}

// The block's instructions retire.
void Walker::execute(const Block& block) {
  if (out_.wants_instructions()) {
    step_to(last_ip(ip, block));
    out_.instruction(ip);
    out_.count(1);
    ip = wrap(ip + block.last_size, mode);
  } else {
    out_.count(block.insns);
    out_.ran(ip, last_ip(ip, block));
    ip = end_ip(ip, block);
  }
}

// A block that needs no packet.
void Walker::pass(const Block& block) {
  if (!is_direct(block.cls)) return execute(block);
  const std::uint64_t from = last_ip(ip, block);
  const std::uint64_t to = target_ip(ip, block);
  execute(block);
  // Calls to the next instruction get its address and have no return (SDM, as above).
  if (block.cls == InsnClass::call && block.displacement != 0) returns_.push(ip);
  emit(from, to, describe(block.cls).kind, 0);
  ip = to;
}

// Takes a walk back that went in circles: it is no path.
Halt Walker::undo(const Start& start) {
  out_.take_back(start.mark);
  ip = start.ip;
  return Halt::endless;
}

Halt Walker::to_decision(const Block*& block) {
  LoopGuard guard(ip);
  const Start start = here();
  for (;;) {
    block = block_here();
    if (block == nullptr) return no_block();
    if (needs_packet(block->cls)) return Halt::decision;
    pass(*block);
    if (guard.circles(ip)) {
      return undo(start);
    }
  }
}

void Walker::take_cond(const Block& block, bool taken) {
  const std::uint64_t from = last_ip(ip, block);
  const std::uint64_t to = taken ? target_ip(ip, block) : end_ip(ip, block);
  execute(block);
  emit(from, to, BranchKind::cond, taken ? 0 : kNotTaken);
  ip = to;
}

void Walker::take_indirect(const Block& block, std::uint64_t to) {
  const std::uint64_t from = last_ip(ip, block);
  const auto [kind, flags] = describe(block.cls);
  const InsnClass cls = block.cls;
  execute(block);
  if (cls == InsnClass::icall) returns_.push(ip);
  // Every near return pops, also one whose target did not match.
  if (cls == InsnClass::ret) (void)returns_.pop();
  emit(from, to, kind, flags);
  ip = to;
}

std::optional<std::uint64_t> Walker::take_return(const Block& block) {
  const auto to = returns_.pop();
  if (!to) return std::nullopt;
  const std::uint64_t from = last_ip(ip, block);
  execute(block);
  ip = wrap(*to, mode);
  emit(from, ip, BranchKind::ret, 0);
  return ip;
}

// Whether one of the instructions of the block at ip starts at `wanted`.
bool Walker::starts_insn(std::uint64_t wanted, std::uint64_t start, const Block& block) const {
  if (wanted - start > block.size - block.last_size) return false;
  std::uint64_t at = start;
  while (at - start < wanted - start) {
    const std::uint8_t size = blocks_.insn_size(at, mode, time);
    if (size == 0) return false;
    at += size;
  }
  return at == wanted;
}

bool Walker::in_line(std::uint64_t from, std::uint64_t to) {
  const Block* const block = blocks_.at(from, mode, time);
  return block != nullptr && starts_insn(to, from, *block);
}

// Executes up to `wanted`, which starts an instruction of the block at ip.
void Walker::step_to(std::uint64_t wanted) {
  while (ip != wanted) {
    const std::uint8_t size = blocks_.insn_size(ip, mode, time);
    if (size == 0) return;
    if (out_.wants_instructions()) out_.instruction(ip);
    out_.count(1);
    out_.ran(ip, ip);
    ip = wrap(ip + size, mode);
  }
}

Halt Walker::to_ip(std::uint64_t wanted) {
  LoopGuard guard(ip);
  const Start start = here();
  while (ip != wanted) {
    const Block* block = block_here();
    if (block == nullptr) return no_block();
    if (starts_insn(wanted, ip, *block)) {
      step_to(wanted);
      break;
    }
    if (needs_packet(block->cls)) return Halt::decision;
    pass(*block);
    if (ip != wanted && guard.circles(ip)) {
      return undo(start);
    }
  }
  return Halt::arrived;
}

// The block's branch goes to `to` (0: unknown), where nothing is traced.
void Walker::leave(const Block& block, std::uint64_t to) {
  const std::uint64_t from = last_ip(ip, block);
  auto [kind, flags] = describe(block.cls);
  if (kind == BranchKind::unknown) kind = BranchKind::end;  // as of XABORT
  if (block.cls == InsnClass::cond && to == end_ip(ip, block)) flags |= kNotTaken;
  if (block.cls == InsnClass::ret) (void)returns_.pop();
  execute(block);
  emit(from, to, kind, static_cast<std::uint8_t>(flags | kTraceEnd));
  enabled = false;
}

// TIP.PGD stands in the place of the TNT bit of a conditional branch that leaves the filter.
Halt Walker::leave_cond(const Block& block, std::optional<std::uint64_t> to) {
  const std::uint64_t target = target_ip(ip, block);
  const bool fits = to ? *to == target || *to == end_ip(ip, block) : outside_filter(target);
  if (!fits) return Halt::decision;
  leave(block, to.value_or(target));
  return Halt::arrived;
}

// Whether tracing ends with this block; nullopt: not here.
std::optional<Halt> Walker::ends_at(const Block& block, std::optional<std::uint64_t> to) {
  if (is_direct(block.cls)) {
    const std::uint64_t target = target_ip(ip, block);
    // The packet may come without IP here, too (erratum SKL014); without a filter nobody can tell.
    if (!outside_filter(target) && to != target) return std::nullopt;
    leave(block, target);
    return Halt::arrived;
  }
  if (block.cls == InsnClass::cond) return leave_cond(block, to);
  const bool cr3_filter = block.cls == InsnClass::mov_cr3 && !to;
  if (!needs_packet(block.cls) && !cr3_filter) return std::nullopt;
  leave(block, to.value_or(0));
  return Halt::arrived;
}

Halt Walker::to_trace_end(std::optional<std::uint64_t> to) {
  LoopGuard guard(ip);
  const Start start = here();
  for (;;) {
    const Block* block = block_here();
    if (block == nullptr) return no_block();
    if (const auto halt = ends_at(*block, to)) return *halt;
    pass(*block);
    if (guard.circles(ip)) {
      return undo(start);
    }
  }
}

std::optional<std::uint64_t> Walker::through(isa::InsnClass cls) {
  LoopGuard guard(ip);
  const Start start = here();
  const ReturnStack returns = returns_;
  for (;;) {
    const Block* block = block_here();
    if (block == nullptr || needs_packet(block->cls)) break;
    const bool found = block->cls == cls;
    const std::uint64_t at = last_ip(ip, *block);
    pass(*block);
    if (found) return at;
    if (guard.circles(ip)) break;
  }
  (void)undo(start);
  returns_ = returns;
  return std::nullopt;
}

bool Walker::is_at(isa::InsnClass cls) {
  const Block* block = block_here();
  return block != nullptr && block->insns == 1 && block->cls == cls;
}

void Walker::execute_if(isa::InsnClass cls) {
  if (is_at(cls)) execute(*block_here());
}

}  // namespace hodo::flow
