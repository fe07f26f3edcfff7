#include "hodo/serve/socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <list>
#include <thread>

#include "file_error.h"
#include "hodo/base/fd.h"
#include "hodo/serve/lines.h"

namespace hodo::serve {
namespace {

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof out.sun_path) {
    return fail(ErrorCode::usage, fmt::format("a socket's path has from 1 to {} bytes; remedy: a "
                                              "shorter one",
                                              sizeof out.sun_path - 1));
  }
  std::memcpy(out.sun_path, path.data(), path.size());
  return out;
}

const sockaddr* plain(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Takes away what a server has left behind; nothing else.
Status clear_place(const std::string& path, const sockaddr_un& address) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0) return errno == ENOENT ? Status() : file_error(path, errno);
  if (!S_ISSOCK(st.st_mode)) {
    return fail(ErrorCode::usage, path + " is there already, and no socket");
  }
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe) return file_error(path, errno);
  if (::connect(probe.get(), plain(address), sizeof address) == 0) {
    return fail(ErrorCode::usage, "a server listens on " + path + " already");
  }
  if (errno != ECONNREFUSED) return file_error(path, errno);
  if (::unlink(path.c_str()) != 0) return file_error(path, errno);
  return {};
}

Result<Fd> listening(const std::string& path) {
  auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  if (Status clear = clear_place(path, *address); !clear) return std::unexpected(clear.error());
  Fd out(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!out) return file_error(path, errno);
  // Never open to others, not even for a moment.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(out.get(), plain(*address), sizeof *address);
  const int error = errno;
  ::umask(before);
  if (bound != 0) return file_error(path, error);
  if (::listen(out.get(), static_cast<int>(kMostConnections)) != 0) return file_error(path, errno);
  return out;
}

bool is_own(int connection) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

// Those who are connected, each with a thread.
class Connections {
 public:
  explicit Connections(Workspace& workspace) : workspace_(workspace) {}
  // What is being answered is brought to its end.
  ~Connections() {
    for (One& one : all_) ::shutdown(one.fd.get(), SHUT_RDWR);
  }
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  void add(Fd fd) {
    all_.remove_if([](const One& one) { return one.done.load(); });
    if (all_.size() == kMostConnections || !is_own(fd.get())) return;
    // Who does not read must not keep the others waiting.
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    One& one = all_.emplace_back();
    one.fd = std::move(fd);
    one.thread = std::jthread([this, &one] {
      // What goes wrong is the other side's.
      (void)answer_lines(workspace_, one.fd.get(), one.fd.get());
      ::shutdown(one.fd.get(), SHUT_RDWR);
      one.done = true;
    });
  }

 private:
  struct One {
    Fd fd;
    std::atomic<bool> done = false;
    std::jthread thread;  // the last one: it is joined before the others go
  };
  Workspace& workspace_;
  std::list<One> all_;
};

// Readable once one of the signals has arrived that end a program; they do nothing else meanwhile.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_ = Fd(::signalfd(-1, &set_, SFD_CLOEXEC));
  }
  ~Signals() {
    // Taken, so that they do not end the program now.
    signalfd_siginfo one{};
    pollfd ready{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, 0) == 1 && ::read(fd_.get(), &one, sizeof one) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;
  int fd() const { return fd_.get(); }

 private:
  sigset_t set_{};
  sigset_t before_{};
  Fd fd_;
};

}  // namespace

Status answer_socket(Workspace& workspace, const std::string& path, int until) {
  const Signals signals;
  auto socket = listening(path);
  if (!socket) return std::unexpected(socket.error());
  int error = 0;
  {
    Connections connections(workspace);
    std::array<pollfd, 3> ready{{{.fd = socket->get(), .events = POLLIN, .revents = 0},
                                 {.fd = signals.fd(), .events = POLLIN, .revents = 0},
                                 {.fd = until, .events = POLLIN, .revents = 0}}};
    for (;;) {
      if (::poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) error = errno;
      if (error != 0 || ready[1].revents != 0 || ready[2].revents != 0) break;
      if (ready[0].revents == 0) continue;
      Fd one(::accept4(socket->get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (one) connections.add(std::move(one));
    }
    ::unlink(path.c_str());
  }
  return error == 0 ? Status() : file_error(path, error);
}

}  // namespace hodo::serve
