// A Linux kernel found in the memory of a virtual machine, and where its structures have their
// fields.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/guest/kallsyms.h"
#include "hodo/guest/memory.h"

namespace hodo::guest {

// Offsets of the fields that introspection reads, from the kernel's BTF.
struct Layout {
  struct {
    std::uint32_t tasks, mm, pid, tgid, comm, real_parent, group_leader, signal, thread_node;
    std::uint32_t state, children, sibling;
  } task{};
  struct {
    std::uint32_t thread_head;
  } signal{};
  struct {
    std::uint32_t pgd, exe_file;
    std::uint32_t maple_root;  // of mm_mt, since Linux 6.1
    std::uint32_t first;       // mmap, before
    bool has_maple_tree;
    std::uint32_t owner;
    bool has_owner;  // CONFIG_MEMCG
  } mm{};
  // Of the descriptor of a page that is a top-level page table (arch/x86/mm/pgtable.c).
  struct {
    std::uint32_t size, list, mm;
    bool known;
  } page{};
  struct {
    std::uint32_t capability;
  } cpuinfo{};
  struct {
    std::uint32_t start, end, flags, page_offset, file, next;
    std::uint32_t ops, private_data;
  } vma{};
  // Of struct vm_special_mapping, which the private data of the kernel's own mappings leads to.
  struct {
    std::uint32_t name;
    bool known;
  } special{};
  struct {
    std::uint32_t mount, dentry, inode;
  } file{};
  struct {
    std::uint32_t name, parent;  // name: of the pointer to the text
  } dentry{};
  struct {
    std::uint32_t vfsmount, parent, mountpoint, root;
  } mount{};
  struct {
    std::uint32_t number, superblock;
  } inode{};
  struct {
    std::uint32_t device;
  } superblock{};
  // Of struct module: text and size are those of its code, init_text and init_size those of the
  // code that only runs while it is loaded.
  struct {
    std::uint32_t list, name, text, size, init_text, init_size, kallsyms;
    bool known;
  } module{};
  struct {
    std::uint32_t table, count, names;
  } module_symbols{};
};

struct Kernel {
  std::uint64_t base = 0;  // of _text, after KASLR
  std::uint64_t size = 0;  // of the image that was found mapped
  std::string banner;      // "Linux version 6.1.0-56-amd64 ..."
  std::vector<KernelSymbol> symbols;
  Layout layout;

  std::uint64_t init_task = 0;
  std::uint64_t current_task = 0;  // offset of the pointer in a processor's per-CPU area
  std::uint64_t special_ops = 0;   // special_mapping_vmops; 0: not known

  // 0: no such symbol.
  std::uint64_t address_of(std::string_view symbol) const;
};

// Finds the running kernel. `text` is any address in its text, such as where an interrupt handler
// runs; `memory` must be a kernel's address space (with page-table isolation, not the user half).
// Reads the whole image: some 50 MiB, tens of milliseconds.
// Errors: not_found (nothing mapped there, no symbols or BTF in it: not Linux, or built without
// CONFIG_KALLSYMS or CONFIG_DEBUG_INFO_BTF), unsupported (a field is missing), and those of
// read_kallsyms.
Result<Kernel> find_kernel(const VirtualMemory& memory, std::uint64_t text);

}  // namespace hodo::guest
