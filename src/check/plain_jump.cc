#include "plain_jump.h"

namespace hodo::check {
namespace {

bool is_jump(const Branch& branch) {
  return (branch.kind == BranchKind::cond || branch.kind == BranchKind::jmp) && branch.flags == 0;
}

}  // namespace

std::optional<std::uint64_t> next_of_plain_jump(const Branch& branch, const End& from,
                                                const End& to) {
  constexpr text::Marks kNoPlainJump = text::kPlt | text::kSwitchesStack | text::kResumes |
                                       text::kPushedTarget | text::kStoredTarget;
  constexpr text::Marks kLedTo = text::kLeader | text::kAwaited;
  constexpr text::Marks kOfNoNote = text::kInsn | text::kFlow | text::kTableTarget | kLedTo;
  if (!is_jump(branch) || !from.is_as_its_file() || !to.is_as_its_file()) return std::nullopt;
  if (from.module != to.module || from.module->mode() != isa::Mode::bits64) return std::nullopt;
  if (!from.has(text::kInsn) || from.has(kNoPlainJump)) return std::nullopt;
  // That the text leads there is no surprise, and no handler that is known by its address alone.
  if (!to.has(kLedTo) || (to.marks & ~kOfNoNote) != 0) return std::nullopt;
  const auto insn = from.module->insn(from.vaddr);
  const auto cls = branch.kind == BranchKind::cond ? isa::InsnClass::cond : isa::InsnClass::jmp;
  if (!insn || insn->cls != cls) return std::nullopt;
  if (insn->target != to.vaddr || !lie_together(from, to)) return std::nullopt;
  return from.address + insn->length;
}

}  // namespace hodo::check
