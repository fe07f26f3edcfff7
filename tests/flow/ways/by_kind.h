#pragma once

#include <cstdint>

#include "hodo/flow/call_spans.h"
#include "hodo/flow/decoder.h"
#include "told.h"

namespace hodo::flow::ways {

// Calls and returns are what they are, and nothing else is; with `tails` some jumps lead to other
// functions, too.
struct ByKind final : CallJudge {
  explicit ByKind(bool tails_too = false) : tails(tails_too) {}
  const bool tails;

  static std::uint32_t callee(std::uint64_t to) { return static_cast<std::uint32_t>(to >> 4 & 63); }
  std::uint64_t judged_by(std::uint64_t time) const override { return 1 + time / 16 % 3; }
  // Some are told one by one, and of half of these it is soon enough.
  static bool may_be_single(std::uint32_t callee) { return callee % 2 == 0; }
  bool is_single(std::uint32_t callee) const override { return callee % 4 == 0; }
  // Half of the calls, by where they are.
  static bool is_noted(const Branch& call) {
    return call.to != 0 && (call.from * 0x9e3779b97f4a7c15u >> 40 & 1) != 0;
  }
  // Half of the jumps that are not left out.
  bool is_tail(const Branch& b) const {
    return tails && b.kind == BranchKind::jmp && !is_left_out(b) &&
           (b.from * 0x9e3779b97f4a7c15u >> 41 & 1) != 0;
  }
  CallOp op(const Branch& b) const override {
    // Where a return leads is not asked.
    if (b.flags != 0 || (b.to == 0 && b.kind != BranchKind::ret)) return {};
    switch (b.kind) {
      case BranchKind::ret:
        return {.kind = CallOp::Kind::ret};
      case BranchKind::call:
      case BranchKind::icall:
        return {.kind = CallOp::Kind::call,
                .noted = is_noted(b),
                .single = may_be_single(callee(b.to)),
                .callee = callee(b.to),
                .function = callee(b.to)};
      case BranchKind::jmp:
        if (is_tail(b)) {
          return {.kind = CallOp::Kind::tail, .callee = callee(b.to), .function = callee(b.to)};
        }
        return {.kind = CallOp::Kind::stays};
      case BranchKind::cond:
      case BranchKind::ijmp:
        return {.kind = CallOp::Kind::stays};
      default:
        return {};
    }
  }
};

}  // namespace hodo::flow::ways
