// Whether a recorder still writes to a file.
#pragma once

namespace hodo::perfdata {

// Somebody holds the lock on it that OutputFile takes. False where that cannot be known.
bool is_being_written(int fd);

}  // namespace hodo::perfdata
