// From a file's model to what users see of it.
#pragma once

#include "hodo/perfdata/model.h"
#include "hodo/session/facts.h"

namespace hodo::session {

Facts facts_of(const perfdata::Model& model);

}  // namespace hodo::session
