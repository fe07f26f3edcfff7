#include "output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace hodo::cli {

Result<capture::Fd> open_output(const std::string& path) {
  if (path.empty() || path == "-") return capture::Fd();
  capture::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file) return file;
  return fail(ErrorCode::io,
              fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
}

Status check_recording_path(const std::string& path) {
  if (path != "-") return {};
  return fail(ErrorCode::usage,
              "-o -: a recording cannot go to standard output, since what comes first in its file "
              "is written last; name a file (-o ./- for one of this name)");
}

int descriptor(const capture::Fd& file) { return file ? file.get() : STDOUT_FILENO; }

}  // namespace hodo::cli
