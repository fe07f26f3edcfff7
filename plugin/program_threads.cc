#include "program_threads.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "program_recorder.h"
#include "program_start.h"
#include "program_translation.h"

namespace hodo::plugin {
namespace {

using relay::RecordType;

// Counted before the call that makes a thread: it may end before that returns.
thread_local bool makes_thread __attribute__((tls_model("initial-exec"))) = false;

void begin_thread(int connection, relay::Start how, std::int32_t parent_pid,
                  std::int32_t parent_tid) {
  current_thread = Thread::start(connection, how, parent_pid, parent_tid, recorder->guest);
  if (current_thread == nullptr) {
    current_unit = recorder->callbacks.make_off();
    return;
  }
  current_unit = current_thread->tracer().unit();
  const std::lock_guard lock(recorder->mutex);
  const Mapping* stack = recorder->mappings.find(recorder->guest.stack_pointer());
  if (stack != nullptr) recorder->areas.add_stack(gettid(), {stack->where.start, stack->end()});
  recorder->threads.push_back(current_thread);
  recorder->filters.configure(current_thread->settings());
}

void forget_thread(Thread* thread) {
  current_unit = recorder->callbacks.make_off();
  current_thread = nullptr;
  const std::lock_guard lock(recorder->mutex);
  recorder->areas.remove_stack(gettid());
  std::erase(recorder->threads, thread);
  delete thread;
}

void send_end(Thread& thread, const relay::EndRecord& how) {
  thread.send(RecordType::end, bytes_of(how), {});
}

void set_name_as_the_kernel_would() { prctl(PR_SET_NAME, recorder->comm.c_str()); }

}  // namespace

void end_thread(std::uint64_t status, bool process) {
  Thread* thread = current_thread;
  if (thread == nullptr) return;
  if (process) send_end(*thread, {.exit_status = static_cast<std::int32_t>(status & 0xff)});
  thread->send(RecordType::exit, {}, {});
  thread->close();
  forget_thread(thread);
}

void on_clone(std::uint64_t flags) {
  makes_thread = (flags & CLONE_THREAD) != 0;
  if (makes_thread) ++recorder->alive;
}

void on_clone_return(std::int64_t result) {
  if (makes_thread && result < 0) --recorder->alive;
}

void before_fatal_signal(int signal) {
  static std::atomic_flag begun;  // what is done here may itself meet a memory that is gone
  Thread* thread = current_thread;
  if (thread == nullptr || begun.test_and_set()) return;
  const std::uint64_t ip = recorder->guest.instruction_pointer();
  const bool faulted =
      signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
  thread->tracer().interrupt(ip, faulted);
  send_end(*thread, {.signal = signal, .ip_known = 1, .ip = ip});
  thread->send(RecordType::exit, {}, {});
  thread->close();
}

void give_up_channels_in(const TakenMemory& taken) {
  if (taken.size == 0) return;
  const std::uint64_t start = recorder->guest.host(taken.start);
  bool own = false;
  {
    const std::lock_guard lock(recorder->mutex);
    for (Thread* thread : recorder->threads) {
      if (!thread->lies_in(start, taken.size)) continue;
      if (thread == current_thread)
        own = true;
      else
        thread->condemn();
    }
  }
  if (!own) return;
  Thread* thread = current_thread;
  thread->give_up();
  forget_thread(thread);
}

void first_event() {
  const bool image = std::exchange(recorder->first_image, false);
  if (image) set_name_as_the_kernel_would();
  begin_thread(relay::connect_recorder(recorder->socket, recorder->key),
               image ? relay::Start::image : relay::Start::thread, getpid(), getpid());
  if (!image || current_thread == nullptr) return;
  const std::lock_guard lock(recorder->mutex);
  const ProgramStart start = program_start(recorder->guest, recorder->guest.stack_pointer());
  if (start.vdso.end > start.vdso.start) recorder->areas.set_vdso(start.vdso);
  if (start.entry != 0) report_mapping(start.entry);
}

void before_fork() {
  recorder->mutex.lock();
  recorder->fork = {getpid(), gettid(), relay::connect_recorder(recorder->socket, recorder->key)};
}

void after_fork_in_parent() {
  close(recorder->fork.connection);
  recorder->mutex.unlock();
}

void after_fork_in_child() {
  recorder->mutex.unlock();
  for (Thread* thread : recorder->threads) {
    thread->forget();
    delete thread;
  }
  recorder->threads.clear();
  recorder->alive = 1;
  begin_thread(recorder->fork.connection, relay::Start::child, recorder->fork.pid,
               recorder->fork.tid);
}

}  // namespace hodo::plugin
