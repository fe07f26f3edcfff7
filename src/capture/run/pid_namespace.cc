#include "pid_namespace.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
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

// The thread of `process` that calls itself `local`; 0: there is none.
pid_t find_thread(pid_t process, pid_t local) {
  std::error_code none;
  const std::string tasks = fmt::format("/proc/{}/task", process);
  for (const auto& task : std::filesystem::directory_iterator(tasks, none)) {
    const auto numbers = numbers_of(task.path());
    if (!numbers.empty() && numbers.back() == local) return numbers.front();
  }
  return 0;
}
pid_t thread_or_first(pid_t process, pid_t local) {
  const pid_t found = find_thread(process, local);
  return found != 0 ? found : process;
}

std::filesystem::path namespace_of(pid_t process) {
  std::error_code none;
  return std::filesystem::read_symlink(fmt::format("/proc/{}/ns/pid", process), none);
}

}  // namespace

relay::Hello in_our_namespace(relay::Hello hello, pid_t sender, pid_t connected) {
  if (sender <= 0 || !is_elsewhere(sender)) return hello;
  hello.pid = sender;
  hello.tid = thread_or_first(sender, hello.tid);
  if (hello.start == relay::Start::image || connected <= 0) return hello;
  hello.parent_pid = connected;
  if (is_elsewhere(connected)) hello.parent_tid = thread_or_first(connected, hello.parent_tid);
  return hello;
}

pid_t process_of(pid_t thread, pid_t sender) {
  const auto there = namespace_of(sender);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && namespace_of(process) == there && find_thread(process, thread) != 0) {
      return process;
    }
  }
  return 0;
}

}  // namespace hodo::capture
