#include "program_calls.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>

#include "exec.h"
#include "program_recorder.h"
#include "program_threads.h"
#include "program_translation.h"
#include "signals.h"
#include "syscalls.h"

namespace hodo::plugin {
namespace {

using relay::RecordType;

void execute(std::uint64_t path, std::uint64_t argv, std::uint64_t envp) {
  if (current_thread == nullptr || !current_thread->settings().follow_exec) return;
  const auto plan = plan_guest_exec(recorder->guest, path, argv, envp, current_thread->settings(),
                                    recorder->key, recorder->plugin_option, recorder->program);
  if (!plan) {
    if (plan.error().code == ErrorCode::unsupported) {
      current_thread->send(RecordType::native, {}, text_of(plan.error().message));
    }
    return;  // QEMU goes on with the call: it fails as it must, or runs the program natively
  }
  current_thread->leave();
  run(*plan);
  current_thread->stay();
}

void install_handler(std::uint64_t address) {
  if (address <= 1) return;  // SIG_DFL, SIG_IGN
  add_signal_handler(address);
  recorder->blocks.mark_handler(address);
}

// The arguments of mmap, munmap and mprotect: known at the call, used at its return.
struct MappingCall {
  std::uint64_t start = 0, length = 0, prot = 0;
  std::uint64_t end() const { return start + length; }
};
thread_local MappingCall mapping_call __attribute__((tls_model("initial-exec")));

// Code that the program may write to from now on, and what becomes of it later.
void report_rights(const MappingCall& call) {
  for (Mapping* mapping : recorder->mappings.reported_in(call.start, call.end())) {
    if ((call.prot & PROT_WRITE) == 0 && !mapping->was_writable) continue;
    mapping->was_writable = true;
    relay::MapRecord part = mapping->where;
    part.start = std::max(part.start, call.start);
    part.length = std::min(mapping->end(), call.end()) - part.start;
    part.offset += part.start - mapping->where.start;
    part.prot = static_cast<std::uint32_t>(call.prot);
    send_mapping(part, mapping->path);
  }
}

// Files that are mapped to be executed are reported now, while tracing is disabled, rather than at
// their first instruction.
void on_mapping_call(Syscall call, std::int64_t result) {
  const std::lock_guard lock(recorder->mutex);
  recorder->mappings.changed();
  if (result < 0 && result > -4096) return;
  const MappingCall& how = mapping_call;
  if (call == Syscall::brk) recorder->areas.set_break(static_cast<std::uint64_t>(result));
  if (call == Syscall::munmap) {
    recorder->areas.forget({how.start, how.end()});
    recorder->known_code.forget(how.start, how.length + 4095);  // whole pages
  }
  if (current_thread == nullptr) return;
  const bool executable = (how.prot & PROT_EXEC) != 0;
  if (call == Syscall::mmap && executable) report_mapping(static_cast<std::uint64_t>(result));
  if (call != Syscall::mprotect) return;
  report_rights(how);
  if (executable) report_mapping(how.start);
}

}  // namespace

void on_syscall(qemu_plugin_id_t, unsigned, std::int64_t number, std::uint64_t a1, std::uint64_t a2,
                std::uint64_t a3, std::uint64_t a4, std::uint64_t a5, std::uint64_t, std::uint64_t,
                std::uint64_t) {
  if (current_unit == nullptr) return;
  if (current_thread != nullptr) current_thread->tracer().leave_context();
  for (const TakenMemory& taken :
       memory_taken(recorder->guest.wide(), number, {a1, a2, a3, a4, a5})) {
    give_up_channels_in(taken);
  }
  switch (classify_syscall(recorder->guest.wide(), number)) {
    case Syscall::sets_handler:
      if (a2 != 0) install_handler(recorder->guest.read_word(a2).value_or(0));
      return;
    case Syscall::sets_handler_directly:
      return install_handler(a2);
    case Syscall::mmap:
    case Syscall::munmap:
    case Syscall::mprotect:
      mapping_call = {a1, a2, a3};
      return;
    case Syscall::execve:
      return execute(a1, a2, a3);
    case Syscall::sends_signal:
      // Maybe SIGKILL for itself: what is not sealed then the program may have taken back.
      if (current_thread != nullptr) current_thread->tracer().publish();
      return;
    case Syscall::clone:
      return on_clone(a1);
    case Syscall::exit_thread:
      return end_thread(a1, --recorder->alive == 0);
    case Syscall::exit_process:
      return end_thread(a1, true);
    default:
      return;
  }
}

void on_syscall_return(qemu_plugin_id_t, unsigned, std::int64_t number, std::int64_t result) {
  const Syscall call = classify_syscall(recorder->guest.wide(), number);
  switch (call) {
    case Syscall::mmap:
    case Syscall::munmap:
    case Syscall::mprotect:
    case Syscall::brk:
    case Syscall::changes_mappings:
      return on_mapping_call(call, result);
    case Syscall::clone:
      return on_clone_return(result);
    case Syscall::prctl:
      if (current_thread != nullptr) current_thread->report_name();
      return;
    default:
      return;
  }
}

}  // namespace hodo::plugin
