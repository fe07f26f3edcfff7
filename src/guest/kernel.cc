#include "hodo/guest/kernel.h"

#include <algorithm>
#include <array>

#include "hodo/base/page.h"
#include "hodo/guest/btf.h"

namespace hodo::guest {
namespace {

// The kernel's image lies on large pages; CONFIG_PHYSICAL_ALIGN is 2 MiB or more, and what lies
// between __START_KERNEL_map and the image, and behind it, is unmapped (cleanup_highmap).
constexpr std::uint64_t kStep = 2 << 20;
constexpr std::uint64_t kKernelMap = 0xffff'ffff'8000'0000;
constexpr std::uint64_t kMostImage = 256 << 20;  // KERNEL_IMAGE_SIZE is 1 GiB at most

std::vector<std::uint8_t> read_image(const VirtualMemory& memory, std::uint64_t base) {
  std::vector<std::uint8_t> image;
  // Parts that are not mapped (freed __init sections, holes between sections) read as zeros.
  std::uint64_t end = 0;
  for (std::uint64_t at = 0; at < kMostImage && at - end < 2 * kStep;) {
    const auto found = translate(memory.physical(), memory.paging(), base + at);
    const std::uint64_t size =
        found ? found->page_size - ((base + at) & (found->page_size - 1)) : kPage;
    if (found) {
      image.resize(at + size);
      if (memory.physical().read(found->physical, std::span(image).subspan(at))) end = at + size;
    }
    at += size;
  }
  image.resize(std::min<std::uint64_t>(end, image.size()));
  return image;
}

Result<Btf> find_btf(std::span<const std::uint8_t> image) {
  static constexpr std::uint8_t kHeader[] = {0x9f, 0xeb, 1, 0, 24, 0, 0, 0, 0, 0, 0, 0};
  for (auto from = image.begin();;) {
    const auto found = std::search(from, image.end(), std::begin(kHeader), std::end(kHeader));
    if (found == image.end()) break;
    from = found + 1;
    auto btf = Btf::parse(image.subspan(static_cast<std::size_t>(found - image.begin())));
    if (btf && btf->offset_of("task_struct", "pid")) return btf;
  }
  return fail(ErrorCode::not_found, "the guest's kernel has no BTF (CONFIG_DEBUG_INFO_BTF)");
}

// What only some questions need.
void find_optional(const Btf& btf, Layout& l) {
  const auto owner = btf.offset_of("mm_struct", "owner");
  l.mm.has_owner = owner.has_value();
  l.mm.owner = owner.value_or(0);
  const auto ops = btf.offset_of("vm_area_struct", "vm_ops");
  const auto data = btf.offset_of("vm_area_struct", "vm_private_data");
  const auto name = btf.offset_of("vm_special_mapping", "name");
  l.special.known = ops && data && name;
  if (l.special.known) {
    l.vma.ops = *ops;
    l.vma.private_data = *data;
    l.special.name = *name;
  }
  // Page tables have a descriptor type of their own since Linux 6.6.
  const bool own_type = btf.size_of("ptdesc").has_value();
  const auto size = btf.size_of("page");
  const auto list = own_type ? btf.offset_of("ptdesc", "pt_list") : btf.offset_of("page", "lru");
  const auto mm = btf.offset_of(own_type ? "ptdesc" : "page", "pt_mm");
  l.page.known = size && list && mm;
  if (l.page.known) {
    l.page.size = *size;
    l.page.list = *list;
    l.page.mm = *mm;
  }
}

// Of modules, which a kernel need not have.
void find_module_layout(const Btf& btf, Layout& l) {
  bool all = true;
  const auto find = [&](std::uint32_t& field, const char* structure, const char* member) {
    const auto offset = btf.offset_of(structure, member);
    all &= offset.has_value();
    field = offset.value_or(0);
  };
  find(l.module.list, "module", "list");
  find(l.module.name, "module", "name");
  find(l.module.kallsyms, "module", "kallsyms");
  // Since Linux 6.4 an array of areas, by mod_mem_type: MOD_TEXT is 0, MOD_INIT_TEXT 4.
  const bool areas = btf.offset_of("module", "mem").has_value();
  const char* area = areas ? "module_memory" : "module_layout";
  std::uint32_t base = 0, init = 0, text = 0, size = 0;
  find(base, "module", areas ? "mem" : "core_layout");
  find(init, "module", areas ? "mem" : "init_layout");
  if (areas) init += 4 * btf.size_of(area).value_or(0);
  find(text, area, "base");
  find(size, area, areas ? "size" : "text_size");
  l.module.text = base + text;
  l.module.size = base + size;
  l.module.init_text = init + text;
  l.module.init_size = init + size;
  find(l.module_symbols.table, "mod_kallsyms", "symtab");
  find(l.module_symbols.count, "mod_kallsyms", "num_symtab");
  find(l.module_symbols.names, "mod_kallsyms", "strtab");
  l.module.known = all;
}

Result<Layout> layout_of(const Btf& btf) {
  Layout l;
  std::string missing;
  const auto find = [&](std::uint32_t& field, const char* structure, const char* member) {
    const auto offset = btf.offset_of(structure, member);
    if (!offset) missing = std::string(structure) + "." + member;
    field = offset.value_or(0);
  };
  find(l.task.tasks, "task_struct", "tasks");
  find(l.task.mm, "task_struct", "mm");
  find(l.task.pid, "task_struct", "pid");
  find(l.task.tgid, "task_struct", "tgid");
  find(l.task.comm, "task_struct", "comm");
  find(l.task.real_parent, "task_struct", "real_parent");
  find(l.task.group_leader, "task_struct", "group_leader");
  find(l.task.children, "task_struct", "children");
  find(l.task.sibling, "task_struct", "sibling");
  find(l.task.signal, "task_struct", "signal");
  find(l.task.thread_node, "task_struct", "thread_node");
  const char* state = btf.offset_of("task_struct", "__state") ? "__state" : "state";  // since 5.14
  find(l.task.state, "task_struct", state);
  find(l.signal.thread_head, "signal_struct", "thread_head");
  find(l.mm.pgd, "mm_struct", "pgd");
  find(l.mm.exe_file, "mm_struct", "exe_file");
  find(l.vma.start, "vm_area_struct", "vm_start");
  find(l.vma.end, "vm_area_struct", "vm_end");
  find(l.vma.flags, "vm_area_struct", "vm_flags");
  find(l.vma.page_offset, "vm_area_struct", "vm_pgoff");
  find(l.vma.file, "vm_area_struct", "vm_file");
  const auto maple = btf.offset_of("mm_struct", "mm_mt");
  l.mm.has_maple_tree = maple.has_value();
  if (maple) {
    find(l.mm.maple_root, "maple_tree", "ma_root");
    l.mm.maple_root += *maple;
  } else {
    find(l.mm.first, "mm_struct", "mmap");
    find(l.vma.next, "vm_area_struct", "vm_next");
  }
  find(l.cpuinfo.capability, "cpuinfo_x86", "x86_capability");
  find_optional(btf, l);
  std::uint32_t path = 0, qstr = 0;
  find(path, "file", "f_path");
  find(l.file.mount, "path", "mnt");
  find(l.file.dentry, "path", "dentry");
  l.file.mount += path, l.file.dentry += path;
  find(l.file.inode, "file", "f_inode");
  find(l.dentry.name, "dentry", "d_name");
  find(qstr, "qstr", "name");
  l.dentry.name += qstr;
  find(l.dentry.parent, "dentry", "d_parent");
  find(l.mount.vfsmount, "mount", "mnt");
  find(l.mount.parent, "mount", "mnt_parent");
  find(l.mount.mountpoint, "mount", "mnt_mountpoint");
  find(l.mount.root, "vfsmount", "mnt_root");
  find(l.inode.number, "inode", "i_ino");
  find(l.inode.superblock, "inode", "i_sb");
  find(l.superblock.device, "super_block", "s_dev");
  find_module_layout(btf, l);
  if (missing.empty()) return l;
  return fail(ErrorCode::unsupported, "the guest's kernel has no field " + missing);
}

std::string banner_in(std::span<const std::uint8_t> image) {
  constexpr std::string_view kStart = "Linux version ";
  const auto found = std::search(image.begin(), image.end(), kStart.begin(), kStart.end());
  const auto end = std::find_if(found, image.end(), [](std::uint8_t c) { return c < ' '; });
  return {found, end - found > 512 ? found + 512 : end};
}

}  // namespace

std::uint64_t Kernel::address_of(std::string_view symbol) const {
  const auto found = std::ranges::find(symbols, symbol, &KernelSymbol::name);
  return found == symbols.end() ? 0 : found->address;
}

Result<Kernel> find_kernel(const VirtualMemory& memory, std::uint64_t text) {
  if (text < kKernelMap || !memory.mapped(text)) {
    return fail(ErrorCode::not_found, "no Linux kernel runs in the guest");
  }
  Kernel kernel;
  kernel.base = text & ~(kStep - 1);
  while (kernel.base > kKernelMap && memory.mapped(kernel.base - kStep)) kernel.base -= kStep;
  const std::vector<std::uint8_t> image = read_image(memory, kernel.base);
  kernel.size = image.size();
  kernel.banner = banner_in(image);
  if (kernel.banner.empty()) {
    return fail(ErrorCode::not_found, "what runs in the guest is no Linux kernel");
  }
  auto symbols = read_kallsyms(image);
  if (!symbols) return std::unexpected(symbols.error());
  kernel.symbols = std::move(*symbols);
  const auto btf = find_btf(image);
  if (!btf) return std::unexpected(btf.error());
  const auto layout = layout_of(*btf);
  if (!layout) return std::unexpected(layout.error());
  kernel.layout = *layout;
  kernel.init_task = kernel.address_of("init_task");
  kernel.current_task = kernel.address_of("current_task");
  kernel.special_ops = kernel.address_of("special_mapping_vmops");
  if (kernel.current_task == 0) kernel.current_task = kernel.address_of("pcpu_hot");  // 6.2 to 6.14
  if (kernel.init_task == 0 || kernel.current_task == 0) {
    return fail(ErrorCode::unsupported,
                "the guest's kernel does not list init_task and current_task "
                "(CONFIG_KALLSYMS_ALL)");
  }
  return kernel;
}

}  // namespace hodo::guest
