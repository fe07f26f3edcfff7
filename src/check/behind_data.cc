#include "behind_data.h"

#include <algorithm>
#include <array>
#include <optional>

#include "hodo/text/return_address.h"

namespace hodo::check {
namespace {

using isa::InsnClass;

// Where the function begins that an instruction lies in, as far as names and unwind tables say:
// labels of assembly are names, too.
std::optional<std::uint64_t> start_before(const End& end) {
  for (std::uint64_t i = 0; i <= std::min(end.vaddr, kMostArguments); ++i) {
    if (end.module->has(end.vaddr - i, text::kStart)) return end.vaddr - i;
  }
  return std::nullopt;
}

// A retpoline's call, which only makes room for the target: what the processor guesses spins.
bool is_spin(const text::Module& module, std::uint64_t vaddr) {
  constexpr std::array<std::uint8_t, 2> kPause = {0xf3, 0x90};
  constexpr std::array<std::uint8_t, 3> kLfence = {0x0f, 0xae, 0xe8};
  const auto code = module.bytes(vaddr);
  const auto begins = [&](const auto& with) {
    return code.size() >= with.size() && std::ranges::equal(code.first(with.size()), with);
  };
  return begins(kPause) || begins(kLfence);
}

// Whether the bytes before are a direct call of such a function: what lies behind another call with
// data may not be read as it runs, so that marks do not tell of all calls.
bool calls_taker(const text::Module& module, std::uint64_t return_address) {
  constexpr std::uint64_t kLength = 5;
  if (return_address < kLength || is_spin(module, return_address)) return false;
  const auto call = module.insn(return_address - kLength);
  return call && call->cls == InsnClass::call && call->length == kLength &&
         module.has(call->target, text::kStart | text::kLeader) &&
         text::takes_return_address(module, call->target);
}

bool takes_argument(const End& from) {
  const auto start = start_before(from);
  return start && text::takes_return_address(*from.module, *start);
}

// The instruction that ends there goes on.
bool is_gone_on_to(const text::Module& module, std::uint64_t vaddr) {
  constexpr std::uint64_t kLongest = 15;
  for (std::uint64_t i = 1; i <= std::min(vaddr, kLongest); ++i) {
    if (!module.has(vaddr - i, text::kInsn)) continue;
    const auto insn = module.insn(vaddr - i);
    return insn && insn->length == i && !isa::is_branch(insn->cls);
  }
  return false;
}

// The function at `target` is that of `inside`, or goes on into it at its end.
bool goes_on_into(const text::Module& module, std::uint64_t target, std::uint64_t inside) {
  if (module.same_function(target, inside)) return true;
  const text::Function* first = module.function(target);
  const text::Function* second = module.function(inside);
  return first != nullptr && second != nullptr && first->end == second->begin &&
         is_gone_on_to(module, second->begin);
}

// Such a call lies before `vaddr`, at most so many bytes.
bool is_behind_taker(const text::Module& module, std::uint64_t vaddr, std::uint64_t most) {
  for (std::uint64_t i = 1; i <= std::min(vaddr, most); ++i) {
    if (calls_taker(module, vaddr - i)) return true;
  }
  return false;
}

}  // namespace

bool is_behind_arguments(const End& from, const End& return_address, const End& to) {
  if (!from.known() || !to.known() || return_address.module != to.module) return false;
  const std::uint64_t distance = to.vaddr - return_address.vaddr;
  if (distance == 0 || distance > kMostArguments) return false;
  return calls_taker(*to.module, return_address.vaddr) ||
         (!is_spin(*to.module, return_address.vaddr) && takes_argument(from));
}

bool goes_behind_arguments(const Edge& edge) {
  const End& to = edge.to;
  const bool returns = edge.branch.kind == BranchKind::ret && !to.has(text::kReturnSite);
  if (!returns && edge.branch.kind != BranchKind::ijmp) return false;
  if (!edge.from.known() || !to.known()) return false;
  if (!takes_argument(edge.from)) return false;
  for (std::uint64_t i = 1; i <= std::min(to.vaddr, kMostArguments); ++i) {
    if (to.module->has(to.vaddr - i, text::kReturnSite)) return true;
  }
  return is_behind_taker(*to.module, to.vaddr, kMostArguments);
}

bool goes_on_behind_own_return(const Edge& edge) {
  constexpr std::uint64_t kCall = 5;
  constexpr std::uint64_t kRet = 1;
  const End& to = edge.to;
  if (!edge.from.known() || edge.from.module != to.module || to.vaddr < kCall + kRet) return false;
  const auto ret = to.module->insn(to.vaddr - kRet);
  const auto call = to.module->insn(to.vaddr - kRet - kCall);
  return ret && ret->cls == InsnClass::ret && ret->length == kRet && call &&
         call->cls == InsnClass::call && call->length == kCall &&
         goes_on_into(*to.module, call->target, edge.from.vaddr);
}

bool may_be_behind_arguments(const End& end) {
  // Code that is read from the wrong place on is soon read as it is.
  constexpr std::uint64_t kUntilInStep = 64;
  return is_behind_taker(*end.module, end.vaddr, kMostArguments + kUntilInStep);
}

bool is_behind_gap(const End& return_address, const End& to) {
  if (!to.known() || return_address.module != to.module) return false;
  const std::uint64_t distance = to.vaddr - return_address.vaddr;
  if (distance == 0 || distance > kWidestGap || !to.has(text::kLeader)) return false;
  const auto insn = to.module->insn(return_address.vaddr);
  return !insn || insn->cls == InsnClass::far_ret || insn->cls == InsnClass::int_ ||
         insn->cls == InsnClass::iret;
}

}  // namespace hodo::check
