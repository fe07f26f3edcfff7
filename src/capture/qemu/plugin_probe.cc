#include "plugin_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>

#include "hodo/capture/fd.h"
#include "hodo/relay/exec_plan.h"
#include "hodo/relay/protocol.h"

namespace hodo::capture {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWords = 4096;

// What the emulator prints until it ends. It is not waited for any longer than that.
std::string words_of(int pipe, std::chrono::milliseconds patience) {
  std::string words;
  const Clock::time_point end = Clock::now() + patience;
  while (words.size() < kMostWords) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{.fd = pipe, .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) <= 0) return "it did not answer";
    std::array<char, 512> part{};
    const ssize_t size = ::read(pipe, part.data(), part.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    words.append(part.data(), static_cast<std::size_t>(size));
  }
  return words;
}

std::string run(const std::string& emulator, const std::string& plugin,
                std::chrono::milliseconds patience) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::strerror(errno);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  std::string name = emulator, flag = "-plugin";
  std::string option = relay::escape_option(plugin) + "," + relay::kProbeOption;
  // The plugin answers before the program, the emulator itself, would be looked at.
  std::array<char*, 5> argv = {name.data(), flag.data(), option.data(), name.data(), nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  const int reason =
      ::posix_spawn(&pid, emulator.c_str(), &actions, nullptr, argv.data(), environment);
  ::posix_spawn_file_actions_destroy(&actions);
  write_end.reset();
  if (reason != 0) return std::strerror(reason);
  std::string words = words_of(read_end.get(), patience);
  ::kill(pid, SIGKILL);  // if it still runs
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return words;
}

// Of what it printed; control characters are for whoever shows the message.
std::string_view first_line(std::string_view words) {
  words = words.substr(0, words.find('\n'));
  return words.empty() ? "it says nothing" : words;
}

}  // namespace

Status probe_plugin(const std::string& emulator, const std::string& plugin,
                    std::chrono::milliseconds patience) {
  const std::string words = run(emulator, plugin, patience);
  if (words.find(relay::kProbeAnswer) != words.npos) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{} does not load hodo's plugin ({}): Debian 12's does, but Debian 13's "
                          "and Ubuntu 25.10's are linked statically, Fedora's and RHEL's built "
                          "without plugins; remedy: build QEMU's targets x86_64-linux-user and "
                          "i386-linux-user with --enable-plugins and put them first in PATH; until "
                          "then --source dbi records 64-bit programs, --source step all",
                          emulator, first_line(words)));
}

}  // namespace hodo::capture
