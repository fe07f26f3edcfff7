#include "graphviz.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "hodo/capture/fd.h"
#include "hodo/view/output.h"

namespace hodo::cli {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// A file without a name that has `text`, to be read from its start.
Result<capture::Fd> file_of(const std::string& text) {
  capture::Fd file(memfd_create("graph", MFD_CLOEXEC));
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

}  // namespace

Status write_svg(const std::string& dot, int fd) {
  const auto in = file_of(dot);
  if (!in) return std::unexpected(in.error());
  const auto pid = start_dot(in->get(), fd);
  if (!pid) return std::unexpected(pid.error());
  int status = 0;
  while (waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return fail(ErrorCode::io,
              WIFSIGNALED(status)
                  ? fmt::format("dot was killed by signal {}", WTERMSIG(status))
                  : fmt::format("dot failed with exit status {}", WEXITSTATUS(status)));
}

}  // namespace hodo::cli
