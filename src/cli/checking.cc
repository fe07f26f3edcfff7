#include "checking.h"

#include "command.h"

namespace hodo::cli {

bool is_explained(const check::Finding& finding) {
  return finding.grade == check::Grade::explained;
}

view::Checked checked_by(const check::Checker& checker, const session::Session& session,
                         std::vector<session::LossLine> losses) {
  return {.branches = checker.checked(),
          .findings = checker.findings(),
          .unjudged = checker.unjudged(),
          .losses = std::move(losses),
          .windows = session.trace() == session::TraceKind::stacks};
}

Result<view::Checked> judge(session::Session& session, const check::Options& options,
                            const session::DecodeOptions& how, const ask::Window& window) {
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
  return checked_by(checker, session, std::move(outcome->losses));
}

void hide_explained(view::Checked& checked) {
  checked.explained += std::erase_if(checked.findings, is_explained);
}

int status_of(const view::Checked& checked, bool allow_incomplete) {
  bool doubtful = false;
  for (const check::Finding& finding : checked.findings) {
    if (is_explained(finding)) continue;
    if (!finding.is_doubtful()) return kExitFindings;
    doubtful = true;
  }
  if (doubtful) return kExitIncomplete;
  return checked.complete() || allow_incomplete ? kExitOk : kExitIncomplete;
}

}  // namespace hodo::cli
