// call.function: whole functions that are reached by a pointer which no file has to them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "argument_counts.h"
#include "edge_rules.h"
#include "pointer.h"
#include "sensitive.h"
#include "virtual_sites.h"

namespace hodo::check {
namespace {

using text::VirtualSlot;

bool has(std::span<const VirtualSlot> slots, std::uint64_t VirtualSlot::* what,
         std::uint64_t value) {
  return std::ranges::find(slots, value, what) != slots.end();
}

std::string offsets_of(std::span<const VirtualSlot> slots) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (const VirtualSlot& slot : slots.first(std::min(slots.size(), kMost))) {
    out += fmt::format("{}{:#x}", out.empty() ? "" : ", ", slot.offset);
  }
  return slots.size() > kMost ? out + ", ..." : out;
}

class CallFunction final : public EdgeRule {
 public:
  CallFunction() : EdgeRule(RuleId::call_function) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    if (!is_by_pointer(edge)) return std::nullopt;
    if (!edge.from.known() || !edge.to.known() || edge.from.kept || edge.to.kept) {
      return std::nullopt;
    }
    // Jumps that change the stack are the return model's; what the linker fills is
    // plt.redirected's.
    if (edge.from.has(text::kSwitchesStack) || is_stub_of_linker(edge.from)) return std::nullopt;
    if (slot_called(edge) != nullptr) return std::nullopt;
    if ((edge.facts & kFromResolver) != 0) return std::nullopt;
    if (!reached_through_pointer(edge).empty()) return std::nullopt;  // that is call.sensitive's
    if (is_no_function_of_linkers(edge)) {
      return Verdict{.grade = Grade::unexplained,
                     .reason =
                         "the dynamic linker calls a function that is in no table which its file "
                         "has for that"};
    }
    if (edge.to.module->is_exported_untaken(edge.to.vaddr) && !is_asked_for(edge, locator)) {
      return Verdict{.grade = Grade::unexplained,
                     .reason =
                         "leads to a function whose address no file of the process holds or "
                         "asks for"};
    }
    if (edge.to.module->is_untaken(edge.to.vaddr)) {
      return Verdict{.grade = Grade::unexplained,
                     .reason = "leads to a function whose address nothing in its file holds"};
    }
    if (auto verdict = judge_virtual(edge)) return verdict;
    return arguments_->judge(edge);
  }

 private:
  // Slots of static programs are in no table of relocations that the file tells of.
  static bool is_stub_of_linker(const End& from) {
    if (!from.has(text::kPlt)) return false;
    return from.module->is_through_chosen(from.vaddr) || !is_static_program(*from.module);
  }

  // Returns that go where the text put the target, as retpolines, are told of as what they stand
  // for, but in 32-bit code.
  static bool is_by_pointer(const Edge& edge) {
    const BranchKind kind = edge.branch.kind;
    return kind == BranchKind::icall || kind == BranchKind::ijmp ||
           (kind == BranchKind::ret && edge.mode == isa::Mode::bits32 &&
            edge.from.has(text::kPushedTarget | text::kStoredTarget));
  }

  // What the dynamic linker calls in other files is in their tables for it, or found by its name;
  // glibc's own files have it call functions that they pass to it.
  static bool is_no_function_of_linkers(const Edge& edge) {
    if ((edge.facts & kFromLinker) == 0 || !is_dynamic_linker(*edge.from.module)) return false;
    const text::Module& module = *edge.to.module;
    constexpr std::array<std::string_view, 3> kParts = {"libc.so", "libdl.so", "libpthread.so"};
    const bool part = std::ranges::any_of(
        kParts, [&](std::string_view name) { return module.soname().starts_with(name); });
    return !part && !module.is_linkers(edge.to.vaddr) && !module.is_exported(edge.to.vaddr);
  }

  // Whether any file of the process may know where the function is: it is given the address under
  // one of its names, or asks for some by dlsym; and libc, also in a static program, finds
  // functions of other files by names of its own.
  static bool is_asked_for(const Edge& edge, Locator& locator) {
    const bool own = edge.from.module == edge.to.module;
    const text::Module& caller = *edge.from.module;
    if (!own && (is_libc(caller) || is_static_program(caller))) return true;
    std::vector<std::string_view> names = edge.to.module->exported_names(edge.to.vaddr);
    for (const symbol::Symbol& s : edge.to.module->names_at(edge.to.vaddr)) names.push_back(s.name);
    for (const session::MappedFile& file : locator.regions().files(edge.space, edge.branch.time)) {
      const text::Module* module =
          file.location.empty() ? nullptr : locator.modules().get(file.location);
      if (module == nullptr) return true;
      if (!is_libc(*module) && looks_up(*module)) return true;
      const auto asks = [&](std::string_view name) { return module->asks_for(name); };
      if (std::ranges::any_of(names, asks)) return true;
    }
    return false;
  }

  static bool looks_up(const text::Module& module) {
    return std::ranges::any_of(module.slots(), [](const text::Slot& slot) {
      return slot.name == "dlsym" || slot.name == "dlvsym";
    });
  }

  // A function that only vtables lead to is called by the slots that it has there.
  std::optional<Verdict> judge_virtual(const Edge& edge) const {
    const auto slots = edge.to.module->virtual_slots(edge.to.vaddr);
    if (slots.empty()) return std::nullopt;
    const PointerPlace place = pointer_place(edge);
    if (place.address) {
      const bool own = edge.from.module == edge.to.module;
      if (own && has(slots, &VirtualSlot::place, *place.address)) {
        return std::nullopt;
      }
      return Verdict{.grade = Grade::unexplained,
                     .reason = "leads to a virtual function by a pointer that is in no vtable"};
    }
    if (!place.offset) return std::nullopt;
    if (has(slots, &VirtualSlot::offset, *place.offset)) return sites_->judge(edge, *place.offset);
    return Verdict{.grade = Grade::unexplained,
                   .reason = fmt::format("takes a virtual function from offset {:#x} of a table; "
                                         "vtables have it at {}",
                                         *place.offset, offsets_of(slots))};
  }

  std::unique_ptr<ArgumentCounts> arguments_ = std::make_unique<ArgumentCounts>();
  std::unique_ptr<VirtualSites> sites_ = std::make_unique<VirtualSites>();
};

}  // namespace

std::unique_ptr<EdgeRule> make_call_function() { return std::make_unique<CallFunction>(); }

}  // namespace hodo::check
