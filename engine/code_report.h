// Which code the program runs: told to the recorder before it runs for the first time. Files are
// told of as mappings; what is in no file, or can be written to, is sent as it is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "thread_area.h"

namespace hodo::engine {

// All of these need the lock, and do nothing where there is no recorder.

// These bytes have been translated and may run from now on. True: the recorder knew others there.
bool report_code(ThreadArea& area, std::uint64_t ip, std::size_t bytes);
// The files whose code the program has mapped since the last time. `unwritten`: nobody has had the
// right to write to what has come.
void report_files(ThreadArea& area, bool unwritten);
// Code at `ip` runs at its own place only: told of as a mapping, if it is the kernel's around
// probes.
void report_probes(ThreadArea& area, std::uint64_t ip);
// After such system calls of the program.
void report_unmapped(std::uint64_t start, std::uint64_t bytes);
void report_protected(ThreadArea& area, std::uint64_t start, std::uint64_t bytes,
                      std::uint32_t prot);
// The system call that the program is in gave it the right to execute this memory: that of it which
// is in no file is told of, so that the trace says who asked for it.
void report_granted(ThreadArea& area, std::uint64_t start, std::uint64_t bytes);
// The recorder opens the files that it is told of by their names, a moment later: waits until it
// has, those of other processes too.
void hold_told_files();
// The same if it was told of code in a file with this inode, which is about to lose its name.
void hold_told_file(std::uint64_t inode);
// A thread begins with its stack pointer here: code may have run there before.
void report_stack(std::uint64_t pointer);
// What is remembered of the bytes that were sent; and without it, all code that runs from here on
// is sent again.
std::uint64_t report_bytes();
void forget_reports();
// The same where whoever reported was killed half way: mappings are told of again, too.
void abandon_reports();
// False: there is no memory for what one fragment adds to it.
bool reports_are_ready();
// How often anything was told: a thread that has seen fewer may come to code that is younger than
// the time in its packets.
extern std::uint32_t report_count;
inline std::uint32_t reports() { return __atomic_load_n(&report_count, __ATOMIC_ACQUIRE); }

}  // namespace hodo::engine
