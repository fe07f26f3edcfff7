// A QEMU monitor (QMP) that answers from a table, for one client.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>

namespace hodo::capture {

class FakeQmp {
 public:
  // Answers by command: what stands for "return". A command that has none is refused.
  explicit FakeQmp(std::string path, std::map<std::string, std::string> answers)
      : path_(std::move(path)), answers_(std::move(answers)) {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    ::listen(listener_, 1);
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeQmp() {
    ::shutdown(listener_, SHUT_RDWR);
    end();
    thread_.join();
    ::close(listener_);
    ::unlink(path_.c_str());
  }
  FakeQmp(const FakeQmp&) = delete;
  FakeQmp& operator=(const FakeQmp&) = delete;

  const std::string& path() const { return path_; }
  // The machine ends.
  void end() {
    const int client = client_.load();
    if (client >= 0) ::shutdown(client, SHUT_RDWR);
  }

  // Answers a command that the table has not; to be set before a client comes.
  std::function<std::string(const std::string& line)> otherwise;
  std::string greeting =
      R"({"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}}, "capabilities": []}})";

 private:
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    client_ = client;
    say(greeting);
    std::string text;
    char part[512];
    for (ssize_t got; (got = ::recv(client, part, sizeof(part), 0)) > 0;) {
      text.append(part, static_cast<std::size_t>(got));
      for (std::size_t end; (end = text.find('\n')) != text.npos; text.erase(0, end + 1)) {
        answer(text.substr(0, end));
      }
    }
    client_ = -1;
    ::close(client);
  }
  void answer(const std::string& line) {
    const std::string start = R"({"execute":")";
    const std::string name = line.substr(start.size(), line.find('"', start.size()) - start.size());
    say(R"({"timestamp": {"seconds": 1}, "event": "RTC_CHANGE", "data": {"offset": 0}})");
    if (name == "qmp_capabilities") return say(R"({"return": {}})");
    const auto found = answers_.find(name);
    if (found != answers_.end()) return say("{\"return\": " + found->second + "}");
    if (otherwise) return say(otherwise(line));
    say(R"({"error": {"class": "CommandNotFound", "desc": "The command )" + name +
        R"( has not been found"}})");
  }
  void say(const std::string& line) {
    const std::string text = line + "\r\n";
    ::send(client_, text.data(), text.size(), MSG_NOSIGNAL);
  }

  std::string path_;
  std::map<std::string, std::string> answers_;
  int listener_ = -1;
  std::atomic<int> client_ = -1;
  std::thread thread_;
};

}  // namespace hodo::capture
