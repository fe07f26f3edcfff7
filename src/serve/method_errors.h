// What is wrong with a call of a method, for those who answer in more ways than one.
#pragma once

#include <string>

#include "hodo/serve/method.h"

namespace hodo::serve {

Error no_such_method(const std::string& name);
// usage: what does not fit the method's parameters.
Status check_params(const Method& method, const Json& params);

}  // namespace hodo::serve
