// hodo::Fd, by the name that recorders use.
#pragma once

#include "hodo/base/fd.h"

namespace hodo::capture {

using hodo::Fd;

}  // namespace hodo::capture
