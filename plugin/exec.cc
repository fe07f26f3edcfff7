#include "exec.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

namespace hodo::plugin {
namespace {

constexpr std::size_t kMaxStrings = 1 << 20;

std::vector<std::string> read_strings(const Guest& guest, std::uint64_t array) {
  std::vector<std::string> out;
  const std::uint64_t word = guest.wide() ? 8 : 4;
  for (; array != 0 && out.size() < kMaxStrings; array += word) {
    const auto pointer = guest.read_word(array);
    if (!pointer || *pointer == 0) break;
    out.push_back(guest.read_string(*pointer).value_or(""));
  }
  return out;
}

// Paths under /proc/self that mean QEMU to the kernel but the guest's program to the guest.
std::string as_the_guest_means(const std::string& path, const std::string& program) {
  if (path == "/proc/self/exe" || path == "/proc/thread-self/exe" ||
      path == "/proc/" + std::to_string(getpid()) + "/exe") {
    return program;
  }
  // A descriptor may be closed by the exec: name the file itself while it can be told.
  if (path.starts_with("/proc/self/fd/") || path.starts_with("/dev/fd/")) {
    char target[PATH_MAX];
    if (realpath(path.c_str(), target) != nullptr) return target;
  }
  return path;
}

// The strings as execve wants them: pointers with a null at the end, valid as long as the strings.
std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

}  // namespace

Result<relay::ExecPlan> plan_guest_exec(const Guest& guest, std::uint64_t path, std::uint64_t argv,
                                        std::uint64_t envp, const relay::Settings& settings,
                                        const relay::Key& key, const std::string& plugin_option,
                                        const std::string& program) {
  const auto name = guest.read_string(path);
  if (!name) return fail(ErrorCode::malformed, "bad address");
  const std::string file = as_the_guest_means(*name, program);
  const auto executable = relay::inspect(file, read_strings(guest, argv));
  if (!executable) return std::unexpected(executable.error());
  const auto native = [&](std::string_view why) {
    return fail(ErrorCode::unsupported, file + std::string(1, '\0') + std::string(why));
  };
  switch (executable->kind) {
    case relay::Executable::Kind::not_binary:
      return fail(ErrorCode::malformed, "not executable");
    case relay::Executable::Kind::foreign:
      return native(executable->obstacle);
    default:
      break;
  }
  auto plan =
      relay::plan_exec(*executable, read_strings(guest, envp), settings, key, plugin_option);
  if (!plan) return native(plan.error().message);
  return plan;
}

void run(const relay::ExecPlan& plan) {
  execve(plan.program.c_str(), pointers(plan.argv).data(), pointers(plan.environment).data());
}

}  // namespace hodo::plugin
