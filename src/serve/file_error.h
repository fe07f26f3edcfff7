// What the kernel said of a file, as an error.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "hodo/base/result.h"

namespace hodo::serve {

// `error`: an errno. Errors: not_permitted, io.
inline std::unexpected<Error> file_error(const std::string& path, int error) {
  const bool rights = error == EACCES || error == EPERM || error == EROFS;
  return fail(rights ? ErrorCode::not_permitted : ErrorCode::io,
              fmt::format("{}: {}", path, std::generic_category().message(error)));
}

}  // namespace hodo::serve
