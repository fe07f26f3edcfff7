// What kind of branch an instruction makes.
#pragma once

#include <cstdint>

#include "hodo/flow/branch.h"
#include "hodo/isa/insn.h"

namespace hodo::flow {

struct KindAndFlags {
  BranchKind kind = BranchKind::unknown;
  std::uint8_t flags = 0;
};

// Of a branch by its instruction; unknown for instructions that are none.
constexpr KindAndFlags describe(isa::InsnClass cls) {
  using isa::InsnClass;
  switch (cls) {
    case InsnClass::cond:
      return {BranchKind::cond};
    case InsnClass::jmp:
      return {BranchKind::jmp};
    case InsnClass::ijmp:
      return {BranchKind::ijmp};
    case InsnClass::call:
      return {BranchKind::call};
    case InsnClass::icall:
      return {BranchKind::icall};
    case InsnClass::ret:
      return {BranchKind::ret};
    case InsnClass::syscall:
      return {BranchKind::syscall};
    case InsnClass::sysret:
      return {BranchKind::sysret};
    case InsnClass::int_:
      return {BranchKind::int_};
    case InsnClass::iret:
      return {BranchKind::iret};
    case InsnClass::far_jmp:
      return {BranchKind::jmp, kFar};
    case InsnClass::far_call:
      return {BranchKind::call, kFar};
    case InsnClass::far_ret:
      return {BranchKind::ret, kFar};
    case InsnClass::vmentry:
      return {BranchKind::vmentry};
    case InsnClass::vmexit:
      return {BranchKind::vmexit};
    default:
      return {};
  }
}

}  // namespace hodo::flow
