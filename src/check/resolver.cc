#include "resolver.h"

#include <algorithm>

#include "hodo/isa/moves.h"

namespace hodo::check {
namespace {

// Code in front of this takes the vector registers back, as _dl_runtime_resolve does that had saved
// a function's arguments: XRSTOR or FXRSTOR, 0F AE /5 and /1 with memory.
bool restores_vectors(const End& end) {
  constexpr std::uint64_t kReach = 96;
  const std::uint64_t begin = end.vaddr - std::min(end.vaddr, kReach);
  for (std::uint64_t at = begin; at < end.vaddr; ++at) {
    const auto code = end.module->bytes(at);
    if (code.size() < 3 || code[0] != 0x0f || code[1] != 0xae || code[2] >= 0xc0) continue;
    const unsigned what = code[2] >> 3 & 7u;
    if (what == 1 || what == 5) return true;
  }
  return false;
}

// Whether a call is by the register by which a jump behind a switch of the stack leads, shortly
// before: as _dl_runtime_profile calls what it has found where an auditing library wants to know
// when that returns, and jumps there where none does (glibc's sysdeps/x86_64/dl-trampoline.h).
bool calls_as_it_jumps(const End& call) {
  constexpr std::uint64_t kReach = 64;
  const text::Module& module = *call.module;
  if (module.mode() != isa::Mode::bits64) return false;
  const auto pointer = isa::decode_pointer(module.bytes(call.vaddr), call.vaddr);
  if (!pointer || pointer->in == isa::kNoRegister) return false;
  const std::uint64_t begin = call.vaddr - std::min(call.vaddr, kReach);
  for (std::uint64_t at = begin; at < call.vaddr; ++at) {
    if (!module.has(at, text::kSwitchesStack) || !module.same_function(at, call.vaddr)) continue;
    const auto jump = isa::decode_pointer(module.bytes(at), at);
    if (jump && jump->in == pointer->in) return true;
  }
  return false;
}

}  // namespace

bool is_resolver(const End& from) {
  if (from.has(text::kSwitchesStack)) {
    if (demangles(from)) return false;  // longjmp, which ld.so has for its own
  } else if (!calls_as_it_jumps(from)) {
    return false;
  }
  if (is_dynamic_linker(*from.module)) return true;
  const symbol::Symbol* symbol = from.module->symbols().at(from.vaddr);
  if (symbol != nullptr) return symbol->name.starts_with("_dl_");
  const bool fixed = from.module->elf().interpreter.empty() && from.module->soname().empty();
  return fixed && restores_vectors(from);
}

}  // namespace hodo::check
