#include "launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "hodo/capture/group_signals.h"

namespace hodo::capture {
namespace {

std::unexpected<Error> system_error(const std::string& what) {
  return fail(ErrorCode::io, what + ": " + std::strerror(errno));
}

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

// read(2) of all of `size` bytes unless the file ends before; the number of bytes read.
std::size_t read_full(int fd, void* data, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(fd, static_cast<char*>(data) + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const auto& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// Everything the child needs, made before the fork: after it only async-signal-safe calls are
// allowed, because other threads of hodo may have held the allocator's locks.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<char*> envp;  // empty: keep environ
  std::vector<int> inherit_fds;
  int go = -1;
  int exec_error = -1;
  const sigset_t* mask = nullptr;
  const struct sigaction* sigchld = nullptr;
};

[[noreturn]] void run_child(const ChildPlan& plan) {
  char byte = 0;
  if (read_full(plan.go, &byte, 1) != 1) ::_exit(125);  // nobody is left who wants the program
  ::sigaction(SIGCHLD, plan.sigchld, nullptr);
  ::sigprocmask(SIG_SETMASK, plan.mask, nullptr);
  for (const int fd : plan.inherit_fds) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (flags >= 0) ::fcntl(fd, F_SETFD, flags & ~FD_CLOEXEC);
  }
  if (plan.envp.empty()) {
    ::execvp(plan.argv[0], plan.argv.data());
  } else {
    ::execvpe(plan.argv[0], plan.argv.data(), plan.envp.data());
  }
  const int reason = errno;
  [[maybe_unused]] const ssize_t n = ::write(plan.exec_error, &reason, sizeof reason);
  ::_exit(reason == ENOENT ? 127 : 126);
}

// Words and code for a failed exec of `name`, as a shell would put them.
Error exec_error(const std::string& name, int reason) {
  const bool is_path = name.find('/') != std::string::npos;
  if (reason == ENOENT && !is_path) return {ErrorCode::not_found, name + ": command not found"};
  if (reason == ENOENT && ::access(name.c_str(), F_OK) == 0) {
    return {ErrorCode::not_found, name + ": the interpreter or loader that it asks for is missing"};
  }
  ErrorCode code = ErrorCode::io;
  if (reason == ENOENT || reason == ENOTDIR) code = ErrorCode::not_found;
  if (reason == EACCES || reason == EPERM) code = ErrorCode::not_permitted;
  return {code, name + ": " + std::strerror(reason)};
}

// 0 if `path` is a file that may be executed, else why not.
int exec_obstacle(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

bool is_ignored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// A signal by kill(2), not by the terminal. The terminal sends its signals to the whole foreground
// group, so the program has its own copy; what a process sends went to hodo alone as far as we can
// tell.
bool sent_by_process(const signalfd_siginfo& info) { return info.ssi_code <= 0; }

// A terminal that goes away tells the leader of its session, and nobody else (the kernel's
// tty_signal_session_leader). Where hodo has become that, the program would have been.
bool is_hang_up(const signalfd_siginfo& info) {
  return info.ssi_signo == SIGHUP && !sent_by_process(info) && ::getsid(0) == ::getpid();
}

// The parent of `pid` as /proc has it; 0 if it is gone.
pid_t parent_of(pid_t pid) {
  const Fd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 256> text{};
  const std::size_t size = file ? read_full(file.get(), text.data(), text.size()) : 0;
  const std::string_view line(text.data(), size);
  const std::size_t name_end = line.rfind(')');  // the name may have any characters
  pid_t parent = 0;
  if (name_end == line.npos || size - name_end < 4) return 0;
  std::from_chars(line.data() + name_end + 4, line.data() + size, parent);
  return parent;
}

// Whether hodo started `pid`, or started who did: the program, and what it has started.
bool is_of_program(pid_t pid) {
  constexpr int kGenerations = 64;
  for (int i = 0; i < kGenerations && pid > 1; ++i) {
    pid = parent_of(pid);
    if (pid == ::getpid()) return true;
  }
  return false;
}

// timeout(1) sends its signal to the command and then to the whole group: that is one request.
constexpr std::chrono::milliseconds kOneRequest{300};
constexpr int kDeadlinePollMs = 50;

}  // namespace

Result<std::string> find_command(const std::string& command) {
  if (command.empty()) return fail(ErrorCode::usage, "no command to run");
  if (command.find('/') != command.npos) {
    const int reason = exec_obstacle(command);
    if (reason != 0) return std::unexpected(exec_error(command, reason));
    return command;
  }
  const char* path = ::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/bin:/usr/bin";
  int reason = ENOENT;
  for (bool more = true; more;) {
    const std::size_t colon = rest.find(':');
    const std::string folder(rest.substr(0, colon));
    more = colon != rest.npos;
    if (more) rest.remove_prefix(colon + 1);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + command;
    const int obstacle = exec_obstacle(candidate);
    if (obstacle == 0) return candidate;
    if (obstacle == EACCES) reason = EACCES;  // as execvp: the search goes on, but this is told
  }
  return std::unexpected(exec_error(command, reason));
}

int shell_status(int wait_status) {
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

int exec_failure_status(const Error& error) {
  return error.code == ErrorCode::not_found ? 127 : 126;
}

Result<std::unique_ptr<Program>> Program::prepare(const LaunchSpec& spec) {
  if (spec.command.empty() || spec.command[0].empty()) {
    return fail(ErrorCode::usage, "no command to run");
  }
  std::unique_ptr<Program> program(new Program);
  program->name_ = spec.command[0];
  program->grace_ = spec.grace;
  auto go = make_pipe();
  if (!go) return std::unexpected(go.error());
  auto report = make_pipe();
  if (!report) return std::unexpected(report.error());
  if (auto blocked = program->block_signals(spec.snapshot_signal); !blocked) {
    return std::unexpected(blocked.error());
  }

  ChildPlan plan{.argv = pointers(spec.command),
                 .envp = {},
                 .inherit_fds = spec.inherit_fds,
                 .go = go->read_end.get(),
                 .exec_error = report->write_end.get(),
                 .mask = &program->old_mask_,
                 .sigchld = &program->old_sigchld_};
  if (spec.environment) plan.envp = pointers(*spec.environment);

  const pid_t pid = ::fork();
  if (pid < 0) return system_error("cannot start a process");
  if (pid == 0) {
    go->write_end.reset();  // or the child would never see that hodo is gone
    run_child(plan);
  }
  program->pid_ = pid;
  program->go_ = std::move(go->write_end);
  program->exec_error_ = std::move(report->read_end);
  return program;
}

Result<std::unique_ptr<Program>> Program::none(bool snapshot_signal) {
  std::unique_ptr<Program> nobody(new Program);
  if (auto blocked = nobody->block_signals(snapshot_signal); !blocked) {
    return std::unexpected(blocked.error());
  }
  return nobody;
}

Program::~Program() {
  go_.reset();  // releases a child that was never started: it exits
  if (exec_error_ && !exit_status_) reap(0);
  restore_signals();
}

Status Program::start() {
  if (!go_) return fail(ErrorCode::usage, name_ + ": already started");
  const char byte = 1;
  ssize_t n = 0;
  do {
    n = ::write(go_.get(), &byte, 1);
  } while (n < 0 && errno == EINTR);
  go_.reset();
  int reason = 0;
  const bool failed = read_full(exec_error_.get(), &reason, sizeof reason) == sizeof reason;
  exec_error_.reset();
  if (!failed) return {};
  reap(0);
  return std::unexpected(exec_error(name_, reason));
}

ProgramEvents Program::take_events() {
  ProgramEvents events = take_signals();
  if (!exit_status_ && pid_ > 0) reap(WNOHANG);
  events.ended = exit_status_.has_value();
  return events;
}

void Program::set_ended(int wait_status) {
  wait_status_ = wait_status;
  exit_status_ = shell_status(wait_status);
}

ProgramEvents Program::take_signals() {
  ProgramEvents events;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCHLD) continue;  // reap() asks about our child only; signals may have merged
    // What the program sends to its process group is between it and that.
    if (pid_ > 0 && sent_by_process(info) && is_of_program(static_cast<pid_t>(info.ssi_pid))) {
      continue;
    }
    switch (signal) {
      case SIGINT:
      case SIGQUIT:
      case SIGHUP:
      case SIGTERM:
        if (is_hang_up(info)) hang_up();
        if (pid_ > 0) take_request(signal, sent_by_process(info));
        events.stop = events.stop || signal != SIGTERM || pid_ <= 0;
        break;
      default:
        if (signal == SIGUSR2 && snapshot_signal_) {
          events.snapshot = true;
        } else if (pid_ > 0) {
          kill(signal);
        } else {
          events.stop = true;
        }
    }
  }
  if (deadline_ && Clock::now() >= *deadline_) end_harder();
  return events;
}

void Program::take_request(int signal, bool sent) {
  const Clock::time_point now = Clock::now();
  const bool again = asked_ && sent && now - *asked_ < kOneRequest;
  asked_ = now;
  if (again) return;
  if (urge_ != Urge::none) return end_harder();
  // A program that was started in the background of a script ignores SIGINT as hodo did.
  if (signal == SIGTERM || is_ignored(signal)) return end_harder();
  urge_ = Urge::asked;
  if (!sent) return;
  kill(signal);
  deadline_ = now + grace_;
}

void Program::hang_up() const {
  kill(SIGHUP);
  kill(SIGCONT);
}

void Program::end_harder() {
  const bool mildly = urge_ < Urge::terminated;
  urge_ = mildly ? Urge::terminated : Urge::killed;
  kill(mildly ? SIGTERM : SIGKILL);
  deadline_ = mildly ? std::optional(Clock::now() + grace_) : std::nullopt;
}

bool Program::killed() const { return urge_ == Urge::killed && exit_status_ == 128 + SIGKILL; }

int Program::wait(bool* stop_seen) {
  for (;;) {
    const ProgramEvents events = take_events();
    if (events.stop && stop_seen != nullptr) *stop_seen = true;
    if (events.ended) return *exit_status_;
    pollfd waiting{.fd = signals_.get(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, deadline_ ? kDeadlinePollMs : -1);
  }
}

void Program::kill(int signal) const {
  if (pid_ > 0 && !exit_status_) ::kill(pid_, signal);
}

void Program::reap(int options) {
  siginfo_t info{};
  int failed = 0;
  do {
    failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | options);
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) {
    exit_status_ = 125;  // ECHILD: someone else has reaped it; its status is lost, but it has ended
    return;
  }
  // That it stands still is news for who holds it with ptrace: from them it must not be taken, also
  // where it comes right behind this.
  const bool stopped = info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED;
  if (info.si_pid == 0 || stopped) return;
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) set_ended(status);
}

Status Program::block_signals(bool snapshot_signal) {
  snapshot_signal_ = snapshot_signal;
  sigset_t mask = group_signals();
  sigaddset(&mask, SIGCHLD);
  // A blocked signal is queued even if it is ignored. SIGHUP and SIGQUIT stay ignored (nohup);
  // SIGINT is what ends a recording, and shells ignore it in the background of a script without
  // being asked.
  for (const int signal : {SIGINT, SIGTERM}) sigaddset(&mask, signal);
  for (const int signal : {SIGQUIT, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&mask, signal);
  }
  if (snapshot_signal) sigaddset(&mask, SIGUSR2);
  signals_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return system_error("cannot watch signals");
  // With SIGCHLD ignored the kernel would throw the exit status away.
  struct sigaction deliver = {};
  deliver.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &deliver, &old_sigchld_);
  // Not watched for, but a recording that reaches the limit of file sizes must end by an error.
  sigaddset(&mask, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &mask, &old_mask_);
  masked_ = true;
  return {};
}

void Program::restore_signals() {
  if (!masked_) return;
  // A second Ctrl-C that came while the file was being written has done its work: it must not kill
  // hodo the moment signals are let through again.
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) > 0) {
  }
  sigset_t too_large;
  sigemptyset(&too_large);
  sigaddset(&too_large, SIGXFSZ);
  const timespec now{};
  while (::sigtimedwait(&too_large, nullptr, &now) > 0) {
  }
  ::pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  ::sigaction(SIGCHLD, &old_sigchld_, nullptr);
}

}  // namespace hodo::capture
