// plt.redirected: calls of other modules' functions against the names they are called by.
#include <fmt/format.h>

#include <algorithm>

#include "edge_rules.h"
#include "hodo/isa/moves.h"
#include "hodo/text/names.h"
#include "pointer.h"
#include "scope.h"

namespace hodo::check {
namespace {

class PltRedirected final : public EdgeRule {
 public:
  PltRedirected() : EdgeRule(RuleId::plt_redirected) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    const text::Slot* slot = slot_called(edge);
    if (edge.to.kept) return std::nullopt;
    if (slot == nullptr) {
      const auto chosen = judge_chosen(edge);
      return chosen ? chosen : judge_linkers_words(edge, locator);
    }
    const std::string_view name = slot->name;
    using Kind = End::Kind;
    if (edge.to.kind == Kind::data) {
      return Verdict{.grade = Grade::impossible,
                     .reason = fmt::format("the call of {} leads to data", name)};
    }
    if (edge.to.kind == Kind::no_file || edge.to.kind == Kind::nowhere) {
      return Verdict{.grade = Grade::impossible,
                     .reason = fmt::format("the call of {} leads out of all files", name)};
    }
    if (!edge.to.known()) return std::nullopt;
    // Before the first call, a slot leads back to its own stub, which asks the dynamic linker.
    if (edge.to.module == edge.from.module && edge.to.vaddr == slot->initial) return std::nullopt;
    const text::Module& module = *edge.to.module;
    if (!is_named(edge.to, name)) {
      const std::string_view other = module.name_at(edge.to.vaddr);
      return Verdict{.reason =
                         fmt::format("the call of {} leads to {}", name,
                                     other.empty() ? "a place that is not called so" : other)};
    }
    const Scope& scope = locator.scope(edge.space, edge.branch.time);
    if (scope.program() == nullptr || scope.depends(scope.program(), &module) ||
        scope.depends(edge.from.module, &module) || scope.share_opened(edge.from.module, &module) ||
        scope.lacks(edge.from.module, name) || are_copies(edge, name)) {
      return std::nullopt;
    }
    return Verdict{
        .grade = Grade::unexplained,
        .reason = fmt::format("the call of {} leads to {}, which neither the program nor the "
                              "caller depends on",
                              name, text::file_name(edge.to.path)),
        .library = std::string(edge.to.path)};
  }

 private:
  // Inline functions of C++ and instances of its templates ("vague linkage"): each file that uses
  // one has a copy, and the dynamic linker takes the first of all, also that of a file which was
  // opened for all (RTLD_GLOBAL).
  static bool are_copies(const Edge& edge, std::string_view name) {
    const auto is_copy = [&](const symbol::Symbol& symbol) {
      return symbol.weak && symbol.name == name;
    };
    return std::ranges::any_of(edge.from.module->symbols().named(name), is_copy) &&
           std::ranges::any_of(edge.to.module->names_at(edge.to.vaddr), is_copy);
  }

  // What chooses a function has the address of each that it may be.
  static std::optional<Verdict> judge_chosen(const Edge& edge) {
    if (!edge.from.has(text::kPlt) || edge.from.kept || !edge.to.known()) return std::nullopt;
    if (!edge.from.module->is_through_chosen(edge.from.vaddr)) return std::nullopt;
    if (edge.to.module == edge.from.module && edge.to.has(text::kTaken)) return std::nullopt;
    return Verdict{.grade = Grade::unexplained,
                   .reason =
                       "the call of a function that the file itself chooses leads to one "
                       "that it cannot have chosen"};
  }

  // The words by which a file calls the dynamic linker itself lead to functions of it that it
  // exports to nobody.
  static std::optional<Verdict> judge_linkers_words(const Edge& edge, Locator& locator) {
    const BranchKind kind = edge.branch.kind;
    const bool indirect = kind == BranchKind::icall || kind == BranchKind::ijmp;
    if (!indirect || (edge.branch.flags & kAsync) != 0 || !edge.to.known()) return std::nullopt;
    if (!may_be_by_linkers_word(edge)) return std::nullopt;
    const auto place = pointer_place(edge).address;
    if (!place) return std::nullopt;
    const bool descriptor = edge.from.module->is_descriptor(*place);
    if (!descriptor && !is_resolvers(*edge.from.module, *place)) return std::nullopt;
    if (is_in_linker(edge, locator) && !edge.to.module->is_exported(edge.to.vaddr)) {
      return std::nullopt;
    }
    return Verdict{.grade = Grade::impossible,
                   .reason = fmt::format("the call for a {} leads to what is no function of the "
                                         "dynamic linker for that",
                                         descriptor ? "thread's variable" : "function's address")};
  }

  // JMP [place] in the first stub, or a retpoline there, and CALL [RAX] behind LEA RAX, [place]: of
  // others nothing more is to be found out.
  static bool may_be_by_linkers_word(const Edge& edge) {
    const End& from = edge.from;
    if (!from.known() || from.kept) return false;
    if (edge.retpoline) return true;
    const auto pointer = isa::decode_pointer(from.module->bytes(from.vaddr), from.vaddr);
    if (!pointer || pointer->in != isa::kNoRegister) return false;
    const isa::Memory& memory = pointer->memory;
    return memory.address || (memory.index == isa::kNoRegister && memory.displacement == 0);
  }

  // musl's is the C library; it depends on nothing.
  static bool is_in_linker(const Edge& edge, Locator& locator) {
    const text::Module& module = *edge.to.module;
    if (!module.needed().empty()) return false;
    if (is_libc(module)) return true;
    const Scope& scope = locator.scope(edge.space, edge.branch.time);
    const std::string_view path =
        scope.program() == nullptr ? std::string_view() : scope.program()->elf().interpreter;
    return !path.empty() && text::file_name(path) == text::file_name(edge.to.path);
  }

  // The third word of the GOT, which no relocation fills (psABI, "Procedure Linkage Table").
  static bool is_resolvers(const text::Module& module, std::uint64_t place) {
    constexpr std::uint64_t kThird = 16;
    if (!module.got() || place != *module.got() + kThird) return false;
    const auto held = module.held_at(place);
    return held && held->name.empty() && held->address == 0;
  }
};

}  // namespace

std::unique_ptr<EdgeRule> make_plt_redirected() { return std::make_unique<PltRedirected>(); }

}  // namespace hodo::check
