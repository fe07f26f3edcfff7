// What is wrong with one branch of a kernel by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "hodo/check/finding.h"
#include "hodo/flow/branch.h"
#include "hodo/session/names.h"

namespace hodo::kernelcheck {

enum class KernelRule : std::uint8_t { jump, pointer, detour, text };
const check::Rule& kernel_rule(KernelRule id);

struct KernelVerdict {
  KernelRule rule = KernelRule::jump;
  check::Grade grade = check::Grade::impossible;
  std::string reason;
};

// Both ends of `branch` lie in the kernel's half. `slot`: read-only data of the kernel that leads
// to its target, "simple_dir_operations+0x40"; empty: none does.
std::optional<KernelVerdict> judge_kernel_branch(const Branch& branch, const session::Place& from,
                                                 const session::Place& to, const std::string& slot);

// The kernel's indirect calls go through these where it guards against Spectre V2, and they end in
// a return (arch/x86/lib/retpoline.S).
bool is_retpoline(const session::Place& place);

// The first instruction of a function is where ftrace has it call (__fentry__), behind an ENDBR64
// if there is one. Its target lies outside of all functions: ftrace's trampolines do.
bool is_traced_entry(const Branch& branch, const session::Place& from, const session::Place& to);

}  // namespace hodo::kernelcheck
