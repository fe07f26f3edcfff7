// What the self-contained page of `hodo view --html` carries with it.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/serve/workspace.h"

namespace hodo::cli {

// {"answers": {question: answer}, "lacks": what else could be asked}, with the questions as the
// page's rpc.ts writes them. At most some 60 MB, however long the recording is. Errors: as of the
// first question, info; others that cannot be answered are left out.
Result<std::string> answers_for_file(serve::Workspace& workspace);

}  // namespace hodo::cli
