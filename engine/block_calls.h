// Tracing block by block. Plain Intel PT is written inline. What that cannot do, BTS records,
// branch stacks, filters, counted instructions, returns without compression, is the unit's: each
// block of code in the cache begins with a call that tells it so, as QEMU's plugin does.
#pragma once

#include <cstdint>

#include "hodo/relay/protocol.h"
#include "hodo/unit/block.h"
#include "thread_area.h"

namespace hodo::engine {

// What code in the cache names in such a call. Below 2 GB. The unit remembers the
// last one: keep_block().
struct BlockSite {
  unit::Block block;
  bool excluded = false;  // by the filters
};

// Whether this process is traced so. What is translated before the first thread's channel is there
// would be wrong.
extern bool by_blocks;
void choose_tracing(const relay::Settings& settings);

// Starts the unit of a thread whose channel is open, or none for one that is not recorded.
void start_block_unit(ThreadArea& area);

// The last block is gone soon: the unit goes on with a copy of it.
void keep_block(ThreadArea& area);

// Around what tells the recorder of new code; with the lock, by a thread that is recorded.
void before_new_code(ThreadArea& area);
void after_new_code(ThreadArea& area);

}  // namespace hodo::engine
