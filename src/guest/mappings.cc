#include "hodo/guest/mappings.h"

#include <algorithm>
#include <array>

namespace hodo::guest {
namespace {

constexpr std::size_t kMostMappings = 65'536;  // sysctl vm.max_map_count is 65,530 by default
constexpr std::uint64_t kExecutable = 4;       // VM_EXEC

// include/linux/maple_tree.h: nodes have 256 bytes; a pointer to one has its type in bits 3 to 6.
enum MapleType : std::uint8_t { kDense, kLeaf64, kRange64, kArange64 };
constexpr std::uint64_t kNodeMask = 255, kInternal = 2, kLowest = 3, kFirstNode = 4096;

struct Shape {
  std::size_t pivots, first_slot, slots;  // in words of the node
};

Shape shape_of(std::uint64_t type) {
  if (type == kDense) return {0, 1, 31};
  if (type == kArange64) return {9, 10, 10};
  return {15, 16, 16};
}

bool is_node(std::uint64_t entry) { return (entry & kLowest) == kInternal && entry > kFirstNode; }

// The entries of the tree in order. Old values in slots behind a node's end are left out: a pivot
// of 0 or at the node's own limit ends it.
std::vector<std::uint64_t> maple_entries(const VirtualMemory& memory, std::uint64_t root) {
  struct Node {
    std::uint64_t pointer, limit;
  };
  std::vector<std::uint64_t> entries;
  std::vector<Node> stack;
  if (is_node(root)) {
    stack.push_back({root, ~std::uint64_t{0}});
  } else if (root != 0) {
    entries.push_back(root);
  }
  for (std::size_t visited = 0; !stack.empty() && visited < kMostMappings; ++visited) {
    const Node node = stack.back();
    stack.pop_back();
    const auto words = memory.read<std::array<std::uint64_t, 32>>(node.pointer & ~kNodeMask);
    if (!words) continue;
    const std::uint64_t type = node.pointer >> 3 & 15;
    const Shape shape = shape_of(type);
    std::vector<Node> children;
    for (std::size_t i = 0; i < shape.slots; ++i) {
      const std::uint64_t slot = (*words)[shape.first_slot + i];
      const std::uint64_t pivot = i < shape.pivots ? (*words)[1 + i] : node.limit;
      const std::uint64_t limit = i > 0 && pivot == 0 ? node.limit : pivot;
      if (slot != 0 && type <= kLeaf64) entries.push_back(slot);
      if (slot != 0 && type > kLeaf64) children.push_back({slot, limit});
      if (limit >= node.limit) break;
    }
    stack.insert(stack.end(), children.rbegin(), children.rend());
    if (entries.size() > kMostMappings) break;
  }
  return entries;
}

std::vector<std::uint64_t> area_list(const VirtualMemory& memory, const Layout& l,
                                     std::uint64_t mm) {
  std::vector<std::uint64_t> areas;
  auto area = memory.read<std::uint64_t>(mm + l.mm.first);
  while (area && *area != 0 && areas.size() < kMostMappings) {
    areas.push_back(*area);
    area = memory.read<std::uint64_t>(*area + l.vma.next);
  }
  return areas;
}

// What the kernel itself has mapped has a name (mm/mmap.c, special_mapping_name).
std::string special_name(const VirtualMemory& memory, const Kernel& kernel, std::uint64_t area) {
  constexpr std::size_t kMostName = 32;
  const Layout& l = kernel.layout;
  if (!l.special.known || kernel.special_ops == 0) return {};
  if (memory.read<std::uint64_t>(area + l.vma.ops) != kernel.special_ops) return {};
  const auto special = memory.read<std::uint64_t>(area + l.vma.private_data);
  const auto text = special ? memory.read<std::uint64_t>(*special + l.special.name) : std::nullopt;
  const auto name = text ? memory.read_string(*text, kMostName) : std::nullopt;
  return name && name->starts_with('[') ? *name : std::string();
}

}  // namespace

std::string read_path(const VirtualMemory& memory, const Kernel& kernel, std::uint64_t file) {
  constexpr std::size_t kMostNames = 256, kMostPath = 4096, kMostName = 255;
  const Layout& l = kernel.layout;
  auto dentry = memory.read<std::uint64_t>(file + l.file.dentry);
  auto vfsmount = memory.read<std::uint64_t>(file + l.file.mount);
  std::string path;
  for (std::size_t i = 0; i < kMostNames && dentry && vfsmount && path.size() < kMostPath; ++i) {
    const auto parent = memory.read<std::uint64_t>(*dentry + l.dentry.parent);
    const auto root = memory.read<std::uint64_t>(*vfsmount + l.mount.root);
    if (!parent || !root) return {};
    if (*dentry == *root) {
      const std::uint64_t mount = *vfsmount - l.mount.vfsmount;
      const auto above = memory.read<std::uint64_t>(mount + l.mount.parent);
      if (!above) return {};
      if (*above == mount) break;  // the root of all
      dentry = memory.read<std::uint64_t>(mount + l.mount.mountpoint);
      vfsmount = *above + l.mount.vfsmount;
      continue;
    }
    const auto text = memory.read<std::uint64_t>(*dentry + l.dentry.name);
    const auto name = text ? memory.read_string(*text, kMostName) : std::nullopt;
    if (!name) return {};
    if (*parent == *dentry) {  // no file system that is mounted: "memfd:name", "anon_inode:..."
      path.insert(0, *name);
      return path.starts_with('/') ? path : "/" + path;
    }
    path.insert(0, "/" + *name);
    dentry = parent;
  }
  return path;
}

std::vector<GuestMapping> read_mappings(const VirtualMemory& memory, const Kernel& kernel,
                                        std::uint64_t mm) {
  const Layout& l = kernel.layout;
  const auto areas =
      l.mm.has_maple_tree
          ? maple_entries(memory, memory.read<std::uint64_t>(mm + l.mm.maple_root).value_or(0))
          : area_list(memory, l, mm);
  std::vector<GuestMapping> out;
  for (const std::uint64_t area : areas) {
    const auto start = memory.read<std::uint64_t>(area + l.vma.start);
    const auto end = memory.read<std::uint64_t>(area + l.vma.end);
    const auto flags = memory.read<std::uint64_t>(area + l.vma.flags);
    const auto file = memory.read<std::uint64_t>(area + l.vma.file);
    if (!start || !end || !flags || !file || *start >= *end) continue;
    GuestMapping mapping{.start = *start, .end = *end};
    mapping.executable = (*flags & kExecutable) != 0;
    if (*file != 0) {
      const auto pages = memory.read<std::uint64_t>(area + l.vma.page_offset).value_or(0);
      mapping.offset = pages << 12;
      mapping.path = read_path(memory, kernel, *file);
      const auto inode = memory.read<std::uint64_t>(*file + l.file.inode).value_or(0);
      mapping.inode = memory.read<std::uint64_t>(inode + l.inode.number).value_or(0);
      const auto superblock = memory.read<std::uint64_t>(inode + l.inode.superblock).value_or(0);
      const auto device = memory.read<std::uint32_t>(superblock + l.superblock.device).value_or(0);
      mapping.major = device >> 20;  // MINORBITS
      mapping.minor = device & 0xfffff;
    } else {
      mapping.path = special_name(memory, kernel, area);
    }
    out.push_back(std::move(mapping));
  }
  std::ranges::sort(out, {}, &GuestMapping::start);
  return out;
}

}  // namespace hodo::guest
