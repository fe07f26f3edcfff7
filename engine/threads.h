// The program's threads and processes: each has an area of its own, whoever's memory it runs in.
#pragma once

#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// Memory for a thread, with the signal actions of its parent; null: the first thread. Null
// where there is no memory.
ThreadArea* make_area(ThreadArea* parent);
// The same of a thread that runs already; dies where there is no memory.
ThreadArea& make_needed_area(ThreadArea* parent);

// The thread that runs here begins to be traced at `ip`.
void begin_thread(ThreadArea& area, std::uint64_t ip, bool first);

// clone, clone3, fork or vfork of the program, which goes on at `behind`.
long clone_call(ThreadArea& area, std::uint64_t behind);

// The system call in front of `behind`, which the thread has forbidden itself, ends it by SIGKILL,
// as the kernel would.
[[noreturn]] void end_strict_thread(ThreadArea& area, std::uint64_t behind);

// exit and exit_group.
long exit_call(ThreadArea& area);  // returns only if a signal came first

// The process has no other thread that the engine knows.
bool is_last_thread(const ThreadArea& self);

// Whether the thread runs in the same memory as this one; whether one of another process does.
bool runs_in_this_memory(std::int32_t tid);
bool shares_memory(const ThreadArea& self);
// Whether another process may have the same descriptors: one has been made so (CLONE_FILES).
bool may_share_files();

// Whether a thread of the process does not block the signal: this one, or any if `tid` is 0.
bool any_thread_lets_through(const ThreadArea& self, std::int32_t tid, unsigned number);

// The process is about to end: lets its other threads come to a place where their packets can be
// handed over, and stop there. Waits a fraction of a second for them, at most.
void stop_other_threads(const ThreadArea& self);
// Behind that, where a core file is about to be written: the recorder holds them from here on, with
// the program's registers. Those that did not stop are shown in the engine.
void have_other_threads_shown(const ThreadArea& self);
// That has begun: a thread that gets here, with the program's registers saved and area.ip where it
// would go on, hands over, and goes no further.
bool is_ending(const ThreadArea& area);
[[noreturn]] void stop_here(ThreadArea& area);

// Editions of the cache (edition.h) that threads stand in; both need the lock. Whether another one
// than `self` stands in this one; the oldest of all, `current` if none is older.
bool others_stand_in(const ThreadArea& self, std::uint32_t edition);
std::uint32_t oldest_edition_in_use(std::uint32_t current);

// Of a process whose threads stand still.
const SignalActions& actions_of_process();

// Whether a thread that runs began with its stack pointer in there. Needs the lock.
bool is_stack_of_thread(std::uint64_t start, std::uint64_t end);

// Mappings there are about to be replaced by a system call of this thread that the others must not
// wait for: until its end no page there is write-protected, which the new one could not be told of.
// These need the lock.
void begin_replacing(ThreadArea& area, std::uint64_t start, std::uint64_t bytes);
void end_replacing(ThreadArea& area);
bool is_being_replaced(std::uint64_t page);

// Closes what a thread that is made has for its channel (ThreadArea::connection).
void close_connection(long connection);

// Whose code is running: by the stack pointer.
ThreadArea& current_area();

}  // namespace hodo::engine
