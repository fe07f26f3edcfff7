#include "output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "hodo/view/output.h"
#include "reading.h"

namespace hodo::cli {
namespace {

constexpr mode_t kMode = 0666;  // less what the user's mask forbids

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_one_of(const struct stat& out, const std::vector<std::string>& files) {
  return std::ranges::any_of(files, [&](const std::string& file) {
    struct stat in{};
    return ::stat(file.c_str(), &in) == 0 && is_same(in, out);
  });
}

// What is written to a descriptor that this process was given, as /dev/stdout names one, has to
// come to the file that is open there.
bool is_open_here(const struct stat& file) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    struct stat open{};
    if (::fstat(fd, &open) == 0 && is_same(open, file)) return true;
  }
  return false;
}

// Whether another file can take the place of `file` with nobody the worse for it.
bool is_replaceable(const std::string& path, const struct stat& file) {
  struct statx more{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &more) != 0) return false;
  const bool mounted = (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  const bool has_acl = ::getxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
  return file.st_nlink == 1 && !mounted && !has_acl && !is_open_here(file);
}

// "./" before a name alone.
std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "./" : path.substr(0, slash + 1);
}

// A name that nobody else uses, beside `path`.
std::string name_beside(const std::string& path) {
  static unsigned made = 0;
  return fmt::format("{}.hodo-{}-{}", folder_of(path), ::getpid(), made++);
}

std::string name_of(const Fd& file) { return fmt::format("/proc/self/fd/{}", file.get()); }

std::unexpected<Error> refused(const std::string& path) {
  return fail(ErrorCode::io,
              fmt::format("cannot write {}: {}", path, std::generic_category().message(errno)));
}

}  // namespace

OutputFile::OutputFile(OutputFile&& other) noexcept
    : file_(std::move(other.file_)),
      path_(std::move(other.path_)),
      target_(std::exchange(other.target_, {})),
      unfinished_(std::exchange(other.unfinished_, {})) {}

// A file without a name where the file system has those: nothing is left of it however this process
// ends. False: none can be made.
bool OutputFile::begin_beside(const std::string& target) {
  file_.reset(::open(folder_of(target).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kMode));
  if (file_ && ::access(name_of(file_).c_str(), F_OK) != 0) file_.reset();  // no /proc: nor a name
  if (!file_) {
    unfinished_ = name_beside(target);
    file_.reset(::open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kMode));
    if (!file_) unfinished_.clear();
  }
  if (file_) target_ = target;
  return static_cast<bool>(file_);
}

// Has the old file's owner and rights. False: they cannot be had.
bool OutputFile::take_after(const struct stat& old) {
  struct stat fresh{};
  if (::fstat(file_.get(), &fresh) != 0) return false;
  const bool same_owner = fresh.st_uid == old.st_uid && fresh.st_gid == old.st_gid;
  return (same_owner || ::fchown(file_.get(), old.st_uid, old.st_gid) == 0) &&
         ::fchmod(file_.get(), old.st_mode & ALLPERMS) == 0;
}

void OutputFile::drop() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
  unfinished_.clear();
  target_.clear();
}

Result<OutputFile> OutputFile::open(const std::string& path,
                                    const std::vector<std::string>& inputs) {
  OutputFile out;
  if (path.empty() || path == "-") return out;
  out.path_ = path;
  struct stat old{};
  // Not one that a link names, which would be made where that leads.
  if (::lstat(path.c_str(), &old) != 0 && out.begin_beside(path)) return out;
  const bool regular = ::stat(path.c_str(), &old) == 0 && S_ISREG(old.st_mode);
  if (regular && is_one_of(old, inputs)) {
    return fail(ErrorCode::usage,
                fmt::format("cannot write {}: it is what is read here; name another file", path));
  }
  if (regular && ::access(path.c_str(), W_OK) == 0 && is_replaceable(path, old)) {
    char target[PATH_MAX];
    if (::realpath(path.c_str(), target) != nullptr && out.begin_beside(target)) {
      if (out.take_after(old)) return out;
      out.drop();
    }
  }
  out.file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (!out.file_) return refused(path);
  return out;
}

OutputFile::~OutputFile() { drop(); }

int OutputFile::fd() const { return file_ ? file_.get() : STDOUT_FILENO; }

Status OutputFile::keep() {
  if (target_.empty()) return {};
  if (unfinished_.empty()) {
    const std::string name = name_beside(target_);
    if (::linkat(AT_FDCWD, name_of(file_).c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return refused(path_);
    unfinished_ = name;
  }
  if (::rename(unfinished_.c_str(), target_.c_str()) != 0) return refused(path_);
  unfinished_.clear();
  return {};
}

Status check_recording_path(const std::string& path) {
  if (path != "-") return {};
  return fail(ErrorCode::usage,
              "-o -: a recording cannot go to standard output, since what comes first in its file "
              "is written last; name a file (-o ./- for one of this name)");
}

int print_text(std::string_view text) {
  view::Output out(STDOUT_FILENO);
  out.write(text);
  const Status written = out.finish();
  return written ? kExitOk : report_error("standard output", written.error());
}

}  // namespace hodo::cli
