// The recording plugin: QEMU's callbacks on one side, the trace unit on the other.
//
// One trace unit per guest thread, of the kind that the option unit= names. Every translated block
// is described once (translate) and reports its execution (program_execution.h); system calls,
// forks, execs and new code are the occasions where the program leaves the traced context, as it
// would under a kernel.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include "api_version.h"
#include "fatal_signals.h"
#include "hodo/relay/exec_plan.h"
#include "program_calls.h"
#include "program_execution.h"
#include "program_recorder.h"
#include "program_threads.h"
#include "program_translation.h"
#include "qemu_api.h"
#include "qemu_messages.h"

int qemu_plugin_version = hodo::plugin::declared_api_version();

namespace hodo::plugin {

Recorder* recorder = nullptr;
constinit thread_local void* current_unit __attribute__((tls_model("initial-exec"))) = nullptr;
constinit thread_local Thread* current_thread __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

std::string own_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(&own_path), &info) != 0 ? info.dli_fname : "";
}

// The program may change its folder.
std::string absolute(std::string_view path) {
  std::error_code none;
  return std::filesystem::absolute(path, none).string();
}

int install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  const std::string_view target = info->target_name;
  if (info->system_emulation || (target != "x86_64" && target != "i386")) {
    std::fprintf(stderr,
                 "hodo: this plugin records programs under qemu-x86_64 and qemu-i386 only\n");
    return 1;
  }
  recorder = new Recorder;
  recorder->key = relay::take_key();
  std::string unit = "pt";
  bool probe = false;
  for (int i = 0; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option.starts_with("unit=")) unit = option.substr(5);
    if (option.starts_with("socket=")) recorder->socket = option.substr(7);
    if (option.starts_with("comm=")) recorder->comm = option.substr(5);
    if (option.starts_with("path=")) recorder->program = absolute(option.substr(5));
    probe = probe || option == relay::kProbeOption;
  }
  recorder->plugin_option =
      relay::escape_option(own_path()) + ",socket=" + recorder->socket + ",unit=" + unit;
  recorder->callbacks = callbacks_of(unit);
  set_emulator_version(*info);
  if (!recorder->guest.attach(target == "x86_64")) {
    std::fprintf(stderr,
                 "hodo: this QEMU gives no registers: neither by its plugin interface, as QEMU 9.0 "
                 "and later do, nor by qemu_get_cpu and x86_cpu_gdb_read_register, as Debian 12's "
                 "qemu-user 7.2 does\n");
    return 1;
  }
  if (probe) {
    std::puts(relay::kProbeAnswer);
    std::fflush(stdout);
    _exit(0);
  }
  leave_out_words_about_signals();
  watch_fatal_signals(before_fatal_signal);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
  qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
  return 0;
}

}  // namespace
}  // namespace hodo::plugin

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc, char** argv) {
  return hodo::plugin::install(id, info, argc, argv);
}
