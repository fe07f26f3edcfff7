#include "output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "hodo/view/output.h"
#include "reading.h"

namespace hodo::cli {
namespace {

bool is_one_of(const std::string& path, const std::vector<std::string>& files) {
  struct stat out{};
  if (::stat(path.c_str(), &out) != 0 || !S_ISREG(out.st_mode)) return false;
  return std::ranges::any_of(files, [&](const std::string& file) {
    struct stat in{};
    return ::stat(file.c_str(), &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
  });
}

}  // namespace

Result<capture::Fd> open_output(const std::string& path, const std::vector<std::string>& inputs) {
  if (path.empty() || path == "-") return capture::Fd();
  if (is_one_of(path, inputs)) {
    return fail(ErrorCode::usage,
                fmt::format("cannot write {}: it is what is read here; name another file", path));
  }
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

int print_text(std::string_view text) {
  view::Output out(STDOUT_FILENO);
  out.write(text);
  const Status written = out.finish();
  return written ? kExitOk : report_error("standard output", written.error());
}

}  // namespace hodo::cli
