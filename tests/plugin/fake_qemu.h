// An emulator that has one processor and translates one block when a test says so.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "qemu_api.h"

struct qemu_plugin_insn {
  std::uint64_t address = 0;
  std::vector<std::uint8_t> bytes;
};

struct qemu_plugin_tb {
  std::vector<qemu_plugin_insn> insns;
};

namespace hodo::plugin {

struct FakeQemu {
  // What a plugin has asked for.
  qemu_plugin_vcpu_simple_cb_t on_start = nullptr;
  qemu_plugin_vcpu_tb_trans_cb_t on_translate = nullptr;
  qemu_plugin_udata_cb_t on_exit = nullptr;
  struct {
    qemu_plugin_vcpu_udata_cb_t call = nullptr;
    qemu_plugin_cb_flags flags = QEMU_PLUGIN_CB_NO_REGS;
    void* data = nullptr;
  } on_block;

  // By gdb's names. A read outside of a callback that asked for it fails, as in QEMU.
  std::map<std::string, std::uint64_t> registers;
  bool may_read = false;
  unsigned lists = 0;  // how often the list of registers was asked for

  // Translates the block and executes it once; not every block is of interest to a plugin.
  void run(qemu_plugin_tb& block);
};

FakeQemu& fake_qemu();

}  // namespace hodo::plugin
