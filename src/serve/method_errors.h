// What is wrong with a call of a method, for those who answer in more ways than one.
#pragma once

#include <string>

#include "hodo/serve/method.h"
#include "hodo/serve/workspace.h"

namespace hodo::serve {

Error no_such_method(const std::string& name);
// usage: what does not fit the method's parameters.
Status check_params(const Method& method, const Json& params);

// Answers, with the turn where the method needs it. Errors: those of the question.
Result<Json> answer_of(const Method& method, Workspace& workspace, const Json& params);

}  // namespace hodo::serve
