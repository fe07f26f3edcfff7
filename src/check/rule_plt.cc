// plt.redirected: calls of other modules' functions against the names they are called by.
#include <fmt/format.h>

#include <algorithm>

#include "edge_rules.h"
#include "hodo/text/names.h"
#include "scope.h"

namespace hodo::check {
namespace {

// Null: the instruction calls nothing by name.
const text::Slot* slot_called(const Edge& edge) {
  if (!edge.from.known() || edge.from.kept) return nullptr;
  return edge.from.module->slot_of(edge.from.vaddr);
}

class PltRedirected final : public EdgeRule {
 public:
  PltRedirected() : EdgeRule(RuleId::plt_redirected) {}

  std::optional<Verdict> judge(const Edge& edge, Locator& locator) const override {
    const text::Slot* slot = slot_called(edge);
    if (edge.to.kept) return std::nullopt;
    if (slot == nullptr) return judge_chosen(edge);
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
    const Scope scope(locator.regions().files(edge.space, edge.branch.time), locator.modules());
    if (scope.program() == nullptr || scope.depends(scope.program(), &module) ||
        scope.depends(edge.from.module, &module) || scope.share_opened(edge.from.module, &module) ||
        scope.lacks(edge.from.module, name)) {
      return std::nullopt;
    }
    return Verdict{
        .grade = Grade::unexplained,
        .reason = fmt::format("the call of {} leads to {}, which neither the program nor the "
                              "caller depends on",
                              name, text::file_name(edge.to.path))};
  }

 private:
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
};

}  // namespace

std::unique_ptr<EdgeRule> make_plt_redirected() { return std::make_unique<PltRedirected>(); }

}  // namespace hodo::check
