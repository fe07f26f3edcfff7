#include "record_status.h"

#include "command.h"

namespace hodo::cli {

int exit_status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::usage:
      return kExitUsage;
    case ErrorCode::not_found:
      return kExitNotFound;
    case ErrorCode::not_permitted:
    case ErrorCode::unsupported:
      return kExitCannotExecute;
    default:
      return kExitCannotRecord;
  }
}

}  // namespace hodo::cli
