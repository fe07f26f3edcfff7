// The program's system calls about files that the recorder or the engine hold open, by its
// registers; the kernel's answer.
#pragma once

#include "thread_area.h"

namespace hodo::engine {

// What ran of a file system that is to be unmounted the recorder holds open, and lets go of.
long unmount_call(ThreadArea& area);

// A name goes away, or becomes another file's: the recorder opens what it was told of before.
long unname_call(ThreadArea& area);

// The engine's line to the recorder is not the program's to close, and gives way to its files.
long close_call(ThreadArea& area);
long close_range_call(ThreadArea& area);
long dup_call(ThreadArea& area);  // dup2, dup3

}  // namespace hodo::engine
