// baseline.new: indirect branches against those that learned runs took.
#include <fmt/format.h>

#include "edge_rules.h"
#include "hodo/text/names.h"

namespace hodo::check {

std::optional<Baseline::Edge> baseline_edge(const Edge& edge) {
  const bool indirect =
      edge.branch.kind == BranchKind::icall || edge.branch.kind == BranchKind::ijmp;
  if (!indirect || !edge.from.known() || !edge.to.known()) return std::nullopt;
  if (edge.from.kept || edge.to.kept) return std::nullopt;  // other code than the file's
  const bool inside = edge.branch.kind == BranchKind::ijmp && edge.from.module == edge.to.module &&
                      edge.from.module->same_function(edge.from.vaddr, edge.to.vaddr);
  if (inside) return std::nullopt;
  return Baseline::Edge{edge.from.module->elf().build_id, edge.from.vaddr,
                        edge.to.module->elf().build_id, edge.to.vaddr};
}

namespace {

class BaselineNew final : public EdgeRule {
 public:
  explicit BaselineNew(const Baseline& baseline)
      : EdgeRule(RuleId::baseline_new), baseline_(baseline) {}

  std::optional<Verdict> judge(const Edge& edge, Locator&) const override {
    const auto taken = baseline_edge(edge);
    if (!taken || taken->from_module.empty() || taken->to_module.empty()) return std::nullopt;
    if (baseline_.contains(*taken)) return std::nullopt;
    // All that a file does which no learned run executed has one cause.
    for (const End* end : {&edge.to, &edge.from}) {
      if (baseline_.knows(end->module->elf().build_id)) continue;
      return Verdict{
          .grade = Grade::unusual,
          .reason = fmt::format("no learned run executed {}", text::file_name(end->path)),
          .cause = std::string(end->path)};
    }
    const bool call = edge.branch.kind == BranchKind::icall;
    return Verdict{
        .grade = Grade::unusual,
        .reason = fmt::format("no learned run took this indirect {}", call ? "call" : "jump")};
  }

 private:
  const Baseline& baseline_;
};

}  // namespace

std::unique_ptr<EdgeRule> make_baseline_new(const Baseline& baseline) {
  return std::make_unique<BaselineNew>(baseline);
}

}  // namespace hodo::check
