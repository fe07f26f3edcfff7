// A guest of a few pages, put together by hand: physical memory with page tables in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/guest/kernel.h"
#include "hodo/guest/memory.h"

namespace hodo::guest::test {

inline constexpr std::uint64_t kPage = 4096;

class FakeMemory final : public PhysicalMemory {
 public:
  bool read(std::uint64_t address, std::span<std::uint8_t> out) const override {
    while (!out.empty()) {
      const auto page = pages_.find(address / kPage);
      if (page == pages_.end()) return false;
      const std::uint64_t size = std::min<std::uint64_t>(out.size(), kPage - address % kPage);
      std::memcpy(out.data(), page->second.data() + address % kPage, size);
      out = out.subspan(size);
      address += size;
    }
    return true;
  }

  void write(std::uint64_t address, std::span<const std::uint8_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      auto& page = pages_[(address + i) / kPage];
      page.resize(kPage);
      page[(address + i) % kPage] = bytes[i];
    }
  }
  template <class T>
  void put(std::uint64_t address, T value) {
    write(address, {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
  }

  // The next unused page, filled with zeros.
  std::uint64_t new_page() {
    next_ += kPage;
    pages_[next_ / kPage].resize(kPage);
    return next_;
  }

 private:
  std::map<std::uint64_t, std::vector<std::uint8_t>> pages_;
  std::uint64_t next_ = 0x10000;
};

// An address space of the guest, to which pages are added.
class FakeSpace {
 public:
  explicit FakeSpace(FakeMemory& memory, unsigned levels = 4)
      : memory_(memory), levels_(levels), top_(memory.new_page()) {}

  Paging paging() const { return {.cr3 = top_, .five_levels = levels_ == 5}; }
  VirtualMemory view() const { return {memory_, paging()}; }

  // Maps a page of 4 KiB (level 1), 2 MiB (2) or 1 GiB (3).
  void map(std::uint64_t address, std::uint64_t physical, unsigned page_level = 1) {
    std::uint64_t table = top_;
    for (unsigned level = levels_; level > page_level; --level) {
      const std::uint64_t slot = table + index(address, level) * 8;
      std::uint64_t entry = 0;
      memory_.read(slot, {reinterpret_cast<std::uint8_t*>(&entry), 8});
      if (entry == 0) memory_.put(slot, entry = memory_.new_page() | kPresent);
      table = entry & ~(kPage - 1);
    }
    const std::uint64_t large = page_level > 1 ? 1 << 7 : 0;
    memory_.put(table + index(address, page_level) * 8, physical | kPresent | large);
  }

  // Writes where the page is mapped already or maps a new one.
  void write(std::uint64_t address, std::span<const std::uint8_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::uint64_t page = (address + i) & ~(kPage - 1);
      if (!view().mapped(page)) map(page, memory_.new_page());
      memory_.write(*view().physical_address(address + i), bytes.subspan(i, 1));
    }
  }
  template <class T>
  void put(std::uint64_t address, T value) {
    write(address, {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
  }
  void text(std::uint64_t address, std::string_view value) {
    write(address, {reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
    put<char>(address + value.size(), 0);
  }

 private:
  static constexpr std::uint64_t kPresent = 1;
  static std::uint64_t index(std::uint64_t address, unsigned level) {
    return address >> (3 + 9 * level) & 511;
  }

  FakeMemory& memory_;
  unsigned levels_;
  std::uint64_t top_;
};

// A kernel whose structures have their fields 8 bytes apart.
inline Kernel fake_kernel() {
  Kernel kernel;
  kernel.init_task = 0xffff'8880'0000'1000;
  kernel.special_ops = 0xffff'ffff'8200'0000;
  Layout& l = kernel.layout;
  l.task = {.tasks = 0x10,
            .mm = 0x20,
            .pid = 0x28,
            .tgid = 0x2c,
            .comm = 0x30,
            .real_parent = 0x40,
            .group_leader = 0x48,
            .signal = 0x50,
            .thread_node = 0x58,
            .children = 0x70,
            .sibling = 0x80};
  l.signal.thread_head = 0x8;
  l.mm = {.pgd = 0x8, .exe_file = 0x10, .maple_root = 0x18, .first = 0x20, .has_maple_tree = true};
  l.vma = {.start = 0,
           .end = 8,
           .flags = 0x10,
           .page_offset = 0x18,
           .file = 0x20,
           .next = 0x28,
           .ops = 0x30,
           .private_data = 0x38};
  l.special = {.name = 0x8, .known = true};
  l.file = {.mount = 0, .dentry = 8, .inode = 0x10};
  l.dentry = {.name = 0, .parent = 8};
  l.mount = {.vfsmount = 0x20, .parent = 0, .mountpoint = 8, .root = 0};
  l.inode = {.number = 0, .superblock = 8};
  l.superblock = {.device = 0};
  return kernel;
}

}  // namespace hodo::guest::test
