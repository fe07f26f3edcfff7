#include "wrapper.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "hodo/isa/insn.h"
#include "hodo/text/module.h"

namespace hodo::check {
namespace {

// Where the function with a global name lies that has this code: of what the compiler split off or
// made a copy of (popen.part.0, popen.constprop.1), the name is that of the whole up to the dot.
std::optional<std::uint64_t> global_function(const text::Module& module, std::uint64_t vaddr) {
  const symbol::Symbol* here = module.symbols().at(vaddr);
  if (here == nullptr) return std::nullopt;
  if (here->global) return here->start;
  const std::size_t dot = here->name.find('.');
  if (dot == here->name.npos) return std::nullopt;
  const auto all = module.symbols().named(here->name.substr(0, dot));
  const auto whole = std::ranges::find_if(all, &symbol::Symbol::global);
  return whole == all.end() ? std::nullopt : std::optional(whole->start);
}

// The function that this one is nothing but a jump to; else itself.
std::uint64_t behind_trampoline(const text::Module& module, std::uint64_t start) {
  const auto first = module.insn(start);
  return first && first->cls == isa::InsnClass::jmp ? first->target : start;
}

// By a direct call or jump.
bool leads_to(const text::Module& module, std::uint64_t start, std::uint64_t callee) {
  constexpr std::uint64_t kMost = 4096;
  const text::Function* function = module.function(start);
  if (function == nullptr || function->begin != start) return false;
  const std::uint64_t bytes = std::min(function->end - start, kMost);
  for (std::uint64_t at = start; at - start < bytes;) {
    const auto insn = module.insn(at);
    if (!insn) return false;
    const bool direct = insn->cls == isa::InsnClass::call || insn->cls == isa::InsnClass::jmp;
    if (direct && insn->target == callee) return true;
    at += insn->length;
  }
  return false;
}

}  // namespace

bool hands_on(const Edge& edge) {
  const text::Module& caller = *edge.from.module;
  const text::Module& callee = *edge.to.module;
  const auto has_name = [&](const symbol::Symbol& s) {
    return is_called(callee, edge.to.vaddr, s.name);
  };
  const auto whole = global_function(caller, edge.from.vaddr);
  if (whole && std::ranges::any_of(caller.names_at(*whole), has_name)) return true;
  const text::Function* here = caller.function(edge.from.vaddr);
  if (here == nullptr || &caller == &callee) return false;
  const auto leads_here = [&](const symbol::Symbol& wrapper) {
    if (!wrapper.global) return false;
    const std::uint64_t start = behind_trampoline(caller, wrapper.start);
    return start == here->begin || leads_to(caller, start, here->begin);
  };
  return std::ranges::any_of(callee.names_at(edge.to.vaddr), [&](const symbol::Symbol& name) {
    return std::ranges::any_of(caller.symbols().named(name.name), leads_here);
  });
}

}  // namespace hodo::check
