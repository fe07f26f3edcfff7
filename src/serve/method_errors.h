// What is wrong with a call of a method, for those who answer in more ways than one.
#pragma once

#include <functional>
#include <string>

#include "hodo/serve/method.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

Error no_such_method(const std::string& name);
// usage: what does not fit the method's parameters.
Status check_params(const Method& method, const Json& params);

// Answers, with the turn where the method needs it. Errors: those of the question.
Result<Json> answer_of(const Method& method, Workspace& workspace, const Json& params);

// What answering comes to, as text; belongs to who has the turn, or needs no recording. Errors: its
// own; no_space: it takes more memory than there is. Then what it has left half done is not used
// again: the recording is opened anew for the next question.
Result<std::string> within_memory(Workspace& workspace,
                                  const std::function<Result<std::string>()>& answer);

}  // namespace hodo::serve
