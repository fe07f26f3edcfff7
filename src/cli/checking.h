// What `hodo check` and `hodo record --check` share.
#pragma once

#include "hodo/serve/judging.h"

namespace hodo::cli {

// kExitFindings, kExitIncomplete or kExitOk. Findings that are all doubtful say no more than that
// the trace is damaged: kExitIncomplete, whatever is allowed.
int status_of(const view::Checked& checked, bool allow_incomplete);

}  // namespace hodo::cli
