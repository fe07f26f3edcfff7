#include "hodo/serve/graphviz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "hodo/base/fd.h"
#include "hodo/view/output.h"

namespace hodo::serve {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// A file without a name that has `text`, to be read from its start.
Result<Fd> file_of(const std::string& text) {
  Fd file(memfd_create("graph", MFD_CLOEXEC));
  if (!file) return fail(ErrorCode::io, fmt::format("no memory for the graph: {}", reason(errno)));
  view::Output out(file.get());
  out.write(text);
  if (Status status = out.finish(); !status) return std::unexpected(status.error());
  lseek(file.get(), 0, SEEK_SET);
  return file;
}

// `dot -Tsvg` with these as its standard streams; its pid.
Result<pid_t> start_dot(int in, int out) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  std::string name = "dot";
  std::string format = "-Tsvg";
  char* const words[] = {name.data(), format.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, "dot", &files, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&files);
  if (error == ENOENT) {
    return fail(ErrorCode::not_found,
                "Graphviz's program 'dot', which draws the picture, is not installed; remedy: "
                "apt-get install graphviz, or write the graph itself with --to cfg-dot");
  }
  if (error != 0) return fail(ErrorCode::io, fmt::format("cannot run dot: {}", reason(error)));
  return pid;
}

// Ends it when its time is over; 0 seconds: never. Its exit as wait() gives it, nullopt if it was
// ended.
std::optional<int> wait_for(pid_t pid, unsigned seconds) {
  using std::chrono::steady_clock;
  const auto until = steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(pid, &status, seconds == 0 ? 0 : WNOHANG);
    if (ended == pid) return status;
    if (seconds == 0) continue;  // EINTR
    if (steady_clock::now() >= until) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  kill(pid, SIGKILL);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

// What dot makes of it, in a file without a name.
Result<Fd> picture_of(const std::string& dot, unsigned seconds) {
  const auto in = file_of(dot);
  if (!in) return std::unexpected(in.error());
  Fd picture(memfd_create("picture", MFD_CLOEXEC));
  if (!picture) {
    return fail(ErrorCode::io, fmt::format("no memory for the picture: {}", reason(errno)));
  }
  const auto pid = start_dot(in->get(), picture.get());
  if (!pid) return std::unexpected(pid.error());
  const auto status = wait_for(*pid, seconds);
  if (!status) {
    return fail(ErrorCode::io, fmt::format("dot took more than {} s to lay out the graph; remedy: "
                                           "hodo export --to cfg-svg waits for it",
                                           seconds));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return picture;
  return fail(ErrorCode::io,
              WIFSIGNALED(*status)
                  ? fmt::format("dot was killed by signal {}", WTERMSIG(*status))
                  : fmt::format("dot failed with exit status {}", WEXITSTATUS(*status)));
}

// Gives it to `add`, a piece at a time.
template <class Add>
Status copy(const Fd& picture, Add add) {
  std::vector<char> piece(std::size_t{1} << 16);
  for (off_t at = 0;;) {
    const ssize_t n = pread(picture.get(), piece.data(), piece.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail(ErrorCode::io, fmt::format("reading the picture: {}", reason(errno)));
    if (n == 0) return {};
    add(std::string_view(piece.data(), static_cast<std::size_t>(n)));
    at += n;
  }
}

}  // namespace

Status write_svg(const std::string& dot, view::Output& out) {
  const auto picture = picture_of(dot, 0);
  if (!picture) return std::unexpected(picture.error());
  return copy(*picture, [&](std::string_view piece) { out.write(piece); });
}

Result<std::string> svg_of(const std::string& dot, unsigned seconds) {
  const auto picture = picture_of(dot, seconds);
  if (!picture) return std::unexpected(picture.error());
  constexpr off_t kLargest = off_t{64} << 20;
  const off_t size = lseek(picture->get(), 0, SEEK_END);
  if (size < 0 || size > kLargest) return fail(ErrorCode::no_space, "the picture is too large");
  std::string out;
  Status copied = copy(*picture, [&](std::string_view piece) { out += piece; });
  if (!copied) return std::unexpected(copied.error());
  return out;
}

}  // namespace hodo::serve
