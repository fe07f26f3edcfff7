// What `hodo check` and `hodo record --check` share.
#pragma once

#include "hodo/ask/window.h"
#include "hodo/base/result.h"
#include "hodo/check/checker.h"
#include "hodo/check/suppressions.h"
#include "hodo/session/session.h"
#include "hodo/view/findings.h"

namespace hodo::cli {

// Judges what a session holds in a window. Errors: unsupported for a raw trace; as Session::decode.
Result<view::Checked> judge(session::Session& session, const check::Options& options,
                            const session::DecodeOptions& how, const ask::Window& window = {},
                            const check::Suppressions& suppressions = {});
// What came of a checker that has judged all of `session`.
view::Checked checked_by(const check::Checker& checker, const session::Session& session,
                         std::vector<session::LossLine> losses);
bool is_explained(const check::Finding& finding);
// Only counts the findings that were explained.
void hide_explained(view::Checked& checked);

// kExitFindings, kExitIncomplete or kExitOk. Findings that are all doubtful say no more than that
// the trace is damaged: kExitIncomplete, whatever is allowed.
int status_of(const view::Checked& checked, bool allow_incomplete);

}  // namespace hodo::cli
