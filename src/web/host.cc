#include "hodo/web/host.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>

#include "connection.h"
#include "gate.h"

namespace hodo::web {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

struct Connection {
  explicit Connection(int number) : socket(number) {}
  Descriptor socket;
  std::thread thread;
  std::atomic<bool> known = false;  // who is there has shown the key
  bool done = false;                // guarded by the host's mutex, as is the next
  bool ended = false;               // to make room
};

class LocalHost : public Host {
 public:
  LocalHost(Site site, int listener, int wake)
      : site_(std::move(site)),
        listener_(listener),
        wake_(wake),
        thread_([this] { accept_all(); }) {}

  ~LocalHost() override {
    const std::uint64_t one = 1;
    if (write(wake_.number(), &one, sizeof(one)) < 0) std::terminate();  // an eventfd has room
    thread_.join();
    {
      const std::lock_guard lock(mutex_);
      for (Connection& one_of : connections_) shutdown(one_of.socket.number(), SHUT_RDWR);
    }
    for (Connection& one_of : connections_) one_of.thread.join();
  }
  LocalHost(const LocalHost&) = delete;
  LocalHost& operator=(const LocalHost&) = delete;

  std::string address() const override {
    return fmt::format("http://127.0.0.1:{}/{}/", site_.port, site_.key);
  }

 private:
  void accept_all() {
    for (;;) {
      std::array<pollfd, 2> waits{{{.fd = listener_.number(), .events = POLLIN, .revents = 0},
                                   {.fd = wake_.number(), .events = POLLIN, .revents = 0}}};
      if (poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) return;
      if (waits[1].revents != 0) return;
      if (waits[0].revents == 0) continue;
      const int socket = accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) begin(socket);
      // Out of descriptors: the next try would be at once, and as vain.
      if (socket < 0 && errno != EINTR && errno != ECONNABORTED) poll(&waits[1], 1, 200);
    }
  }

  void begin(int socket) {
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    sweep();
    const std::lock_guard lock(mutex_);
    if (!make_room()) {
      close(socket);
      return;
    }
    Connection& made = connections_.emplace_back(socket);
    made.thread = std::thread([this, &made] {
      serve_connection(site_, made.socket.number(), made.known);
      shutdown(made.socket.number(), SHUT_RDWR);
      const std::lock_guard done(mutex_);
      made.done = true;
    });
  }

  // Who connects and says nothing must not keep others out.
  bool make_room() {
    const auto open = std::ranges::count(connections_, false, &Connection::ended);
    if (open < kMostConnections) return true;
    const auto stranger = std::ranges::find_if(
        connections_, [](const Connection& one) { return !one.ended && !one.known; });
    if (stranger == connections_.end()) return false;
    stranger->ended = true;
    shutdown(stranger->socket.number(), SHUT_RDWR);
    return true;
  }

  void sweep() {
    std::list<Connection> ended;
    {
      const std::lock_guard lock(mutex_);
      for (auto one = connections_.begin(); one != connections_.end();) {
        const auto next = std::next(one);
        if (one->done) ended.splice(ended.end(), connections_, one);
        one = next;
      }
    }
    for (Connection& one : ended) one.thread.join();
  }

  const Site site_;
  Descriptor listener_, wake_;
  std::mutex mutex_;
  std::list<Connection> connections_;
  std::thread thread_;  // last: it uses all of them
};

std::unexpected<Error> refused(std::uint16_t port, const char* what) {
  return fail(ErrorCode::io,
              port == 0 ? fmt::format("127.0.0.1: {}: {}", what, std::strerror(errno))
                        : fmt::format("127.0.0.1:{}: {}: {}; leave --port out for any that is free",
                                      port, what, std::strerror(errno)));
}

}  // namespace

Result<std::string> new_key() {
  std::array<unsigned char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::io, fmt::format("no random numbers: {}", std::strerror(errno)));
  }
  std::string out;
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

Result<std::unique_ptr<Host>> Host::start(const Page& page, Answer answer, std::uint16_t port) {
  auto key = new_key();
  if (!key) return std::unexpected(key.error());
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener < 0) return refused(port, "cannot make a socket");
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener, generic, size) < 0 || listen(listener, 16) < 0 ||
      getsockname(listener, generic, &size) < 0) {
    auto error = refused(port, "cannot listen");
    close(listener);
    return error;
  }
  const int wake = eventfd(0, EFD_CLOEXEC);
  if (wake < 0) {
    auto error = refused(port, "cannot make an event");
    close(listener);
    return error;
  }
  Site site{.page = page,
            .answer = std::move(answer),
            .key = std::move(*key),
            .port = ntohs(address.sin_port)};
  return std::make_unique<LocalHost>(std::move(site), listener, wake);
}

}  // namespace hodo::web
