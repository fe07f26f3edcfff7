#include "fake_qemu.h"

#include <glib.h>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace hodo::plugin {

FakeQemu& fake_qemu() {
  static FakeQemu qemu;
  return qemu;
}

void FakeQemu::run(qemu_plugin_tb& block) {
  may_read = true;
  on_block = {};
  on_translate(1, &block);
  may_read = on_block.flags != QEMU_PLUGIN_CB_NO_REGS;
  if (on_block.call != nullptr) on_block.call(0, on_block.data);
  may_read = false;
}

}  // namespace hodo::plugin

using hodo::plugin::fake_qemu;

extern "C" {

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, qemu_plugin_vcpu_simple_cb_t cb) {
  fake_qemu().on_start = cb;
}
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_plugin_vcpu_tb_trans_cb_t cb) {
  fake_qemu().on_translate = cb;
}
// All callbacks go, and the plugin asks for new ones.
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb) {
  fake_qemu().on_start = nullptr;
  fake_qemu().on_translate = nullptr;
  fake_qemu().on_exit = nullptr;
  cb(id);
}
void qemu_plugin_register_flush_cb(qemu_plugin_id_t, qemu_plugin_simple_cb_t) {}
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, qemu_plugin_udata_cb_t cb, void*) {
  fake_qemu().on_exit = cb;
}
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb*, qemu_plugin_vcpu_udata_cb_t cb,
                                          qemu_plugin_cb_flags flags, void* data) {
  fake_qemu().on_block = {cb, flags, data};
}

std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb) { return tb->insns.size(); }
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb* tb) { return tb->insns[0].address; }
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, std::size_t index) {
  return const_cast<qemu_plugin_insn*>(&tb->insns[index]);
}
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn* insn) { return insn->bytes.size(); }
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* insn) { return insn->address; }

void* qemu_plugin_insn_haddr(const qemu_plugin_insn*) { return nullptr; }

// Handles are numbers from 1 on, by name.
GArray* qemu_plugin_get_registers() {
  ++fake_qemu().lists;
  GArray* list = g_array_new(FALSE, TRUE, sizeof(qemu_plugin_reg_descriptor));
  std::uintptr_t handle = 0;
  for (const auto& [name, value] : fake_qemu().registers) {
    const qemu_plugin_reg_descriptor one{reinterpret_cast<qemu_plugin_register*>(++handle),
                                         name.c_str(), "org.gnu.gdb.i386.core"};
    g_array_append_val(list, one);
  }
  return list;
}

int qemu_plugin_read_register(qemu_plugin_register* handle, GByteArray* out) {
  if (!fake_qemu().may_read) return -1;
  const auto& all = fake_qemu().registers;
  const auto found = std::next(all.begin(), reinterpret_cast<std::intptr_t>(handle) - 1);
  g_byte_array_append(out, reinterpret_cast<const guint8*>(&found->second), 8);
  return 8;
}

// No memory: the guest's kernel is not found.
void cpu_physical_memory_rw(std::uint64_t, void* out, std::uint64_t size, bool) {
  std::memset(out, 0, size);
}
bool cpu_physical_memory_is_io(std::uint64_t) { return false; }

}  // extern "C"
