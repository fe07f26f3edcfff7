#include "pid_namespace.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace hodo::capture {
namespace {

// Its numbers in all namespaces that it is in, from ours to its own (proc(5), NSpid); none: it is
// gone.
std::vector<pid_t> numbers_of(const std::string& folder) {
  constexpr std::string_view kField = "NSpid:";
  std::ifstream status(folder + "/status");
  std::vector<pid_t> numbers;
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(kField)) continue;
    std::istringstream in(line.substr(kField.size()));
    for (pid_t number = 0; in >> number;) numbers.push_back(number);
    break;
  }
  return numbers;
}

bool is_elsewhere(pid_t process) { return numbers_of(fmt::format("/proc/{}", process)).size() > 1; }

// The thread of `process` that calls itself `local`; its first one if there is none.
pid_t find_thread(pid_t process, pid_t local) {
  std::error_code none;
  const std::string tasks = fmt::format("/proc/{}/task", process);
  for (const auto& task : std::filesystem::directory_iterator(tasks, none)) {
    const auto numbers = numbers_of(task.path());
    if (!numbers.empty() && numbers.back() == local) return numbers.front();
  }
  return process;
}

}  // namespace

relay::Hello in_our_namespace(relay::Hello hello, pid_t sender, pid_t connected) {
  if (sender <= 0 || !is_elsewhere(sender)) return hello;
  hello.pid = sender;
  hello.tid = find_thread(sender, hello.tid);
  if (hello.start == relay::Start::image || connected <= 0) return hello;
  hello.parent_pid = connected;
  if (is_elsewhere(connected)) hello.parent_tid = find_thread(connected, hello.parent_tid);
  return hello;
}

}  // namespace hodo::capture
