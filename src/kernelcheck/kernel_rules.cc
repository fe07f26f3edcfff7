#include "kernel_rules.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "hodo/kernelcheck/kernel_checker.h"

namespace hodo::kernelcheck {
namespace {

using session::Place;

constexpr std::array kRules = {
    check::Rule{
        "kernel.jump", check::Grade::impossible,
        "a function of the kernel jumps or calls straight into a module: its text was changed"},
    check::Rule{"kernel.pointer", check::Grade::impossible,
                "a pointer in the kernel's read-only data leads into a module"},
    check::Rule{
        "kernel.detour", check::Grade::unexplained,
        "a return leads to the beginning of a module's function: a callback of ftrace or kprobes "
        "sent it there"},
    check::Rule{"kernel.text", check::Grade::impossible,
                "the kernel's text differs from its image where none of its tables lets it"},
};

constexpr std::string_view kKernel = "[kernel]";

bool in_kernel(const Place& place) { return place.object == kKernel && !place.symbol.empty(); }
bool in_module(const Place& place) {
  return place.object.starts_with('[') && place.object != kKernel && !place.symbol.empty();
}

// Its text is written anew whenever what it stands for changes (DEFINE_STATIC_CALL), also to a
// module's function.
bool is_static_call(const Place& place) { return place.symbol.starts_with("__SCT__"); }

// Code that is neither the kernel's nor of a module in its list: ftrace's trampolines, slots of
// kprobes, BPF programs, and modules that have taken themselves out of the list.
bool is_nameless(const Place& place) { return place.object == kKernel && place.symbol.empty(); }
// As is_static_call, for BPF programs (DEFINE_BPF_DISPATCHER).
bool is_bpf_dispatcher(const Place& place) { return place.symbol.starts_with("bpf_dispatcher_"); }

std::string text_of(const Place& place) {
  std::string out = place.symbol;
  if (place.offset != 0) out += fmt::format("+{:#x}", place.offset);
  if (place.object != kKernel) out += " " + place.object;
  return out;
}

}  // namespace

std::span<const check::Rule> kernel_rules() { return kRules; }
const check::Rule& kernel_rule(KernelRule id) { return kRules[static_cast<std::size_t>(id)]; }

bool is_retpoline(const Place& place) {
  return in_kernel(place) && place.symbol.starts_with("__x86_indirect_");
}

bool is_traced_entry(const Branch& branch, const Place& from, const Place& to) {
  constexpr std::uint64_t kEndbr = 4;  // bytes
  return branch.kind == BranchKind::call && in_kernel(from) &&
         (from.offset == 0 || from.offset == kEndbr) && is_nameless(to);
}

// A direct branch of the kernel to code without a name.
std::optional<KernelVerdict> judge_nameless(const Branch& branch, const Place& from,
                                            const Place& to) {
  const bool direct = branch.kind == BranchKind::jmp || branch.kind == BranchKind::call ||
                      branch.kind == BranchKind::cond;
  if (!direct || !in_kernel(from) || is_traced_entry(branch, from, to)) return std::nullopt;
  if (is_static_call(from) || is_bpf_dispatcher(from) || is_retpoline(from)) return std::nullopt;
  return KernelVerdict{
      KernelRule::jump, check::Grade::unexplained,
      fmt::format("the text of {} was changed to lead to code of no module that the kernel lists: "
                  "a hidden module's, or a kprobe's",
                  text_of(from))};
}

std::optional<KernelVerdict> judge_kernel_branch(const Branch& branch, const Place& from,
                                                 const Place& to, const std::string& slot) {
  if (is_nameless(to)) return judge_nameless(branch, from, to);
  if (!in_module(to)) return std::nullopt;
  const bool retpoline = is_retpoline(from);
  const std::string also = slot.empty() ? "" : fmt::format("; {} leads there, too", slot);
  switch (branch.kind) {
    case BranchKind::cond:
    case BranchKind::jmp:
    case BranchKind::call:
      if (!in_kernel(from) || retpoline || is_static_call(from)) return std::nullopt;
      return KernelVerdict{KernelRule::jump, check::Grade::impossible,
                           fmt::format("the text of {} was changed to lead to {}{}", text_of(from),
                                       text_of(to), also)};
    case BranchKind::icall:
    case BranchKind::ijmp:
    case BranchKind::ret:
      if (branch.kind == BranchKind::ret && !retpoline) break;
      if (slot.empty() || in_module(from)) return std::nullopt;
      return KernelVerdict{
          KernelRule::pointer, check::Grade::impossible,
          fmt::format("{}, which is read-only, was changed to lead to {}", slot, text_of(to))};
    default:
      return std::nullopt;
  }
  if (to.offset != 0 || in_module(from)) return std::nullopt;
  return KernelVerdict{KernelRule::detour, check::Grade::unexplained,
                       fmt::format("a return leads to the beginning of {}{}", text_of(to), also)};
}

}  // namespace hodo::kernelcheck
