// The pages of files' text in which the ends of branches were found last: most branches lead
// nearby, and what is mapped there is found out once for all of a page.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "edge_end.h"
#include "hodo/base/page.h"

namespace hodo::check {

class TextPages {
 public:
  // nullopt: nothing is known of the page at that time.
  std::optional<End> find(std::uint32_t space, std::uint64_t address, std::uint64_t time) const {
    const Page& p = table_[slot(space, address)];
    if (p.begin != page_of(address) || p.space != space) return std::nullopt;
    if (time < p.since || time >= p.until) return std::nullopt;
    return at(p.first, address);
  }

  // What holds of the page from one time to before another: the ends at its first and its last
  // byte. Only what is alike is kept: text as its file has it, of one mapping and one segment.
  void add(std::uint32_t space, std::uint64_t since, std::uint64_t until, const End& first,
           const End& last);
  void clear() { table_.assign(kPages, {}); }

 private:
  struct Page {
    std::uint64_t begin = ~std::uint64_t{0};
    std::uint32_t space = 0;
    std::uint64_t since = 0;
    std::uint64_t until = 0;
    End first;
  };
  static constexpr unsigned kBits = 10;
  static constexpr std::size_t kPages = std::size_t{1} << kBits;

  static std::uint64_t page_of(std::uint64_t address) { return address & ~(kPage - 1); }
  static std::size_t slot(std::uint32_t space, std::uint64_t address) {
    const std::uint64_t key = (address >> kPageBits) ^ std::uint64_t{space} << 52;
    return static_cast<std::size_t>(key * 0x9e3779b97f4a7c15 >> (64 - kBits));
  }
  // Of another byte of the page.
  static End at(End end, std::uint64_t address) {
    end.vaddr += address - end.address;
    end.address = address;
    end.marks = end.module->marks(end.vaddr);
    return end;
  }

  std::vector<Page> table_ = std::vector<Page>(kPages);
};

}  // namespace hodo::check
