#include "branch_pointer.h"

#include <algorithm>

#include "hodo/isa/insn.h"

namespace hodo::text {
namespace {

std::optional<isa::Insn> insn_at(const TextMap& text, std::uint64_t vaddr) {
  return isa::decode(text.bytes(vaddr), vaddr, isa::Mode::bits64);
}

// MOV [RSP], REG
std::optional<isa::Pointer> stored_at(const TextMap& text, std::uint64_t vaddr) {
  constexpr std::uint8_t kTop = 4;
  const auto move = isa::decode_move(text.bytes(vaddr), vaddr);
  if (!move || move->what != isa::Move::What::store) return std::nullopt;
  const isa::Memory& to = move->memory;
  const bool top = to.base == kTop && to.index == isa::kNoRegister && to.displacement == 0;
  return top ? std::optional(isa::Pointer{.in = move->from}) : std::nullopt;
}

// `store`: where the return's target is stored, with that right before it.
std::optional<isa::Pointer> pointer_of_retpoline(const TextMap& text, std::uint64_t store) {
  const auto pointer = stored_at(text, store);
  const auto insn = pointer ? insn_at(text, store) : std::nullopt;
  if (!insn || (text.marks(store + insn->length) & kStoredTarget) == 0) return std::nullopt;
  return pointer;
}

std::optional<isa::Pointer> pointer_of_return(const TextMap& text, std::uint64_t vaddr) {
  constexpr std::uint64_t kLongest = 15;
  if ((text.marks(vaddr) & (kPushedTarget | kStoredTarget)) == 0) return std::nullopt;
  for (std::uint64_t length = 1; length <= std::min(kLongest, vaddr); ++length) {
    const std::uint64_t before = vaddr - length;
    if ((text.marks(before) & kInsn) == 0) continue;
    const auto insn = insn_at(text, before);
    if (!insn || insn->length != length) continue;
    const auto stored = stored_at(text, before);
    return stored ? stored : isa::decode_push(text.bytes(before), before);
  }
  return std::nullopt;
}

}  // namespace

std::optional<isa::Pointer> branch_pointer(const TextMap& text, std::uint64_t vaddr) {
  using Class = isa::InsnClass;
  const auto insn = insn_at(text, vaddr);
  if (!insn) return std::nullopt;
  if (insn->cls == Class::ret) return pointer_of_return(text, vaddr);
  const bool direct =
      insn->cls == Class::call || insn->cls == Class::jmp || insn->cls == Class::cond;
  if (!direct) return isa::decode_pointer(text.bytes(vaddr), vaddr);
  const auto first = insn_at(text, insn->target);
  if (!first) return std::nullopt;
  const bool calls = first->cls == Class::call;
  return pointer_of_retpoline(text, calls ? first->target : insn->target);
}

}  // namespace hodo::text
