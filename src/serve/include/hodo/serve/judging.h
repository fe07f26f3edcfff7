// What the check says of an opened recording: for all who ask it.
#pragma once

#include <vector>

#include "hodo/ask/window.h"
#include "hodo/base/result.h"
#include "hodo/check/checker.h"
#include "hodo/check/suppressions.h"
#include "hodo/session/session.h"
#include "hodo/view/findings.h"

namespace hodo::serve {

// Judges what a session holds in a window. Errors: unsupported for a raw trace; as Session::decode.
Result<view::Checked> judge(session::Session& session, const check::Options& options,
                            const session::DecodeOptions& how, const ask::Window& window = {},
                            const check::Suppressions& suppressions = {});
// What came of a checker that has judged all of `session`.
view::Checked checked_by(const check::Checker& checker, const session::Session& session,
                         std::vector<session::LossLine> losses,
                         const check::Suppressions& suppressions = {});
bool is_explained(const check::Finding& finding);
// Only counts the findings that were explained.
void hide_explained(view::Checked& checked);

}  // namespace hodo::serve
