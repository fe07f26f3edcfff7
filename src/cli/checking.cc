#include "checking.h"

#include <algorithm>

#include "command.h"
#include "hodo/session/time_order.h"

namespace hodo::cli {
namespace {

bool is_explained(const check::Finding& finding) {
  return finding.grade == check::Grade::explained;
}

}  // namespace

view::Checked checked_by(const check::Checker& checker, const session::Session& session,
                         std::vector<session::LossLine> losses) {
  return {.branches = checker.checked(),
          .findings = checker.findings(),
          .unjudged = checker.unjudged(),
          .losses = std::move(losses),
          .windows = session.recording()->trace() == perfdata::TraceKind::none};
}

Result<view::Checked> judge(session::Session& session, const check::Options& options,
                            const session::DecodeOptions& how) {
  if (session.regions() == nullptr) {
    return fail(ErrorCode::unsupported,
                "a raw trace does not say which files were mapped; check a recording");
  }
  check::Checker checker(session, options);
  // Several threads would wait for the one that judges, which takes less time where the decoder
  // says which paths come again.
  session::DecodeOptions one_thread = how;
  one_thread.threads = 1;
  auto outcome = check::needs_time_order(session)
                     ? session::decode_by_time(session, one_thread, checker)
                     : session.decode(one_thread, checker);
  if (!outcome) return std::unexpected(outcome.error());
  return checked_by(checker, session, std::move(outcome->losses));
}

void hide_explained(view::Checked& checked) {
  checked.explained += std::erase_if(checked.findings, is_explained);
}

int status_of(const view::Checked& checked, bool allow_incomplete) {
  if (!std::ranges::all_of(checked.findings, is_explained)) return kExitFindings;
  return checked.complete() || allow_incomplete ? kExitOk : kExitIncomplete;
}

}  // namespace hodo::cli
