// Notes that stay beside the recording.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "file_error.h"
#include "hodo/base/fd.h"
#include "hodo/serve/rpc.h"
#include "methods.h"
#include "schema.h"

namespace hodo::serve {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 20;  // of the file
constexpr std::size_t kMostNotes = 10'000;

std::string path_of(const Workspace& workspace) {
  return workspace.options().input.path + ".notes.json";
}

Json shape() {
  using namespace schema;
  return list(object({{"moment", moment("of which it is")}, {"text", string("what it says")}},
                     {"moment", "text"}, true));
}

// None where there is no file. Errors: io, not_permitted; malformed for what are no notes.
Result<Json> read_notes(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return Json::array();
  struct stat st{};
  if (file.get() < 0 || ::fstat(file.get(), &st) != 0) return file_error(path, errno);
  if (!S_ISREG(st.st_mode)) return fail(ErrorCode::malformed, path + " is no regular file");
  std::string bytes;
  char part[65536];
  for (;;) {
    const ssize_t got = ::read(file.get(), part, sizeof part);
    if (got < 0) return file_error(path, errno);
    if (got == 0) break;
    bytes.append(part, static_cast<std::size_t>(got));
    if (bytes.size() > kLargest)
      return fail(ErrorCode::malformed, path + " is too large for notes");
  }
  auto notes = parse_message(bytes);
  if (!notes || !schema::check(shape(), *notes)) {
    return fail(ErrorCode::malformed, path + " has no notes of hodo's; remedy: move it away");
  }
  return notes;
}

// Into a file beside it first, so that the notes are whole at any time.
Status write_notes(const std::string& path, const Json& notes) {
  const std::string text = notes.dump(1, ' ', true, Json::error_handler_t::replace) + "\n";
  if (text.size() > kLargest || notes.size() > kMostNotes) {
    return fail(ErrorCode::usage, fmt::format("these are more notes than {} or 1 MiB", kMostNotes));
  }
  const std::string fresh = path + ".new";
  {
    constexpr mode_t kOwn = 0600;
    const Fd file(
        ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, kOwn));
    if (file.get() < 0) return file_error(fresh, errno);
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t put = ::write(file.get(), left.data(), left.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return file_error(fresh, errno);
      left.remove_prefix(static_cast<std::size_t>(put));
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) != 0) return file_error(path, errno);
  return {};
}

Result<Json> answer_notes(Workspace& workspace, const Json& params) {
  const std::string path = path_of(workspace);
  if (const auto set = params.find("set"); set != params.end()) {
    if (Status written = write_notes(path, *set); !written) return std::unexpected(written.error());
  }
  auto notes = read_notes(path);
  if (!notes) return notes;
  return Json{{"file", path}, {"notes", std::move(*notes)}};
}

Json notes_parameters() {
  Json notes = shape();
  notes["description"] = "all notes from now on; without, nothing is changed";
  return schema::parameters({{"set", std::move(notes)}});
}

Json notes_result() {
  using namespace schema;
  return object({{"file", string("where they are")}, {"notes", shape()}}, {"file", "notes"});
}

}  // namespace

Method notes_method() {
  return {"notes", "Notes about moments, which stay beside the recording in FILE.notes.json.",
          notes_parameters, notes_result, answer_notes};
}

}  // namespace hodo::serve
