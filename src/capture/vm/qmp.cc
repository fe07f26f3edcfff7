#include "qmp.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace hodo::capture {
namespace {

using nlohmann::json;

constexpr int kPatienceMs = 5000;
// A message's limit: more than any answer that is asked for here.
constexpr std::size_t kMostBytes = 4 << 20;
constexpr std::size_t kMostCpus = 4096;

Error refused(const std::string& path, int reason) {
  const std::string why = path + ": " + std::strerror(reason);
  if (reason == ENOENT || reason == ECONNREFUSED) {
    return {ErrorCode::not_found,
            why + "; start the machine with -qmp unix:" + path + ",server=on,wait=off"};
  }
  const bool rights = reason == EACCES || reason == EPERM;
  return {rights ? ErrorCode::not_permitted : ErrorCode::io, why};
}

// A member that is a number; `otherwise` where it is none.
template <class T>
T number(const json& object, const char* name, T otherwise) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number_integer() ? found->get<T>() : otherwise;
}

// Of a command whose answer says nothing.
Status status_of(const Result<json>& answer) {
  return answer ? Status() : std::unexpected(answer.error());
}

}  // namespace

Result<Qmp> Qmp::connect(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::usage, "'" + path + "': the path of a socket has 1 to 107 bytes");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return std::unexpected(refused(path, errno));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return std::unexpected(refused(path, errno));
  }
  Qmp qmp(std::move(socket), path);
  const auto greeting = qmp.next_message();
  if (!greeting) return std::unexpected(greeting.error());
  if (!greeting->is_object() || !greeting->contains("QMP")) {
    return fail(ErrorCode::malformed, path + ": is no QEMU monitor (QMP)");
  }
  // Out of the mode in which capabilities are negotiated, where nothing else is answered.
  if (const auto ready = qmp.execute("qmp_capabilities"); !ready) {
    return std::unexpected(ready.error());
  }
  return qmp;
}

Result<std::vector<VirtualCpu>> Qmp::cpus() {
  const auto answer = execute("query-cpus-fast");
  if (!answer) return std::unexpected(answer.error());
  std::vector<VirtualCpu> out;
  if (!answer->is_array() || answer->size() > kMostCpus) {
    return fail(ErrorCode::malformed, path_ + ": query-cpus-fast gives no list of processors");
  }
  for (const json& cpu : *answer) {
    VirtualCpu one;
    if (cpu.is_object()) {
      one.index = number<std::uint32_t>(cpu, "cpu-index", ~0u);
      one.thread = number<pid_t>(cpu, "thread-id", 0);
    }
    if (one.index >= kMostCpus || one.thread <= 0) {
      return fail(ErrorCode::malformed, path_ + ": query-cpus-fast gives a processor no thread");
    }
    out.push_back(one);
  }
  std::ranges::sort(out, {}, &VirtualCpu::index);
  return out;
}

Result<bool> Qmp::uses_kvm() {
  const auto answer = execute("query-kvm");
  if (!answer) return std::unexpected(answer.error());
  return answer->is_object() && answer->contains("enabled") && (*answer)["enabled"] == true;
}

Result<std::string> Qmp::monitor(const std::string& line, std::uint32_t cpu) {
  const json arguments = {{"command-line", line}, {"cpu-index", cpu}};
  const auto answer = execute("human-monitor-command", arguments.dump());
  if (!answer) return std::unexpected(answer.error());
  if (!answer->is_string()) return fail(ErrorCode::malformed, path_ + ": the monitor gave no text");
  return answer->get<std::string>();
}

Result<bool> Qmp::running() {
  const auto answer = execute("query-status");
  if (!answer) return std::unexpected(answer.error());
  return answer->is_object() && answer->contains("running") && (*answer)["running"] == true;
}

Status Qmp::stop() { return status_of(execute("stop")); }
Status Qmp::resume() { return status_of(execute("cont")); }

Status Qmp::save_memory(std::uint64_t address, std::uint64_t size, const std::string& file) {
  const json arguments = {{"val", address}, {"size", size}, {"filename", file}};
  return status_of(execute("pmemsave", arguments.dump()));
}

bool Qmp::alive() {
  while (receive(0)) {
    const auto end = received_.rfind('\n');
    if (end != received_.npos) received_.erase(0, end + 1);
    pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&entry, 1, 0) <= 0) return true;
  }
  return false;
}

// One command and its answer; events that come in between are passed over.
Result<json> Qmp::execute(const std::string& command, const std::string& arguments) {
  std::string text = fmt::format(R"({{"execute":"{}")", command);
  if (!arguments.empty()) text += R"(,"arguments":)" + arguments;
  text += "}\n";
  if (::send(socket_.get(), text.data(), text.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(text.size())) {
    return std::unexpected(gone());
  }
  for (;;) {
    auto message = next_message();
    if (!message) return message;
    if (!message->is_object()) break;
    if (const auto found = message->find("return"); found != message->end()) return *found;
    if (const auto found = message->find("error"); found != message->end()) {
      const bool told = found->is_object() && found->contains("desc");
      const std::string why = told && (*found)["desc"].is_string()
                                  ? (*found)["desc"].get<std::string>()
                                  : std::string("no reason given");
      return fail(ErrorCode::unsupported,
                  fmt::format("{}: QEMU refused {}: {}", path_, command, why));
    }
    if (!message->contains("event")) break;
  }
  return fail(ErrorCode::malformed, path_ + ": is no QEMU monitor (QMP)");
}

// Messages are lines.
Result<json> Qmp::next_message() {
  std::size_t end = received_.find('\n');
  while (end == received_.npos) {
    const std::size_t before = received_.size();
    if (auto more = receive(kPatienceMs); !more) return std::unexpected(more.error());
    if (received_.size() > kMostBytes) {
      return fail(ErrorCode::malformed, path_ + ": a message has no end");
    }
    end = received_.find('\n', before);
  }
  json message = json::parse(received_.substr(0, end), nullptr, false);
  received_.erase(0, end + 1);
  if (message.is_discarded()) return fail(ErrorCode::malformed, path_ + ": does not speak JSON");
  return message;
}

// Waits for bytes and adds them to what was received.
Status Qmp::receive(int timeout_ms) {
  pollfd entry{.fd = socket_.get(), .events = POLLIN, .revents = 0};
  const int ready = ::poll(&entry, 1, timeout_ms);
  if (ready == 0 && timeout_ms == 0) return {};
  if (ready <= 0) {
    return fail(ErrorCode::io,
                path_ +
                    ": QEMU does not answer; its monitor serves one client at a time, which may be "
                    "another one (libvirt): give the machine a second -qmp socket");
  }
  std::array<char, 16384> part{};
  const ssize_t got = ::recv(socket_.get(), part.data(), part.size(), 0);
  if (got <= 0) return std::unexpected(gone());
  received_.append(part.data(), static_cast<std::size_t>(got));
  return {};
}

Error Qmp::gone() const { return {ErrorCode::io, path_ + ": the machine has gone"}; }

}  // namespace hodo::capture
