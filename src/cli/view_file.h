// What the self-contained page of `hodo view --html` carries with it.
#pragma once

#include <string>

#include "hodo/base/result.h"
#include "hodo/serve/method.h"
#include "hodo/serve/workspace.h"

namespace hodo::cli {

// {"answers": {question: answer}, "lacks": what else could be asked, "begin": as given}, with the
// questions as the page's rpc.ts writes them. `part`: what flame graphs, call tree and timeline are
// of, as the method `part` answers; empty for all. `begin`: the place behind the page's address to
// begin at. `other`: the recording to compare with, empty for none. At most some 60 MB, however
// long the recordings are. Errors: as of the first question, info, and of the comparison; others
// that cannot be answered are left out.
Result<std::string> answers_for_file(serve::Workspace& workspace, const serve::Json& part,
                                     const std::string& begin, const std::string& other);

}  // namespace hodo::cli
