// plt.redirected: calls of other modules' functions against the names they are called by.
#include <fmt/format.h>

#include <algorithm>

#include "edge_rules.h"
#include "names.h"
#include "scope.h"

namespace hodo::check {
namespace {

// The function that an instruction calls by name; empty: it does not.
std::string_view called_name(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept) return {};
  const Slot* slot = edge.from.module->slot_of(edge.from.vaddr);
  return slot == nullptr ? std::string_view() : slot->name;
}

// A stub of that name counts: in a program that does not move, the address of a function of another
// file is that of its stub (psABI, "Function Addresses").
bool is_called(const Module& module, std::uint64_t vaddr, std::string_view name) {
  if (module.has(vaddr, kPlt)) return module.callee_name(vaddr) == name;
  const auto all = module.symbols().symbols();
  const auto same = std::ranges::equal_range(all, vaddr, {}, &symbol::Symbol::start);
  return std::ranges::any_of(same, [&](const symbol::Symbol& s) { return s.name == name; });
}

// The function is an IFUNC: which code it stands for is chosen when the program starts.
bool is_chosen(const Module& module, std::string_view name) {
  const auto found = module.symbols().named(name);
  return std::ranges::any_of(
      found, [](const symbol::Symbol& s) { return s.kind == symbol::SymbolKind::ifunc; });
}

class PltRedirected final : public EdgeRule {
 public:
  PltRedirected() : EdgeRule(RuleId::plt_redirected) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    const std::string_view name = called_name(edge);
    if (name.empty() || edge.to.kept) return std::nullopt;
    if (edge.to.kind == End::Kind::no_file || edge.to.kind == End::Kind::nowhere) {
      return Verdict{.grade = Grade::impossible,
                     .reason = fmt::format("the call of {} leads out of all files", name)};
    }
    if (!edge.to.known()) return std::nullopt;
    // Before the first call, a slot leads back to the stub, which asks the dynamic linker.
    if (edge.to.module == edge.from.module && edge.to.has(kPlt)) return std::nullopt;
    const Module& module = *edge.to.module;
    if (!is_called(module, edge.to.vaddr, name) && !is_chosen(module, name)) {
      const std::string_view other = module.name_at(edge.to.vaddr);
      return Verdict{.reason =
                         fmt::format("the call of {} leads to {}", name,
                                     other.empty() ? "a place that is not called so" : other)};
    }
    const Scope scope(locator.regions().files(edge.space, edge.branch.time), locator.modules());
    if (scope.program() == nullptr || scope.depends(scope.program(), &module) ||
        scope.depends(edge.from.module, &module)) {
      return std::nullopt;
    }
    return Verdict{
        .grade = Grade::unexplained,
        .reason = fmt::format("the call of {} leads to {}, which neither the program nor the caller"
                              " depends on",
                              name, file_name(edge.to.path))};
  }
};

}  // namespace

std::unique_ptr<EdgeRule> make_plt_redirected() { return std::make_unique<PltRedirected>(); }

}  // namespace hodo::check
