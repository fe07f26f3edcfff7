#include "threads.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <span>

#include "block_calls.h"
#include "call_results.h"
#include "channel.h"
#include "code_report.h"
#include "edition.h"
#include "glue.h"
#include "hodo/base/page.h"
#include "hodo/relay/engine_start.h"
#include "leave.h"
#include "line.h"
#include "lock.h"
#include "memory.h"
#include "passed_call.h"
#include "program_memory.h"
#include "recording.h"
#include "seccomp.h"
#include "service.h"
#include "signal_actions.h"
#include "sys.h"
#include "timed_wait.h"
#include "trap_flag.h"

namespace hodo::engine {

extern "C" relay::StartInfo hodo_start_info;

namespace {

constexpr std::size_t kBlock = ThreadArea::kBlock;
static_assert(kBlock == std::size_t{1} << Lock::kBlockBits);

// How many threads replace mappings, or were killed meanwhile.
std::uint32_t replacing = 0;

// All blocks that there have been; those whose thread has ended are used again.
constexpr std::size_t kMostThreads = 1 << 16;
ThreadArea** areas = nullptr;
std::size_t area_count = 0;

// Aligned to its size; null: there is no memory.
void* map_block() {
  const auto start = reinterpret_cast<std::uint64_t>(try_map_memory(2 * kBlock));
  if (start == 0) return nullptr;
  const std::uint64_t block = (start + kBlock - 1) & ~(kBlock - 1);
  const std::uint64_t behind = block + kBlock;
  if (block > start) unmap_memory(start, block - start);
  unmap_memory(behind, start + kBlock * 2 - behind);
  return reinterpret_cast<void*>(block);
}

void* find_block() {
  for (std::size_t i = 0; i < area_count; ++i) {
    if (!__atomic_load_n(&areas[i]->used, __ATOMIC_ACQUIRE)) return areas[i];
  }
  if (areas == nullptr) {
    areas = static_cast<ThreadArea**>(map_memory(kMostThreads * sizeof(ThreadArea*)));
  }
  if (area_count == kMostThreads) return nullptr;
  void* const block = map_block();
  if (block == nullptr) return nullptr;
  areas[area_count] = static_cast<ThreadArea*>(block);
  ++area_count;
  return block;
}

// Null: there is no memory.
SignalActions* copy_actions(const SignalActions* from) {
  void* const got = try_map_memory(sizeof(SignalActions));
  if (got == nullptr) return nullptr;
  auto* made = new (got) SignalActions;
  if (from != nullptr) *made = *from;
  return made;
}

void free_actions(SignalActions* actions) {
  unmap_memory(reinterpret_cast<std::uint64_t>(actions), sizeof(SignalActions));
}

// What a call that makes a thread or process asks for.
struct Clone {
  std::uint64_t flags = 0;
  std::uint64_t stack = 0;  // of the child; 0: its parent's
};

bool read_clone(const ThreadArea& area, Clone& clone) {
  const Registers& r = area.registers;
  switch (r.rax) {
    case SYS_fork:
      return true;
    case SYS_vfork:
      clone.flags = CLONE_VM | CLONE_VFORK;
      return true;
    case SYS_clone:
      clone = {static_cast<std::uint32_t>(r.rdi), r.rsi};
      return true;
    default: {
      clone_args args = {};
      if (r.rsi < CLONE_ARGS_SIZE_VER0 || !read_program(&args, r.rdi, CLONE_ARGS_SIZE_VER0)) {
        return false;  // the kernel says what is wrong
      }
      clone = {args.flags, args.stack == 0 ? 0 : args.stack + args.stack_size};
      return true;
    }
  }
}

// To another number: the lowest that is free is the program's.
void move_up(long& descriptor) {
  if (descriptor < 0) return;
  const long moved = raw_syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, descriptor + 1);
  if (failed(moved)) return;
  raw_syscall(SYS_close, descriptor);
  descriptor = moved;
}

// In a child that has a memory of its own only this thread goes on. The channels of the others are
// not there, and what they had open for those that they were making nobody else would close.
void forget_other_threads(const ThreadArea& self) {
  for (std::size_t i = 0; i < area_count; ++i) {
    if (areas[i] == &self) continue;
    if (self.files_are_new && areas[i]->used && areas[i]->connection >= 0 &&
        areas[i]->parent_pid == self.parent_pid) {
      raw_syscall(SYS_close, areas[i]->connection);
    }
    if (self.files_are_new && areas[i]->used && areas[i]->exec_connection >= 0 &&
        areas[i]->pid == self.parent_pid) {
      raw_syscall(SYS_close, areas[i]->exec_connection);
    }
    areas[i]->used = false;
    areas[i]->output.tracer.reset();
    if (areas[i]->output.channel) forget_channel(*areas[i]->output.channel);
  }
}

bool gives_files = false;

// The process that ends. Threads of others may run in the same memory.
std::int32_t ending_pid = 0;

bool still_writes(const ThreadArea& area) {
  if (!__atomic_load_n(&area.used, __ATOMIC_ACQUIRE) ||
      __atomic_load_n(&area.stopped, __ATOMIC_ACQUIRE)) {
    return false;
  }
  return area.output.tracer ? area.output.tracer->current() != nullptr : area.unit.enabled();
}

}  // namespace

bool is_last_thread(const ThreadArea& self) {
  const Locked locked;
  for (std::size_t i = 0; i < area_count; ++i) {
    if (areas[i] != &self && areas[i]->used && areas[i]->pid == self.pid) return false;
  }
  return true;
}

bool runs_in_this_memory(std::int32_t tid) {
  const Locked locked;
  return std::any_of(areas, areas + area_count,
                     [tid](const ThreadArea* area) { return area->used && area->tid == tid; });
}

// Without the lock, which is what is waited for.
bool has_been_killed(std::uint64_t block) {
  const auto& thread = *reinterpret_cast<const ThreadArea*>(block);
  const auto is_gone = [](const ThreadArea& one) {
    return one.tid != 0 && raw_syscall(SYS_tgkill, one.pid, one.tid, 0) == -ESRCH;
  };
  // Who begins a namespace of processes has no numbers for those outside.
  if (raw_syscall(SYS_getppid) == 0) return false;
  if (is_gone(thread)) return true;
  // Where another thread executes a program it gets the number of the first one, killed like all.
  return std::any_of(areas, areas + area_count, [&](const ThreadArea* one) {
    return one->executes && one->pid == thread.pid && one->tid != one->pid && is_gone(*one);
  });
}

bool may_share_files() { return gives_files; }

bool shares_memory(const ThreadArea& self) {
  const Locked locked;
  return std::any_of(areas, areas + area_count,
                     [&](const ThreadArea* area) { return area->used && area->pid != self.pid; });
}

bool any_thread_lets_through(const ThreadArea& self, std::int32_t tid, unsigned number) {
  const Locked locked;
  const std::uint64_t bit = signal_bit(number);
  return std::any_of(areas, areas + area_count, [&](const ThreadArea* area) {
    return area->used && area->pid == self.pid && (tid == 0 || area->tid == tid) &&
           ((area->program_mask | area->blocked_faults) & bit) == 0;
  });
}

void close_connection(long connection) {
  // Processes in one memory may have descriptors of their own: of others' areas this number says
  // nothing.
  const ThreadArea& self = current_area();
  const Locked locked;
  for (ThreadArea* const area : std::span(areas, area_count)) {
    const bool ours = area == &self || area->parent_tid == self.tid;
    if (area->used && ours && area->connection == connection) area->connection = -1;
    if (area == &self && area->exec_connection == connection) area->exec_connection = -1;
  }
  raw_syscall(SYS_close, connection);
}

ThreadArea& current_area() {
  return *reinterpret_cast<ThreadArea*>(
      reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) & ~(kBlock - 1));
}

ThreadArea* make_area(ThreadArea* parent) {
  const Locked locked;
  void* const block = find_block();
  if (block == nullptr) return nullptr;
  auto* area = new (block) ThreadArea;
  area->used = true;
  area->calls_top = offsetof(ThreadArea, calls);
  area->engine_stack = reinterpret_cast<std::uint64_t>(area) + kBlock;
  area->actions = parent == nullptr ? copy_actions(nullptr) : parent->actions;
  return area;
}

ThreadArea& make_needed_area(ThreadArea* parent) {
  ThreadArea* made = make_area(parent);
  if (made == nullptr || made->actions == nullptr) die("no memory for a thread");
  return *made;
}

const SignalActions& actions_of_process() {
  const long pid = raw_syscall(SYS_getpid);
  for (std::size_t i = 0; i < area_count; ++i) {
    if (areas[i]->used && areas[i]->pid == pid) return *areas[i]->actions;
  }
  die("no thread is known of process", static_cast<std::uint64_t>(pid));
}

bool is_stack_of_thread(std::uint64_t start, std::uint64_t end) {
  return std::any_of(areas, areas + area_count, [&](const ThreadArea* area) {
    return area->used && area->stack > start && area->stack <= end;
  });
}

void begin_replacing(ThreadArea& area, std::uint64_t start, std::uint64_t bytes) {
  area.replaced_start = start;
  area.replaced_bytes = bytes;
  ++replacing;
}

void end_replacing(ThreadArea& area) {
  area.replaced_bytes = 0;
  --replacing;
}

bool is_being_replaced(std::uint64_t page) {
  return replacing != 0 && std::any_of(areas, areas + area_count, [page](const ThreadArea* area) {
           return area->used && page + kPage > area->replaced_start &&
                  page < area->replaced_start + area->replaced_bytes;
         });
}

bool others_stand_in(const ThreadArea& self, std::uint32_t edition) {
  return std::any_of(areas, areas + area_count, [&](const ThreadArea* area) {
    return area != &self && __atomic_load_n(&area->used, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&area->stands_in, __ATOMIC_ACQUIRE) == edition;
  });
}

std::uint32_t oldest_edition_in_use(std::uint32_t current) {
  for (std::size_t i = 0; i < area_count; ++i) {
    if (!__atomic_load_n(&areas[i]->used, __ATOMIC_ACQUIRE)) continue;
    const std::uint32_t stands_in = __atomic_load_n(&areas[i]->stands_in, __ATOMIC_ACQUIRE);
    if (stands_in != 0) current = std::min(current, stands_in);
  }
  return current;
}

void begin_thread(ThreadArea& area, std::uint64_t ip, bool first) {
  begin_signals(area);
  if (by_blocks) {
    start_block_unit(area);
  } else {
    start_unit(area.output, area.unit, hodo_start_info.output, first ? 0 : area.tid);
  }
  area.calls_forgotten = area.unit.calls_forgotten();
  area.outcomes = unit::InlinePt::kNoOutcomes;
  enter_at(area, ip);
}

bool is_ending(const ThreadArea& area) {
  return area.pid != 0 && __atomic_load_n(&ending_pid, __ATOMIC_ACQUIRE) == area.pid;
}

void stop_here(ThreadArea& area) {
  block_signals();
  hand_over(area.output, false, 0);
  write_native_registers(area);
  __atomic_store_n(&area.stopped, true, __ATOMIC_RELEASE);
  for (;;) raw_syscall(SYS_pause);
}

void stop_other_threads(const ThreadArea& self) {
  constexpr int kTries = 200;
  constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 1'000'000};
  std::int32_t nobody = 0;
  if (!is_recorded(self) || is_last_thread(self) ||
      !__atomic_compare_exchange_n(&ending_pid, &nobody, self.pid, false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_ACQUIRE)) {
    return;
  }
  for (int i = 0; i < kTries; ++i) {
    bool any = false;
    for (std::size_t at = 0; at < area_count; ++at) {
      const ThreadArea& other = *areas[at];
      if (&other == &self || other.pid != self.pid || !still_writes(other)) continue;
      any = true;
      if (i == 0) raw_syscall(SYS_tgkill, other.pid, other.tid, kTrap);
    }
    if (!any) return;
    sleep_for(kBetween);
  }
}

void have_other_threads_shown(const ThreadArea& self) {
  if (!is_recorded(self) || is_last_thread(self)) return;
  // Who is in a system call has nothing to hand over, and was left there.
  for (ThreadArea* const area : std::span(areas, area_count)) {
    if (area == &self || area->pid != self.pid || !area->used || still_writes(*area)) continue;
    if (!__atomic_load_n(&area->stopped, __ATOMIC_ACQUIRE)) write_native_registers(*area);
  }
  raw_syscall(SYS_prctl, PR_SET_PTRACER, self.output.channel->settings().recorder_pid);
  have_stopped_threads_held();
}

extern "C" void engine_child(ThreadArea* area) {
  begin_signals(*area);  // a process has its parent's stack of handlers
  area->program_mask = area->first_mask;
  block_signals();
  if (area->memory_is_new) {
    forget_not_inherited();
    engine_lock.release();  // the parent held it over the call, so that nothing was half done
    forget_other_threads(*area);
  }
  // The first process of a namespace has other ones than its parent and its children:
  // is_ended_by().
  const bool is_other =
      area->start == relay::Start::child && (area->parent_pid == 1 || raw_syscall(SYS_getpid) == 1);
  if (area->handlers_are_gone || is_other) install_actions(*area);
  const bool thread = area->start == relay::Start::thread;
  begin_recording(*area, area->first_connection, area->start, area->parent_pid, area->parent_tid);
  if (thread) {
    const Locked locked;
    area->stack = area->registers.rsp;
    report_stack(area->stack);
  }
  begin_thread(*area, area->ip, false);
  set_mask(area->first_mask);
}

long clone_call(ThreadArea& area, std::uint64_t behind) {
  Clone clone;
  if (!read_clone(area, clone)) return glue_syscall(&area);
  const bool own_actions = (clone.flags & CLONE_SIGHAND) == 0;
  SignalActions* const actions = own_actions ? copy_actions(area.actions) : area.actions;
  ThreadArea* const made = actions == nullptr ? nullptr : make_area(&area);
  if (made == nullptr) {
    if (own_actions && actions != nullptr) free_actions(actions);
    return -EAGAIN;  // as where a process has as many threads as it may have
  }
  ThreadArea& child = *made;
  child.actions = actions;
  child.registers = area.registers;
  child.registers.rax = 0;
  child.registers.rcx = behind;
  if (clone.stack != 0) child.registers.rsp = clone.stack;
  child.taken[0] = area.taken[0];
  child.taken[1] = program_flags(area);
  child.ip = behind;
  set_trap_flag(child, program_flags(area));
  child.blocked_faults = area.blocked_faults;
  child.memory_is_new = (clone.flags & CLONE_VM) == 0;
  if (child.memory_is_new) child.native_thread = area.native_thread;  // as rseq_fork()
  if (child.memory_is_new || (clone.flags & CLONE_VFORK) != 0) child.alternate = area.alternate;
  child.waited_for = !child.memory_is_new && (clone.flags & CLONE_VFORK) != 0;
  const bool thread = (clone.flags & CLONE_THREAD) != 0;
  child.start = thread ? relay::Start::thread : relay::Start::child;
  if (thread) child.pid = area.pid;  // it counts from now on: is_last_thread()
  child.parent_pid = area.pid;
  child.parent_tid = area.tid;
  const bool apart = is_recorded(area) && (clone.flags & CLONE_NEWNET) != 0 && keep_line();
  child.files_are_new = (clone.flags & CLONE_FILES) == 0;
  if (!child.files_are_new && !thread) gives_files = true;
  child.connection = is_recorded(area) ? connect_recorder(&child.connection) : -1;
  if ((clone.flags & CLONE_PIDFD) != 0) {
    const Locked locked;
    move_up(child.connection);
  }
  const bool finds_it_itself = child.connection == -EMFILE && can_be_reached_apart();
  if (is_recorded(area) && child.connection < 0 && !finds_it_itself) {
    send_native(area, thread ? "a new thread" : "a new process", why_unreachable(child.connection));
  }
  if ((clone.flags & CLONE_CLEAR_SIGHAND) != 0) {
    child.handlers_are_gone = true;
    reset_handlers(*child.actions);
  }

  child.first_mask = block_signals();
  // Also those that faults raise, if somebody sends one: until the child has a stack for handlers
  // of its own, it would be taken for one of its parent's.
  set_mask(kAllSignals);
  if (area.waits != 0) {  // it came first
    set_mask(child.first_mask);
    if (apart) drop_line();
    if (child.connection >= 0) close_connection(child.connection);
    child.used = false;
    return kInterrupted;
  }
  const long connection = child.connection;
  child.first_connection = connection;
  give_back_results(area);
  if (child.memory_is_new) engine_lock.acquire();
  const long result = glue_clone(&area, &child);
  if (child.memory_is_new) engine_lock.release();
  set_mask(child.first_mask);
  if (apart && (failed(result) || (clone.flags & (CLONE_VM | CLONE_FILES)) == 0)) drop_line();
  // The child closes its own, and with CLONE_FILES this one.
  if (connection >= 0 && (failed(result) || (clone.flags & CLONE_FILES) == 0)) {
    close_connection(connection);
  }
  // A child with a memory of its own has a copy of what was made for it; one that shared this
  // memory until it ran another program is gone.
  if (failed(result) || child.memory_is_new || child.waited_for) {
    if (own_actions) free_actions(child.actions);
    if (child.waited_for) give_back(child.output);
    child.used = false;
    if (child.waited_for) begin_anew_after(child);
  }
  return result;
}

long exit_call(ThreadArea& area) {
  const std::uint64_t mask = block_signals();
  if (area.waits != 0) {  // it came first
    set_mask(mask);
    return kInterrupted;
  }
  if (area.registers.rax == SYS_exit) give_back_results(area);
  const bool process = area.registers.rax == SYS_exit_group || is_last_thread(area);
  const relay::EndRecord end{.exit_status = static_cast<std::int32_t>(area.registers.rdi & 0xff),
                             .is_judged = has_filter() ? 1u : 0u};
  if (process) stop_other_threads(area);
  end_recording(area, process ? &end : nullptr);
  static bool unused;
  glue_exit_thread(static_cast<int>(area.registers.rax), static_cast<int>(area.registers.rdi),
                   area.waited_for ? &unused : &area.used);
}

void end_strict_thread(ThreadArea& area, std::uint64_t behind) {
  block_signals();
  if (is_last_thread(area)) {
    constexpr std::uint64_t kCallBytes = 2;
    const relay::EndRecord end{
        .signal = static_cast<std::int32_t>(kKill), .ip_known = 1, .ip = behind - kCallBytes};
    end_recording(area, &end);
    raw_syscall(SYS_kill, raw_syscall(SYS_getpid), kKill);
  }
  end_recording(area, nullptr);
  glue_exit_thread(SYS_exit, kKill, &area.used);
}

}  // namespace hodo::engine
