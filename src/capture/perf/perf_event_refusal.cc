#include "perf_event_refusal.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace hodo::capture {
namespace {

// Debian's kernels know levels 3 and 4, which forbid everything to unprivileged users.
constexpr int kParanoidUserOnly = 2;

Error no_permission(const SystemPaths& paths) {
  const auto level = read_small_file(paths.sys_kernel + "/perf_event_paranoid");
  if (level && std::atoi(level->c_str()) > kParanoidUserOnly) {
    return {ErrorCode::not_permitted,
            "kernel.perf_event_paranoid is " + *level +
                ", which forbids tracing; as root: sysctl kernel.perf_event_paranoid=2"};
  }
  return {ErrorCode::not_permitted,
          "the kernel does not permit tracing: the program is privileged (set-user-ID), the kernel "
          "was to be traced without CAP_PERFMON, or a container's seccomp profile forbids "
          "perf_event_open"};
}

}  // namespace

Error open_refused(int reason, const SystemPaths& paths, std::string_view trace) {
  const std::string name(trace);
  switch (reason) {
    case EACCES:
    case EPERM:
      return no_permission(paths);
    case EBUSY:
      return {ErrorCode::io,
              name +
                  " is in use: another recording of all processors, another kind of branch trace "
                  "(Intel PT, BTS and LBR exclude each other), or a hypervisor "
                  "(kvm_intel.pt_mode=1); stop that one first"};
    case ENODEV:
    case ENOENT:
    case ENXIO:
    case EOPNOTSUPP:
      return {ErrorCode::unsupported, "the kernel cannot use " + name +
                                          " here: the processor has none, or this is a virtual "
                                          "machine to which it is not given, or a processor is "
                                          "offline; record with --source qemu"};
    case EINVAL:
      return {ErrorCode::unsupported,
              "the kernel does not accept this combination of options for " + name +
                  " on this processor"};
    case E2BIG:
      return {ErrorCode::unsupported, "this kernel is too old for the options that were asked for"};
    case EMFILE:
    case ENFILE:
      return {
          ErrorCode::io,
          "too many open files: two are needed for each processor; raise the limit (ulimit -n)"};
    case ENOSYS:
      return {ErrorCode::unsupported, "this kernel was built without perf events"};
    case ESRCH:
      return {ErrorCode::io, "the program to record is gone"};
    default:
      return {ErrorCode::io, "cannot open an event for " + name + ": " + std::strerror(reason)};
  }
}

Error map_refused(int reason, const SystemPaths& paths) {
  if (reason == EPERM || reason == EAGAIN) {
    const auto limit = read_small_file(paths.sys_kernel + "/perf_event_mlock_kb");
    return {
        ErrorCode::not_permitted,
        "the limit of locked memory for trace buffers is used up (kernel.perf_event_mlock_kb is " +
            limit.value_or("unknown") +
            " KiB for each processor); end other recordings, ask for smaller buffers, or raise it "
            "as root: sysctl kernel.perf_event_mlock_kb=4096"};
  }
  if (reason == ENOMEM) {
    return {ErrorCode::no_space, "not enough memory for the trace buffers; ask for smaller ones"};
  }
  return {ErrorCode::io, std::string("cannot map a trace buffer: ") + std::strerror(reason)};
}

Error filter_refused(int reason, const std::string& filter) {
  return {reason == EOPNOTSUPP ? ErrorCode::unsupported : ErrorCode::usage,
          "the kernel does not accept the address filter \"" + filter +
              "\": " + std::strerror(reason) + "; is it a range inside an existing program file?"};
}

}  // namespace hodo::capture
