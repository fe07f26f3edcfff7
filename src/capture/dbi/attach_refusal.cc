#include "attach_refusal.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "attachment.h"
#include "hodo/capture/fd.h"
#include "run/process_maps.h"
#include "seccomp_filter.h"
#include "tracee.h"

namespace hodo::capture {
namespace {

long number(const std::string& text) {
  long value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string named(pid_t pid) {
  return fmt::format("process {} ({})", pid, status_line(pid, "Name"));
}

std::string user_name(uid_t user) {
  const passwd* known = getpwuid(user);
  return known != nullptr ? known->pw_name : fmt::format("user {}", user);
}

// PF_KTHREAD in field 9 of /proc/PID/stat.
bool is_kernel_thread(pid_t pid) {
  constexpr unsigned long kKernelThread = 0x0020'0000;
  std::ifstream in(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(in, line);
  const std::size_t name = line.rfind(')');
  if (name == line.npos) return false;
  unsigned long flags = 0;
  char state = 0;
  int field[5] = {};
  const int got = std::sscanf(line.c_str() + name + 1, " %c %d %d %d %d %d %lu", &state, &field[0],
                              &field[1], &field[2], &field[3], &field[4], &flags);
  return got == 7 && (flags & kKernelThread) != 0;
}

bool is_32_bit(pid_t pid) {
  std::ifstream in(fmt::format("/proc/{}/exe", living_thread(pid)), std::ios::binary);
  std::array<char, EI_NIDENT> ident{};
  if (!in.read(ident.data(), ident.size())) return false;
  return std::memcmp(ident.data(), ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] == ELFCLASS32;
}

// Value of kernel.yama.ptrace_scope; 0 where there is no Yama.
long yama_scope() {
  std::ifstream in("/proc/sys/kernel/yama/ptrace_scope");
  long scope = 0;
  in >> scope;
  return scope;
}

Error not_permitted(pid_t pid) {
  const auto refused = [pid](const std::string& why) {
    return Error{ErrorCode::not_permitted,
                 fmt::format("{} may not be attached to: {}", named(pid), why)};
  };
  const auto owner = static_cast<uid_t>(number(status_line(pid, "Uid")));
  if (yama_scope() == 3) {
    return refused(
        "kernel.yama.ptrace_scope is 3, which forbids it to everybody until the next boot;"
        " remedy: start the program under hodo record");
  }
  if (geteuid() == 0) {
    return refused(
        "this root has no CAP_SYS_PTRACE over it; remedy: give the container that capability "
        "(--cap-add SYS_PTRACE), or run hodo outside of it");
  }
  if (owner != geteuid()) {
    return refused(fmt::format("it is {}'s; remedy: run hodo as {} or as root", user_name(owner),
                               user_name(owner)));
  }
  if (is_not_dumpable(pid)) {
    return refused(
        "it has capabilities, other rights than its file's owner, or has forbidden that"
        " (PR_SET_DUMPABLE); remedy: run hodo as root");
  }
  if (yama_scope() == 2) {
    return refused("kernel.yama.ptrace_scope is 2: only root may; remedy: run hodo as root");
  }
  if (yama_scope() == 1) {
    return refused(
        "kernel.yama.ptrace_scope is 1: only a program's own ancestors may; remedy: run hodo as "
        "root, or sysctl kernel.yama.ptrace_scope=0");
  }
  return refused(
      "a security module or a container's filter forbids ptrace; remedy: run hodo as root, outside "
      "of the container");
}

// What starts a program by vfork or posix_spawn shares its memory with that for a moment.
Status check_memory(pid_t pid) {
  constexpr std::chrono::milliseconds kPatience{2000}, kStep{5};
  const auto until = std::chrono::steady_clock::now() + kPatience;
  std::vector<pid_t> others = sharers_of_memory(pid);
  while (!others.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kStep);
    others = sharers_of_memory(pid);
  }
  if (others.empty()) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{} shares its memory with {}, which is no thread of it (vfork, or clone "
                          "with CLONE_VM); remedy: start it under hodo record, or try again when "
                          "the other has ended",
                          named(pid), named(others.front())));
}

// Linux 6.6 says of each thread which features of the processor it has turned on.
Status check_shadow_stacks(pid_t pid) {
  if (!status_line(living_thread(pid), "x86_Thread_features").contains("shstk")) return {};
  return fail(ErrorCode::unsupported,
              fmt::format("{} has shadow stacks, which the engine cannot keep; remedy: start it "
                          "under hodo record, or with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off",
                          named(pid)));
}

Status check_tracer(pid_t pid) {
  const pid_t tracer = tracer_of(pid);
  if (tracer == 0) return {};
  return fail(ErrorCode::not_permitted,
              fmt::format("{} is traced already, by {}; remedy: end that first", named(pid),
                          named(tracer)));
}

}  // namespace

Status check_attachable(pid_t pid) {
  const std::string state = status_line(pid, "State");
  if (pid <= 0 || state.empty()) {
    return fail(ErrorCode::not_found, fmt::format("no process has the number {}", pid));
  }
  const long process = number(status_line(pid, "Tgid"));
  if (process == getpid()) {
    return fail(ErrorCode::usage, fmt::format("{} is this hodo; it cannot record itself", pid));
  }
  if (process != pid) {
    return fail(ErrorCode::usage,
                fmt::format("{} is a thread of process {}; remedy: -p {} --threads {}", pid,
                            process, process, pid));
  }
  if (is_kernel_thread(pid)) {
    return fail(
        ErrorCode::unsupported,
        fmt::format("{} is a thread of the kernel, which is no program; remedy: --level kernel"
                    " with the processor's own trace",
                    named(pid)));
  }
  if (threads_of(pid).empty()) {
    return fail(ErrorCode::not_found,
                fmt::format("{} has ended, and only waits for its parent (a zombie)", named(pid)));
  }
  if (is_32_bit(pid)) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} is a 32-bit program, which the engine cannot run; remedy: start it"
                            " under hodo record --source qemu",
                            named(pid)));
  }
  if (const Status traced = check_tracer(pid); !traced) return traced;
  if (const Status shadows = check_shadow_stacks(pid); !shadows) return shadows;
  // Asks for the same rights as ptrace (mm_access() in the kernel's fs/proc/base.c).
  const std::string file = fmt::format("/proc/{}/mem", living_thread(pid));
  const Fd memory(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory && (errno == EACCES || errno == EPERM)) return std::unexpected(not_permitted(pid));
  if (const Status shared = check_memory(pid); !shared) return shared;
  return check_seccomp(pid);
}

Error refusal_to_hold(pid_t pid, int error) {
  if (error == ESRCH) {
    return {ErrorCode::not_found, fmt::format("process {} ended while it was attached to", pid)};
  }
  if (error == EBUSY) {
    std::string which;
    for (const pid_t tid : threads_of(pid)) {
      if (status_line(tid, "State").starts_with('D')) which = fmt::format(" (thread {})", tid);
    }
    return {
        ErrorCode::io,
        fmt::format("{} does not run, nor come to a stop{}: it waits in the kernel for a device,"
                    " in vfork for its child, or its control group is frozen; remedy: try again,"
                    " or thaw it",
                    named(pid), which)};
  }
  if (error != EPERM && error != EACCES) {
    return {ErrorCode::io, fmt::format("{} cannot be held: {}", named(pid), std::strerror(error))};
  }
  if (const Status traced = check_tracer(pid); !traced) return traced.error();
  return not_permitted(pid);
}

Error refusal_of_memory(pid_t pid, std::uint64_t address, int error) {
  if (error == EEXIST) {
    return {
        ErrorCode::unsupported,
        fmt::format("{} has memory where the engine belongs (0x{:x}): of its own, or of an engine"
                    " whose recorder was killed; remedy: start it anew under hodo record",
                    named(pid), address)};
  }
  if (error == EACCES || error == EPERM) {
    return {ErrorCode::not_permitted,
            fmt::format("{} may not have memory that is written and executed: {}; the engine needs"
                        " that; remedy: allow it (MemoryDenyWriteExecute=no of systemd, SELinux's"
                        " execmem)",
                        named(pid), std::strerror(error))};
  }
  return {ErrorCode::no_space, fmt::format("{} has no memory for the engine: {}; remedy: raise its"
                                           " limit (prlimit --as) or vm.max_map_count",
                                           named(pid), std::strerror(error))};
}

}  // namespace hodo::capture
