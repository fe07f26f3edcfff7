// What the plugin for virtual machines does when a block is executed.
#pragma once

#include "qemu_api.h"

namespace hodo::plugin {

// For a block that is described (their data is a CodeBlock): one callback for whole blocks and one
// for those that were made in order to step over an instruction, see PtUnit::enter_stepped.
struct BlockCallbacks {
  qemu_plugin_vcpu_udata_cb_t enter, enter_stepped;
};
extern const BlockCallbacks kUserBlock;
// Of a kernel that is known; all but the entries are for tracing it.
extern const BlockCallbacks kKernelEntry, kKernelBlock, kTaskSwitch;

// Without data. User code of another width than 32 or 64 bits, or of a system that is not one of 64
// bits.
void on_odd_user_block(unsigned index, void*);
// Of a kernel that is not known: any may be where it was entered.
void on_any_kernel_block(unsigned index, void*);
// The processor was reset.
void on_real_mode_block(unsigned index, void*);
// __switch_to_asm, of a kernel that is not traced.
void on_task_leaves(unsigned index, void*);
// __set_task_comm.
void on_rename(unsigned index, void*);
// The same two while nobody who is to be recorded has run.
void on_first_switch(unsigned index, void*);
void on_first_rename(unsigned index, void*);

}  // namespace hodo::plugin
