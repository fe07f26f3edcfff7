#include "browser.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace hodo::cli {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && value[0] != '\0';
}

// Where other users cannot look, and, in the first, what nobody has left from the last login.
std::string folder() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return runtime;
  const char* home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? home : "/tmp";
}

std::unique_ptr<PrivateFile> file_leading_to(const std::string& address) {
  std::string path = folder() + "/hodo-view-XXXXXX.html";
  const int file = mkostemps(path.data(), 5, O_CLOEXEC);  // made with mode 0600
  if (file < 0) return nullptr;
  auto out = std::make_unique<PrivateFile>(path);
  const std::string text = fmt::format(
      "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
      "<meta http-equiv=\"refresh\" content=\"0; url={0}\"><a href=\"{0}\">hodo view</a>\n",
      address);
  const bool whole = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return whole ? std::move(out) : nullptr;
}

// 0, or why not. What xdg-open says goes nowhere: it would be about the browser.
int start_opener(const std::string& path) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  }
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setpgroup(&how, 0);  // Ctrl-C is not for the browser
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::string name = "xdg-open";
  std::string word = path;
  char* const words[] = {name.data(), word.data(), nullptr};
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, "xdg-open", &files, &how, words, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

}  // namespace

PrivateFile::~PrivateFile() { unlink(path_.c_str()); }

Opened open_in_browser(const std::string& address) {
  if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY")) {
    return {.file = nullptr, .remark = "there is no display here; open the address in a browser"};
  }
  auto file = file_leading_to(address);
  if (!file) {
    return {.file = nullptr,
            .remark = fmt::format("no browser was opened: no file can be made in {}: {}", folder(),
                                  std::strerror(errno))};
  }
  const int error = start_opener(file->path());
  if (error == 0) return {.file = std::move(file), .remark = ""};
  return {.file = nullptr,
          .remark = fmt::format("no browser was opened: xdg-open: {}; open the address in one",
                                std::strerror(error))};
}

std::string in_address(const std::string& word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/";
  std::string out;
  for (const char c : word) {
    if (kPlain.find(c) != kPlain.npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace hodo::cli
