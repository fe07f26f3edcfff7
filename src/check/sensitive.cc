#include "sensitive.h"

#include <algorithm>
#include <optional>
#include <span>

#include "hodo/base/byte_reader.h"
#include "hodo/text/names.h"
#include "pointer.h"
#include "resolver.h"
#include "wrapper.h"

namespace hodo::check {
namespace {

std::string_view sensitive_name(const End& end) {
  const text::Module& module = *end.module;
  if (end.has(text::kPlt)) {
    const std::string_view name = module.callee_name(end.vaddr);
    return text::is_sensitive(name) ? name : std::string_view();
  }
  if (!end.has(text::kStart)) return {};
  for (const symbol::Symbol& symbol : module.names_at(end.vaddr)) {
    // A program may call what is its own as it likes.
    if ((symbol.global || is_libc(module)) && text::is_sensitive(symbol.name)) return symbol.name;
  }
  for (const std::string_view name : module.exported_names(end.vaddr)) {
    if (text::is_sensitive(name)) return name;
  }
  return {};
}

// call or jmp [register + distance]: FF /2, /4 (SDM, "CALL", "JMP").
std::optional<std::int32_t> distance_of(std::span<const std::uint8_t> code) {
  ByteReader reader(code);
  const auto opcode = reader.read<std::uint8_t>();
  const auto modrm = reader.read<std::uint8_t>();
  if (!modrm || *opcode != 0xff) return std::nullopt;
  const int what = *modrm >> 3 & 7;
  if ((what != 2 && what != 4) || (*modrm & 7) == 4) return std::nullopt;
  if (*modrm >> 6 == 1) return reader.read<std::int8_t>();
  return *modrm >> 6 == 2 ? reader.read<std::int32_t>() : std::nullopt;
}

// In a file of i386 with one GOT for all, a call without PLT looks as one of a virtual function. If
// it is, it leads to what the slot at this distance is for by chance only.
bool is_by_slot(const Edge& edge) {
  const text::Module& caller = *edge.from.module;
  if (caller.mode() != isa::Mode::bits32 || !caller.got()) return false;
  const auto distance = distance_of(caller.bytes(edge.from.vaddr));
  if (!distance) return false;
  const std::uint64_t address = *caller.got() + static_cast<std::uint64_t>(std::int64_t{*distance});
  return std::ranges::any_of(caller.slots(), [&](const text::Slot& slot) {
    return slot.address == (address & 0xffffffff) &&
           is_called(*edge.to.module, edge.to.vaddr, slot.name);
  });
}

// The calling function itself has put it into the register, perhaps as one of several.
bool is_by_register(const Edge& edge) {
  const text::Module& caller = *edge.from.module;
  const text::Module::MayCall may = caller.may_call(edge.from.vaddr);
  const auto leads = [&](std::string_view name) {
    return is_called(*edge.to.module, edge.to.vaddr, name);
  };
  if (std::ranges::any_of(may.names, leads)) return true;
  const auto same = [&](std::uint64_t address) { return address == edge.to.vaddr; };
  return &caller == edge.to.module && std::ranges::any_of(may.addresses, same);
}

// The calling file itself asks the dynamic linker for it, by dlsym, and keeps it where the pointer
// is read.
bool is_asked_for(const Edge& edge) {
  const auto names = edge.from.module->asked_by_name(edge.from.vaddr);
  return std::ranges::any_of(names, [&](std::string_view name) {
    return is_called(*edge.to.module, edge.to.vaddr, name);
  });
}

bool is_by_name(const Edge& edge) {
  const text::Module& caller = *edge.from.module;
  const text::Module& callee = *edge.to.module;
  if (const text::Slot* slot = slot_called(edge)) {
    return is_called(callee, edge.to.vaddr, slot->name);
  }
  const symbol::Symbol* symbol = caller.symbols().at(edge.from.vaddr);
  if (edge.from.has(text::kPlt)) {  // through a slot that the analysis does not know
    return symbol == nullptr || is_called(callee, edge.to.vaddr, caller.callee_name(symbol->start));
  }
  if (is_resolver(edge.from) || is_by_slot(edge) || is_by_number(edge)) return true;
  const auto held = caller.slots_held(edge.from.vaddr);
  const auto leads = [&](const text::Slot* s) { return is_called(callee, edge.to.vaddr, s->name); };
  if (std::ranges::any_of(held, leads)) return true;
  return is_by_register(edge) || hands_on(edge);
}

bool is_own_data(const Edge& edge) {
  return std::ranges::any_of(edge.from.module->kept_pointers(), [&](const text::KeptPointer& kept) {
    return (kept.constant || text::depends_on_arguments(kept.name)) &&
           is_called(*edge.to.module, edge.to.vaddr, kept.name);
  });
}

// glibc's posix_spawn is given the exec to call, as is that of musl, whose child is called so.
bool is_spawn(const Edge& edge, std::string_view function) {
  const text::Module& module = *edge.from.module;
  if (&module != edge.to.module || !edge.to.has(text::kTaken) ||
      !text::replaces_program(function)) {
    return false;
  }
  if (is_libc(module)) return true;
  // A static program contains its libc; without symbols, exec has no name either.
  const symbol::Symbol* caller = module.symbols().at(edge.from.vaddr);
  return caller != nullptr &&
         (caller->name.starts_with("__spawni") || (caller->name == "child" && !caller->global));
}

}  // namespace

std::string_view reached_through_pointer(const Edge& edge) {
  const bool indirect =
      edge.branch.kind == BranchKind::icall || edge.branch.kind == BranchKind::ijmp;
  if (!indirect || !edge.to.known()) return {};
  const std::string_view function = sensitive_name(edge.to);
  if (function.empty() || !edge.from.known()) return function;
  const bool leads =
      is_by_name(edge) || is_own_data(edge) || is_spawn(edge, function) || is_asked_for(edge);
  return leads ? std::string_view() : function;
}

}  // namespace hodo::check
