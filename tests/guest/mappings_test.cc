#include "hodo/guest/mappings.h"

#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;

constexpr std::uint64_t kMm = 0xffff'8880'0000'1000;
constexpr std::uint64_t kAreas = 0xffff'8880'0001'0000;
constexpr std::uint64_t kNodes = 0xffff'8880'0002'0000;
constexpr std::uint64_t kFile = 0xffff'8880'0003'0000;
constexpr std::uint64_t kNever = ~std::uint64_t{0};

// Types of maple nodes, as in the pointer to one.
constexpr std::uint64_t kLeaf = 1 << 3 | 6, kArange = 3 << 3 | 6;

class Mappings : public testing::Test {
 protected:
  std::uint64_t area(std::uint64_t start, std::uint64_t end, std::uint64_t flags,
                     std::uint64_t file = 0) {
    const std::uint64_t at = kAreas + 256 * areas_++;
    const auto& l = kernel_.layout.vma;
    space_.put(at + l.start, start);
    space_.put(at + l.end, end);
    space_.put(at + l.flags, flags);
    space_.put(at + l.page_offset, std::uint64_t{3});
    space_.put(at + l.file, file);
    space_.put(at + l.next, std::uint64_t{0});
    return at;
  }
  // A node with these pivots and slots; returns the pointer to it without its type.
  std::uint64_t node(std::size_t first_slot, std::vector<std::uint64_t> pivots,
                     std::vector<std::uint64_t> slots) {
    const std::uint64_t at = kNodes + 256 * nodes_++;
    for (std::size_t i = 0; i < 32; ++i) space_.put(at + 8 * i, std::uint64_t{0});
    for (std::size_t i = 0; i < pivots.size(); ++i) space_.put(at + 8 * (1 + i), pivots[i]);
    for (std::size_t i = 0; i < slots.size(); ++i) space_.put(at + 8 * (first_slot + i), slots[i]);
    return at;
  }
  std::uint64_t leaf(std::vector<std::uint64_t> pivots, std::vector<std::uint64_t> slots) {
    return node(16, std::move(pivots), std::move(slots)) | kLeaf;
  }
  void root(std::uint64_t entry) { space_.put(kMm + kernel_.layout.mm.maple_root, entry); }
  std::vector<GuestMapping> read() { return read_mappings(space_.view(), kernel_, kMm); }

  // dentry chain of "/usr/bin/prog" with /usr a mount of its own.
  void file() {
    const auto& l = kernel_.layout;
    const std::uint64_t names = kFile + 0x1000, dentries = kFile + 0x2000, mounts = kFile + 0x3000;
    const auto dentry = [&](int i, std::string_view name, int parent) {
      space_.text(names + 32 * i, name);
      space_.put(dentries + 64 * i + l.dentry.name, names + 32 * i);
      space_.put(dentries + 64 * i + l.dentry.parent, dentries + 64 * parent);
    };
    dentry(0, "/", 0), dentry(1, "usr", 0);                        // of the root file system
    dentry(2, "/", 2), dentry(3, "bin", 2), dentry(4, "prog", 3);  // of what is mounted at /usr
    const auto mount = [&](int i, int parent, int mountpoint, int mount_root) {
      const std::uint64_t at = mounts + 128 * i;
      space_.put(at + l.mount.parent, mounts + 128 * parent);
      space_.put(at + l.mount.mountpoint, dentries + 64 * mountpoint);
      space_.put(at + l.mount.vfsmount + l.mount.root, dentries + 64 * mount_root);
    };
    mount(0, 0, 0, 0), mount(1, 0, 1, 2);
    const std::uint64_t inode = kFile + 0x4000, superblock = kFile + 0x4100;
    space_.put(kFile + l.file.dentry, dentries + 64 * 4);
    space_.put(kFile + l.file.mount, mounts + 128 + l.mount.vfsmount);
    space_.put(kFile + l.file.inode, inode);
    space_.put(inode + l.inode.number, std::uint64_t{99});
    space_.put(inode + l.inode.superblock, superblock);
    space_.put(superblock + l.superblock.device, std::uint32_t{8 << 20 | 1});
  }

  Kernel kernel_ = test::fake_kernel();
  FakeMemory memory_;
  FakeSpace space_{memory_};
  std::uint64_t areas_ = 0, nodes_ = 0;
};

TEST_F(Mappings, OfOneLeafAreInOrder) {
  const auto a = area(0x1000, 0x2000, 4), b = area(0x5000, 0x6000, 0);
  const auto old = area(0x7000, 0x8000, 0);
  // Empty up to 0xfff, a, empty, b, empty for ever; what is behind is old.
  root(leaf({0xfff, 0x1fff, 0x4fff, 0x5fff, kNever, 0x7fff}, {0, a, 0, b, 0, old}));
  const auto found = read();
  ASSERT_EQ(found.size(), 2);
  EXPECT_EQ(found[0].start, 0x1000);
  EXPECT_TRUE(found[0].executable);
  EXPECT_EQ(found[1].end, 0x6000);
  EXPECT_FALSE(found[1].executable);
  EXPECT_TRUE(found[1].path.empty());
}

TEST_F(Mappings, OfSeveralNodesAreAllFound) {
  std::vector<std::uint64_t> leaves, limits;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t at = 0x10000 * (i + 1);
    leaves.push_back(leaf({at - 1, at + 0xfff}, {0, area(at, at + 0x1000, 4)}));
    limits.push_back(at + 0xfff);
  }
  limits.back() = kNever;  // pivots: one less than slots
  limits.pop_back();
  root(node(10, limits, leaves) | kArange);
  EXPECT_EQ(read().size(), 10);
}

TEST_F(Mappings, HaveThePathsOfTheirFilesInTheGuest) {
  file();
  root(area(0x1000, 0x2000, 4, kFile));  // a tree of one entry for everything
  const auto found = read();
  ASSERT_EQ(found.size(), 1);
  EXPECT_EQ(found[0].path, "/usr/bin/prog");
  EXPECT_EQ(found[0].offset, 0x3000);
  EXPECT_EQ(found[0].inode, 99);
  EXPECT_EQ(found[0].major, 8);
  EXPECT_EQ(found[0].minor, 1);
}

TEST_F(Mappings, OfTheKernelItselfHaveItsNameForThem) {
  const auto& l = kernel_.layout;
  const std::uint64_t special = kFile + 0x5000, text = kFile + 0x5100;
  const auto vdso = area(0x1000, 0x2000, 4);
  space_.text(text, "[vdso]");
  space_.put(special + l.special.name, text);
  space_.put(vdso + l.vma.private_data, special);
  space_.put(vdso + l.vma.ops, kernel_.special_ops);
  root(vdso);
  ASSERT_EQ(read().size(), 1);
  EXPECT_EQ(read()[0].path, "[vdso]");
  space_.put(vdso + l.vma.ops, kernel_.special_ops + 8);  // somebody else's
  EXPECT_EQ(read()[0].path, "");
  space_.put(vdso + l.vma.ops, kernel_.special_ops);
  space_.text(text, "/bin/prog");
  EXPECT_EQ(read()[0].path, "");
}

TEST_F(Mappings, OfAnOlderKernelAreAList) {
  kernel_.layout.mm.has_maple_tree = false;
  const auto a = area(0x1000, 0x2000, 4), b = area(0x5000, 0x6000, 0);
  space_.put(kMm + kernel_.layout.mm.first, a);
  space_.put(a + kernel_.layout.vma.next, b);
  EXPECT_EQ(read().size(), 2);
  space_.put(b + kernel_.layout.vma.next, a);  // a circle ends somewhere
  EXPECT_LE(read().size(), 65'536);
}

TEST_F(Mappings, OfATreeThatContainsItselfEnd) {
  const std::uint64_t self = (kNodes + 256 * nodes_) | kArange;
  root(node(10, {0x1000, kNever}, {self, self}) | kArange);
  EXPECT_TRUE(read().empty());
}

TEST_F(Mappings, OfPointersToNowhereAreNone) {
  root(0x1234'5000 | kLeaf);
  EXPECT_TRUE(read().empty());
  root(area(0x2000, 0x1000, 4));  // ends before it starts
  EXPECT_TRUE(read().empty());
}

}  // namespace
}  // namespace hodo::guest
