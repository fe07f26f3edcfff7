#include "run/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace hodo::capture {
namespace {

using ::testing::HasSubstr;

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() {
    std::string name = ::testing::TempDir() + "launch.XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~LaunchTest() override { std::filesystem::remove_all(dir_); }

  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  std::string write_file(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(path(name)) << text;
    ::chmod(path(name).c_str(), mode);
    return path(name);
  }
  std::string read_file(const std::string& name) const {
    std::ifstream in(path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  static std::unique_ptr<Program> prepare(LaunchSpec spec) {
    auto program = Program::prepare(spec);
    EXPECT_TRUE(program) << program.error().message;
    return program ? std::move(*program) : nullptr;
  }
  static std::unique_ptr<Program> shell(const std::string& script) {
    auto program = prepare({.command = {"sh", "-c", script}});
    const Status started = program->start();
    EXPECT_TRUE(started) << started.error().message;
    return program;
  }
  // Waits until `name` exists: the program's way to say that it is ready.
  void await_file(const std::string& name) const {
    for (int i = 0; i < 1000 && !std::filesystem::exists(path(name)); ++i) ::usleep(10'000);
    ASSERT_TRUE(std::filesystem::exists(path(name)));
  }

  std::string dir_;
};

TEST_F(LaunchTest, ExitStatusIsTheProgramsOwn) { EXPECT_EQ(shell("exit 37")->wait(), 37); }

TEST_F(LaunchTest, DeathBySignalIs128PlusSignal) {
  EXPECT_EQ(shell("kill -SEGV $$")->wait(), 128 + SIGSEGV);
}

TEST_F(LaunchTest, NothingRunsBeforeStart) {
  auto program = prepare({.command = {"touch", path("ran")}});
  ::usleep(50'000);
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  EXPECT_FALSE(program->take_events().ended);
  ASSERT_TRUE(program->start());
  EXPECT_EQ(program->wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(path("ran")));
}

TEST_F(LaunchTest, AProgramThatIsNeverStartedLeavesNoProcessAndNoTrace) {
  pid_t pid = 0;
  {
    auto program = prepare({.command = {"touch", path("ran")}});
    pid = program->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(LaunchTest, PidIsKeptAcrossExec) {
  auto program = prepare({.command = {"sh", "-c", "echo $$ > " + path("pid")}});
  const pid_t pid = program->pid();
  ASSERT_TRUE(program->start());
  EXPECT_EQ(program->wait(), 0);
  EXPECT_EQ(read_file("pid"), std::to_string(pid) + "\n");
}

TEST_F(LaunchTest, EmptyCommandIsAUsageError) {
  auto program = Program::prepare({});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, ErrorCode::usage);
}

struct BadCommand {
  std::string command;
  ErrorCode code;
  std::string words;
  int status;
};

void expect_refusal(const BadCommand& bad) {
  auto program = Program::prepare({.command = {bad.command}});
  ASSERT_TRUE(program);
  const Status started = (*program)->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, bad.code);
  EXPECT_THAT(started.error().message, HasSubstr(bad.command + ": "));
  EXPECT_THAT(started.error().message, HasSubstr(bad.words));
  EXPECT_EQ(exec_failure_status(started.error()), bad.status);
  EXPECT_EQ((*program)->exit_status(), bad.status);
}

TEST_F(LaunchTest, MissingCommandInPath) {
  expect_refusal({"no-such-command-anywhere", ErrorCode::not_found, "command not found", 127});
}
TEST_F(LaunchTest, MissingFile) {
  expect_refusal({path("nothing"), ErrorCode::not_found, "No such file", 127});
}
TEST_F(LaunchTest, MissingInterpreter) {
  const auto script = write_file("script", "#!/no/such/interpreter\n", 0755);
  expect_refusal({script, ErrorCode::not_found, "interpreter", 127});
}
TEST_F(LaunchTest, FileThatIsNotExecutable) {
  const auto file = write_file("text", "hello\n", 0644);
  expect_refusal({file, ErrorCode::not_permitted, "Permission denied", 126});
}
TEST_F(LaunchTest, Directory) {
  expect_refusal({dir_, ErrorCode::not_permitted, "Permission denied", 126});
}

TEST_F(LaunchTest, FindCommandSearchesPathAsExecDoes) {
  std::filesystem::create_directories(path("a/tool"));
  std::filesystem::create_directories(path("b"));
  write_file("b/tool", "#!/bin/sh\n", 0755);
  write_file("a/secret", "", 0644);
  const std::string old_path = ::getenv("PATH");
  ::setenv("PATH", (path("a") + ":" + path("nowhere") + ":" + path("b")).c_str(), 1);
  EXPECT_EQ(find_command("tool"), path("b/tool"));  // the directory a/tool is none
  const auto secret = find_command("secret");
  const auto missing = find_command("missing");
  ::setenv("PATH", old_path.c_str(), 1);
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().code, ErrorCode::not_permitted);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().message, "missing: command not found");
}

TEST_F(LaunchTest, FindCommandTakesPathsAsTheyAre) {
  EXPECT_EQ(find_command("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_command(dir_).error().code, ErrorCode::not_permitted);
  EXPECT_EQ(find_command(path("nothing")).error().code, ErrorCode::not_found);
  EXPECT_EQ(find_command("").error().code, ErrorCode::usage);
}

TEST_F(LaunchTest, EnvironmentCanBeReplaced) {
  auto program = prepare({.command = {"/bin/sh", "-c", "echo $COLOUR$HOME > " + path("out")},
                          .environment = std::vector<std::string>{"COLOUR=blue"}});
  ASSERT_TRUE(program->start());
  EXPECT_EQ(program->wait(), 0);
  EXPECT_EQ(read_file("out"), "blue\n");
}

TEST_F(LaunchTest, AnEmptyEnvironmentIsNotHodosOwn) {
  auto program = prepare({.command = {"/bin/sh", "-c", "echo \"[$HOME]\" > " + path("out")},
                          .environment = std::vector<std::string>{}});
  ASSERT_TRUE(program->start());
  EXPECT_EQ(program->wait(), 0);
  EXPECT_EQ(read_file("out"), "[]\n");
}

TEST_F(LaunchTest, OnlyNamedDescriptorsAreInherited) {
  const std::string list = "ls /proc/self/fd > " + path("list");
  ASSERT_EQ(std::system(list.c_str()), 0);
  const std::string without_hodo = read_file("list");
  const Fd opened(::open(path("passed").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  const Fd passed(::fcntl(opened.get(), F_DUPFD_CLOEXEC, 500));
  auto program = prepare({.command = {"sh", "-c", list}, .inherit_fds = {passed.get()}});
  ASSERT_TRUE(program->start());
  EXPECT_EQ(program->wait(), 0);
  // ls prints them in the order of strings.
  std::istringstream in(read_file("list"));
  std::string without_passed;
  bool found = false;
  for (std::string fd; std::getline(in, fd);) {
    if (fd == std::to_string(passed.get())) {
      found = true;
    } else {
      without_passed += fd + "\n";
    }
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(without_passed, without_hodo);
}

// The line of /proc/PID/status that starts with `key`, as a number. A shell would not do as the
// program here: it sets its signal mask anew.
std::uint64_t status_mask(const std::string& status, const std::string& key) {
  const std::size_t at = status.find(key + ":");
  return at == status.npos ? ~std::uint64_t{0}
                           : std::stoull(status.substr(at + key.size() + 1), nullptr, 16);
}

TEST_F(LaunchTest, SignalStateOfTheProgramIsWhatItWasBeforeHodo) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  ::signal(SIGCHLD, SIG_IGN);
  auto program =
      prepare({.command = {"cp", "/proc/self/status", path("status")}, .snapshot_signal = true});
  ASSERT_TRUE(program->start());
  EXPECT_EQ(program->wait(), 0);
  program.reset();
  ::signal(SIGCHLD, SIG_DFL);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const std::string status = read_file("status");
  EXPECT_EQ(status_mask(status, "SigBlk"), std::uint64_t{1} << (SIGUSR1 - 1));
  EXPECT_NE(status_mask(status, "SigIgn") & std::uint64_t{1} << (SIGCHLD - 1), 0u);
}

TEST_F(LaunchTest, OwnSignalMaskIsPutBack) {
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  shell("exit 0")->wait();
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) EXPECT_EQ(sigismember(&after, signal), 0) << signal;
}

TEST_F(LaunchTest, StatusSurvivesAnIgnoredSigchld) {
  ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(shell("exit 7")->wait(), 7);
  struct sigaction now = {};
  ::sigaction(SIGCHLD, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
}

TEST_F(LaunchTest, EventFdWakesAPollWhenTheProgramEnds) {
  auto program = shell("exit 0");
  pollfd waiting{.fd = program->event_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&waiting, 1, 10'000), 1);
  while (!program->take_events().ended) ::usleep(1000);
  EXPECT_EQ(program->exit_status(), 0);
}

std::string trap_script(const std::string& signal, int status, const std::string& ready) {
  return "trap 'exit " + std::to_string(status) + "' " + signal + "; : > " + ready +
         "; while :; do sleep 0.02; done";
}

TEST_F(LaunchTest, SigtermIsPassedOnAndDoesNotStopTheRecording) {
  auto program = shell(trap_script("TERM", 41, path("ready")));
  await_file("ready");
  ::kill(::getpid(), SIGTERM);
  bool stop = false;
  EXPECT_EQ(program->wait(&stop), 41);
  EXPECT_FALSE(stop);
}

TEST_F(LaunchTest, SigintSentToHodoAloneIsPassedOnAndStopsTheRecording) {
  auto program = shell(trap_script("INT", 42, path("ready")));
  await_file("ready");
  ::kill(::getpid(), SIGINT);
  bool stop = false;
  EXPECT_EQ(program->wait(&stop), 42);
  EXPECT_TRUE(stop);
}

TEST_F(LaunchTest, SigintAfterTheProgramsEndKillsNobody) {
  auto program = shell("exit 0");
  EXPECT_EQ(program->wait(), 0);
  ::kill(::getpid(), SIGINT);  // while hodo would be writing its file
  sigset_t signals;
  ::sigpending(&signals);
  EXPECT_EQ(::sigismember(&signals, SIGINT), 1) << "it is held back";
  program.reset();
  ::pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  EXPECT_EQ(::sigismember(&signals, SIGINT), 0)
      << "it is let through again, and this one was taken";
  ::sigpending(&signals);
  EXPECT_EQ(::sigismember(&signals, SIGINT), 0);
}

TEST_F(LaunchTest, Sigusr2AsksForASnapshot) {
  auto program = prepare({.command = {"sleep", "30"}, .snapshot_signal = true});
  ASSERT_TRUE(program->start());
  ::kill(::getpid(), SIGUSR2);
  ProgramEvents events = program->take_events();
  EXPECT_TRUE(events.snapshot);
  EXPECT_FALSE(events.stop);
  EXPECT_FALSE(events.ended);
  EXPECT_FALSE(program->take_events().snapshot);
  program->kill(SIGKILL);
  EXPECT_EQ(program->wait(), 128 + SIGKILL);
}

// nohup ignores it; neither hodo nor the program may bring it back.
TEST_F(LaunchTest, IgnoredSighupStaysIgnored) {
  ::signal(SIGHUP, SIG_IGN);
  auto program = shell("sleep 0.2; exit 5");
  ::kill(::getpid(), SIGHUP);
  bool stop = false;
  EXPECT_EQ(program->wait(&stop), 5);
  EXPECT_FALSE(stop);
  ::signal(SIGHUP, SIG_DFL);
}

// A shell ignores SIGINT in the background of a script; perf record ends by it all the same, and
// so does its program, by SIGTERM.
TEST_F(LaunchTest, SigintEndsARecordingInTheBackgroundOfAScript) {
  ::signal(SIGINT, SIG_IGN);
  auto program = shell(": > " + path("ready") + "; while :; do sleep 0.02; done");
  await_file("ready");
  ::kill(::getpid(), SIGINT);
  bool stop = false;
  EXPECT_EQ(program->wait(&stop), 128 + SIGTERM);
  EXPECT_TRUE(stop);
  EXPECT_FALSE(program->killed());
  program.reset();
  struct sigaction now = {};
  ::sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_IGN);
  ::signal(SIGINT, SIG_DFL);
}

constexpr std::chrono::milliseconds kShort{300};
constexpr auto kApart = 400'000;  // us: no longer one request

std::string deaf_script(const std::string& ready) {
  return "trap '' INT TERM; : > " + ready + "; while :; do sleep 0.02; done";
}

TEST_F(LaunchTest, AProgramThatIsDeafToSigtermIsKilledWhenTheGraceIsOver) {
  auto program = prepare({.command = {"sh", "-c", deaf_script(path("ready"))}, .grace = kShort});
  ASSERT_TRUE(program->start());
  await_file("ready");
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(program->wait(), 128 + SIGKILL);
  EXPECT_TRUE(program->killed());
}

TEST_F(LaunchTest, AProgramThatIsDeafToSigintIsAskedTwiceMore) {
  auto program = prepare({.command = {"sh", "-c", deaf_script(path("ready"))}, .grace = kShort});
  ASSERT_TRUE(program->start());
  await_file("ready");
  ::kill(::getpid(), SIGINT);
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(program->wait(), 128 + SIGKILL);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, 2 * kShort);
}

TEST_F(LaunchTest, ASecondSigtermKills) {
  auto program = shell(deaf_script(path("ready")));
  await_file("ready");
  ::kill(::getpid(), SIGTERM);
  program->take_events();
  ::usleep(kApart);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(program->wait(), 128 + SIGKILL);
  EXPECT_TRUE(program->killed());
}

// timeout(1) sends its signal to the command and to the group that it is in.
TEST_F(LaunchTest, TheSameSignalTwiceAtOnceIsOneRequest) {
  auto program = shell("trap 'sleep 0.2; exit 41' TERM; : > " + path("ready") +
                       "; while :; do sleep 0.02; done");
  await_file("ready");
  for (int i = 0; i < 2; ++i) {
    ::kill(::getpid(), SIGTERM);
    program->take_events();
    ::usleep(10'000);
  }
  EXPECT_EQ(program->wait(), 41);
  EXPECT_FALSE(program->killed());
}

// With this variable set, this very program counts the interrupts of its next half second.
constexpr const char* kCountVariable = "HODO_LAUNCH_TEST_COUNT";
volatile sig_atomic_t interrupts = 0;

void count_interrupts(const char* ready) {
  ::signal(SIGINT, [](int) { interrupts = interrupts + 1; });
  std::ofstream(ready).put(' ');
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  while (std::chrono::steady_clock::now() < end) ::usleep(1000);
  ::_exit(interrupts);
}
const bool kCounting = [] {
  if (const char* ready = ::getenv(kCountVariable)) count_interrupts(ready);
  return false;
}();

// A terminal delivers Ctrl-C to the whole foreground group. A process on a pseudo-terminal plays
// hodo and exits with the program's status, which is the number of interrupts it saw, plus 100 if
// it was told to stop. A second, forwarded interrupt would make it 102.
TEST_F(LaunchTest, CtrlCReachesTheProgramOnceAndStopsTheRecording) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  int master = -1;
  const pid_t hodo = ::forkpty(&master, nullptr, nullptr, nullptr);
  ASSERT_GE(hodo, 0);
  if (hodo == 0) {
    auto program = Program::prepare(
        {.command = {self},
         .environment = std::vector{std::string(kCountVariable) + "=" + path("ready")}});
    if (!program || !(*program)->start()) ::_exit(99);
    bool stop = false;
    const int status = (*program)->wait(&stop);
    ::_exit(stop ? 100 + status : status);
  }
  await_file("ready");
  ASSERT_EQ(::write(master, "\x03", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(hodo, &status, 0), hodo);
  ::close(master);
  EXPECT_EQ(shell_status(status), 101);
}

TEST_F(LaunchTest, KillingHodoBeforeStartRunsNothing) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t hodo = ::fork();
  if (hodo == 0) {
    auto program = Program::prepare({.command = {"touch", path("ran")}});
    const pid_t child = (*program)->pid();
    [[maybe_unused]] auto n = ::write(pipe[1], &child, sizeof child);
    ::raise(SIGKILL);
  }
  pid_t child = 0;
  ASSERT_EQ(::read(pipe[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  ::waitpid(hodo, nullptr, 0);
  // The orphan ends by itself; it may be left as a zombie if nothing reaps orphans here.
  const auto proc = "/proc/" + std::to_string(child);
  const auto alive = [&] {
    std::ifstream stat(proc + "/stat");
    std::string pid, comm, state;
    return static_cast<bool>(stat >> pid >> comm >> state) && state != "Z";
  };
  for (int i = 0; i < 500 && alive(); ++i) ::usleep(10'000);
  EXPECT_FALSE(alive());
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace hodo::capture
