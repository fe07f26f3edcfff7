// QEMU's TCG plugin interface, API version 1 (QEMU 6.0 to 8.x; Debian 12 has 7.2) and what later
// ones have in the same form, declared by us since no Debian package carries the header. Only what
// our plugins call; the emulator exports these symbols and they are resolved when it loads the
// plugin. Source of the facts: QEMU's docs/devel/tcg-plugins and the exported symbols of
// qemu-x86_64 7.2.
//
// Rules that QEMU sets:
// - A qemu_plugin_tb and its insns live only during the translation callback that received them.
// - Callbacks of one vCPU come one at a time; different vCPUs (guest threads under qemu-user) call
//   concurrently. Translation may also happen on several threads at once under qemu-user.
// - Strings documented as "to be freed" come from malloc: give them to free().
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

// The API version that a plugin was built for; QEMU refuses one outside its [min, cur]. See
// api_version.h for later ones.
inline constexpr int kQemuPluginApiVersion = 1;

using qemu_plugin_id_t = std::uint64_t;

// Handed to qemu_plugin_install; lives only during that call.
struct qemu_info_t {
  const char* target_name;  // "x86_64", "i386"
  struct {
    int min;
    int cur;
  } version;
  bool system_emulation;
  struct {  // only with system_emulation
    int smp_vcpus;
    int max_vcpus;
  } system;
};

// From version 2 on: a register as qemu_plugin_get_registers() lists it.
struct qemu_plugin_register;
struct qemu_plugin_reg_descriptor {
  qemu_plugin_register* handle;
  const char* name;     // as gdb calls it; belongs to QEMU
  const char* feature;  // the set it is of; may be null
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;
using qemu_plugin_meminfo_t = std::uint32_t;

enum qemu_plugin_cb_flags : int {
  QEMU_PLUGIN_CB_NO_REGS,
  QEMU_PLUGIN_CB_R_REGS,
  QEMU_PLUGIN_CB_RW_REGS,
};

enum qemu_plugin_mem_rw : int {
  QEMU_PLUGIN_MEM_R = 1,
  QEMU_PLUGIN_MEM_W,
  QEMU_PLUGIN_MEM_RW,
};

enum qemu_plugin_op : int { QEMU_PLUGIN_INLINE_ADD_U64 };

using qemu_plugin_simple_cb_t = void (*)(qemu_plugin_id_t id);
using qemu_plugin_udata_cb_t = void (*)(qemu_plugin_id_t id, void* userdata);
using qemu_plugin_vcpu_simple_cb_t = void (*)(qemu_plugin_id_t id, unsigned vcpu_index);
using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned vcpu_index, void* userdata);
using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t id, qemu_plugin_tb* tb);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu_index, qemu_plugin_meminfo_t info,
                                           std::uint64_t vaddr, void* userdata);
using qemu_plugin_vcpu_syscall_cb_t = void (*)(qemu_plugin_id_t id, unsigned vcpu_index,
                                               std::int64_t num, std::uint64_t a1, std::uint64_t a2,
                                               std::uint64_t a3, std::uint64_t a4, std::uint64_t a5,
                                               std::uint64_t a6, std::uint64_t a7,
                                               std::uint64_t a8);
using qemu_plugin_vcpu_syscall_ret_cb_t = void (*)(qemu_plugin_id_t id, unsigned vcpu_index,
                                                   std::int64_t num, std::int64_t ret);

// What the plugin defines and exports.
[[gnu::visibility("default")]] extern int qemu_plugin_version;
// Nonzero makes QEMU stop with an error. argv holds the "key=value" options after the file name.
[[gnu::visibility("default")]] int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info,
                                                       int argc, char** argv);

// vCPU (guest thread) life. The first vCPU's init comes after install; a forked child keeps its
// vCPU and gets no new init.
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_simple_cb_t cb);
// Comes when the program calls exit_group, ends by a signal that QEMU passes on, and before execve
// does not return; not with SIGKILL.
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb, void* userdata);
// Translated code was thrown away: blocks seen before will be translated again.
void qemu_plugin_register_flush_cb(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb);

// Takes back all callbacks and throws all translated code away, as soon as every vCPU stands
// between two blocks; then calls `cb`, which may register callbacks anew.
void qemu_plugin_reset(qemu_plugin_id_t id, qemu_plugin_simple_cb_t cb);

// Translation.
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* tb);
std::uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb* tb);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* tb, std::size_t index);
const void* qemu_plugin_insn_data(const qemu_plugin_insn* insn);
std::size_t qemu_plugin_insn_size(const qemu_plugin_insn* insn);
std::uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn* insn);
void* qemu_plugin_insn_haddr(const qemu_plugin_insn* insn);
// The disassembly, to be freed; null when QEMU has no disassembler for the guest.
char* qemu_plugin_insn_disas(const qemu_plugin_insn* insn);
// The symbol at the instruction, or null; belongs to QEMU.
const char* qemu_plugin_insn_symbol(const qemu_plugin_insn* insn);

// Execution; to be called from the translation callback.
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb* tb, qemu_plugin_vcpu_udata_cb_t cb,
                                          qemu_plugin_cb_flags flags, void* userdata);
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* tb, qemu_plugin_op op, void* ptr,
                                              std::uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn* insn, qemu_plugin_vcpu_udata_cb_t cb,
                                            qemu_plugin_cb_flags flags, void* userdata);
void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn* insn, qemu_plugin_op op,
                                                void* ptr, std::uint64_t imm);

// Memory accesses; to be called from the translation callback.
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn* insn, qemu_plugin_vcpu_mem_cb_t cb,
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw rw,
                                      void* userdata);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_sign_extended(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

// System calls: before the host kernel sees one, and after it returned (not for calls that do not
// return, and not for the child side of a clone that makes a thread).
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_cb_t cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t id,
                                              qemu_plugin_vcpu_syscall_ret_cb_t cb);

// Facts.
int qemu_plugin_n_vcpus();
int qemu_plugin_n_max_vcpus();
// Writes to QEMU's log (-D file, -d plugin); nothing is shown without them.
void qemu_plugin_outs(const char* string);

}  // extern "C"
