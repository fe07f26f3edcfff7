#include "hodo/session/session.h"

#include "raw.h"
#include "recording.h"

namespace hodo::session {

Result<std::unique_ptr<Session>> Session::open(const Options& options) {
  if (options.raw) return Raw::open(options);
  return Recording::open(options.path);
}

}  // namespace hodo::session
