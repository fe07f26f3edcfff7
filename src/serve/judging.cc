#include "hodo/serve/judging.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace hodo::serve {

bool is_explained(const check::Finding& finding) {
  return finding.grade == check::Grade::explained;
}

namespace {

// Finding by finding: what is left of an attack is still one.
void suppress(view::Checked& checked, std::vector<check::Finding>& all,
              const check::Suppressions& suppressions, const session::Session& session) {
  std::set<const check::Suppression*> used;
  std::erase_if(all, [&](check::Finding& finding) {
    if (is_explained(finding)) return false;
    const check::Suppression* line = suppressions.find(finding, session.names());
    if (line == nullptr) return false;
    used.insert(line);
    checked.suppressed.push_back({std::move(finding), line->reason});
    return true;
  });
  for (const check::Suppression& line : suppressions.all()) {
    if (used.contains(&line)) continue;
    checked.unused.push_back(
        fmt::format("{} | {} => {} | {}", line.rule->name, line.from, line.to, line.reason));
  }
}

// Where the file is known to be damaged, what it says of processes, mappings and code may be wrong,
// and every finding may come of that.
std::vector<check::Finding> findings_of(const check::Checker& checker,
                                        std::span<const session::LossLine> losses) {
  std::vector<check::Finding> findings = checker.findings();
  if (std::ranges::find(losses, session::causes::kDamaged, &session::LossLine::cause) !=
      losses.end()) {
    for (check::Finding& finding : findings) {
      finding.doubtful = finding.count;
      finding.losses = 1;
    }
  }
  return findings;
}

}  // namespace

view::Checked checked_by(const check::Checker& checker, const session::Session& session,
                         std::vector<session::LossLine> losses,
                         const check::Suppressions& suppressions) {
  view::Checked out{.branches = checker.checked(),
                    .unjudged = checker.unjudged(),
                    .windows = session.trace() == session::TraceKind::stacks};
  std::vector<check::Finding> all = findings_of(checker, losses);
  suppress(out, all, suppressions, session);
  out.findings = check::by_attack(std::move(all));
  out.losses = std::move(losses);
  return out;
}

Result<view::Checked> judge(session::Session& session, const check::Options& options,
                            const session::DecodeOptions& how, const ask::Window& window,
                            const check::Suppressions& suppressions) {
  if (session.regions() == nullptr) {
    return fail(ErrorCode::unsupported,
                "a raw trace does not say which files were mapped; check a recording");
  }
  check::Checker checker(session, options);
  auto outcome =
      window.everything()
          ? check::decode_for_check(session, how, checker)
          : ask::decode_window(session, window, {.walk = how, .mark_gaps = true}, checker);
  if (!outcome) return std::unexpected(outcome.error());
  view::Checked checked = checked_by(checker, session, std::move(outcome->losses), suppressions);
  if (options.learn != nullptr) {
    checked.learned = view::Learned{.some = {checker.learned().begin(), checker.learned().end()}};
  }
  return checked;
}

void hide_explained(view::Checked& checked) {
  checked.explained += std::erase_if(checked.findings, is_explained);
}

}  // namespace hodo::serve
