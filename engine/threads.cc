#include "threads.h"

#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cerrno>
#include <new>

#include "cache.h"
#include "glue.h"
#include "lock.h"
#include "program_memory.h"
#include "service.h"
#include "signals.h"
#include "start_info.h"
#include "sys.h"

namespace hodo::engine {

extern "C" StartInfo hodo_start_info;

namespace {

constexpr std::size_t kBlock = ThreadArea::kBlock;

// All blocks that there have been; those whose thread has ended are used again.
constexpr std::size_t kMostThreads = 1 << 16;
ThreadArea** areas = nullptr;
std::size_t area_count = 0;

std::uint64_t clock_tsc() {
  std::uint32_t low = 0, high = 0;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return std::uint64_t{high} << 32 | low;
}

long map(std::size_t bytes) {
  return raw_syscall(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

// Aligned to its size.
void* map_block() {
  const long got = map(2 * kBlock);
  if (failed(got)) die("no memory for a thread", static_cast<std::uint64_t>(-got));
  const auto start = static_cast<std::uint64_t>(got);
  const std::uint64_t block = (start + kBlock - 1) & ~(kBlock - 1);
  if (block > start) raw_syscall(SYS_munmap, got, static_cast<long>(block - start));
  const std::uint64_t behind = block + kBlock;
  raw_syscall(SYS_munmap, static_cast<long>(behind),
              static_cast<long>(start + kBlock * 2 - behind));
  return reinterpret_cast<void*>(block);
}

void* find_block() {
  for (std::size_t i = 0; i < area_count; ++i) {
    if (!__atomic_load_n(&areas[i]->used, __ATOMIC_ACQUIRE)) return areas[i];
  }
  if (areas == nullptr) {
    const long got = map(kMostThreads * sizeof(ThreadArea*));
    if (failed(got)) die("no memory for threads", static_cast<std::uint64_t>(-got));
    areas = reinterpret_cast<ThreadArea**>(got);
  }
  if (area_count == kMostThreads) die("too many threads", area_count);
  areas[area_count] = static_cast<ThreadArea*>(map_block());
  return areas[area_count++];
}

SignalActions* copy_actions(const SignalActions* from) {
  const long got = map(sizeof(SignalActions));
  if (failed(got)) die("no memory for signal actions", static_cast<std::uint64_t>(-got));
  auto* made = new (reinterpret_cast<void*>(got)) SignalActions;
  if (from != nullptr) *made = *from;
  return made;
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
      clone = {r.rdi, r.rsi};
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

// In a child that has a memory of its own only this thread goes on.
void forget_other_threads(const ThreadArea& self) {
  for (std::size_t i = 0; i < area_count; ++i) {
    if (areas[i] != &self) areas[i]->used = false;
  }
}

}  // namespace

ThreadArea& current_area() {
  return *reinterpret_cast<ThreadArea*>(
      reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) & ~(kBlock - 1));
}

ThreadArea* make_area(ThreadArea* parent) {
  const Locked locked;
  auto* area = new (find_block()) ThreadArea;
  area->used = true;
  area->engine_stack = reinterpret_cast<std::uint64_t>(area) + kBlock;
  area->actions = parent == nullptr ? copy_actions(nullptr) : parent->actions;
  return area;
}

void begin_thread(ThreadArea& area, std::uint64_t ip, long tid) {
  begin_signals(area);
  area.unit.start(hodo_start_info.rtit_ctl, isa::Mode::bits64,
                  open_output(area.output, hodo_start_info.output, tid), &clock_tsc);
  for (std::uint32_t& call : area.calls) {
    call = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(no_call));
  }
  area.outcomes = unit::InlinePt::kNoOutcomes;
  area.unit.enter_at(ip);
  go_on_at(area, ip);
}

extern "C" void engine_child(ThreadArea* area) {
  if (area->memory_is_new) {
    engine_lock.release();  // the parent held it over the call, so that nothing was half done
    forget_other_threads(*area);
  }
  if (area->handlers_are_gone) install_actions(*area);
  begin_thread(*area, area->ip, raw_syscall(SYS_gettid));
  set_mask(area->first_mask);
}

long clone_call(ThreadArea& area, std::uint64_t behind) {
  Clone clone;
  if (!read_clone(area, clone)) return glue_syscall(&area);
  ThreadArea& child = *make_area(&area);
  child.registers = area.registers;
  child.registers.rax = 0;
  child.registers.rcx = behind;
  if (clone.stack != 0) child.registers.rsp = clone.stack;
  child.taken[0] = area.taken[0];
  child.taken[1] = area.registers.flags;
  child.ip = behind;
  child.blocked_faults = area.blocked_faults;
  child.memory_is_new = (clone.flags & CLONE_VM) == 0;
  if (child.memory_is_new || (clone.flags & CLONE_VFORK) != 0) child.alternate = area.alternate;
  child.waited_for = !child.memory_is_new && (clone.flags & CLONE_VFORK) != 0;
  const bool own_actions = (clone.flags & CLONE_SIGHAND) == 0;
  if (own_actions) child.actions = copy_actions(area.actions);
  if ((clone.flags & CLONE_CLEAR_SIGHAND) != 0) {
    child.handlers_are_gone = true;
    reset_handlers(*child.actions);
  }

  child.first_mask = block_signals();
  if (area.waits != 0) {  // it came first
    set_mask(child.first_mask);
    child.used = false;
    return kInterrupted;
  }
  if (child.memory_is_new) engine_lock.acquire();
  const long result = glue_clone(&area, &child);
  if (child.memory_is_new) engine_lock.release();
  set_mask(child.first_mask);
  // A child with a memory of its own has a copy of what was made for it; one that shared this
  // memory until it ran another program is gone.
  if (failed(result) || child.memory_is_new || child.waited_for) {
    if (own_actions) {
      raw_syscall(SYS_munmap, reinterpret_cast<long>(child.actions), sizeof(SignalActions));
    }
    if (child.waited_for) close_output(child.output, child.output.drained);
    child.used = false;
  }
  return result;
}

void exit_call(ThreadArea& area) {
  block_signals();
  close_output(area.output, area.unit.written());
  static bool unused;
  glue_exit_thread(static_cast<int>(area.registers.rax), static_cast<int>(area.registers.rdi),
                   area.waited_for ? &unused : &area.used);
}

}  // namespace hodo::engine
