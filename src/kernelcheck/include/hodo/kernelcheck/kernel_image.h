// A Linux kernel's own text as it was built, and the places of it that the kernel rewrites.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"

namespace hodo::kernelcheck {

class KernelImage {
 public:
  // `path`: a vmlinuz, or a vmlinux with its symbol table in its data (CONFIG_KALLSYMS_ALL). A
  // vmlinux that lacks the addresses to relocate behind its end can only be compared with a kernel
  // that runs where it was linked to. Errors: as image::RegularFile::open; malformed, truncated,
  // unsupported, no_space; messages name the file.
  static Result<KernelImage> open(const std::string& path);

  // Where the symbol was linked to; nullopt: there is none, or several.
  std::optional<std::uint64_t> address_of(std::string_view symbol) const;

  struct Difference {
    std::uint64_t address = 0;          // linked
    std::vector<std::uint8_t> was, is;  // at most 8 bytes from there on
  };
  // The first place where `bytes` differ from the text that was linked to `address` and moved by
  // `bias` from there, and where the kernel has no business to change it: by its tables of
  // alternatives, paravirtual calls, lock prefixes, retpolines, return thunks, jump labels, static
  // calls, constants of run time, calls for tracing, of which only a call or a no-operation may
  // take the place, and ENDBR64 that no pointer leads to, of which only one no-operation may.
  // Outside of the text there is none.
  std::optional<Difference> difference(std::uint64_t address, std::span<const std::uint8_t> bytes,
                                       std::uint64_t bias) const;

  std::size_t sites() const { return sites_; }

 private:
  struct Range {
    std::uint64_t start, end;
  };
  KernelImage() = default;
  void read_relocations();
  void read_sites();
  void add_site(std::uint64_t address, std::uint64_t size);
  void merge_sites();
  std::vector<std::uint8_t> relocated(std::uint64_t address, std::size_t size,
                                      std::uint64_t bias) const;
  bool is_changed_by_kernel(std::uint64_t address) const;
  std::size_t rewritten(std::uint64_t address, std::span<const std::uint8_t> bytes) const;

  std::vector<std::uint8_t> file_;
  std::uint64_t text_ = 0, text_size_ = 0, text_offset_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> symbols_;
  std::vector<std::uint64_t> relocations32_, inverse32_, relocations64_;  // sorted addresses
  std::vector<Range> changed_;                                            // by address, apart
  std::vector<std::uint64_t> traced_, sealed_;                            // sorted
  std::size_t sites_ = 0;
};

}  // namespace hodo::kernelcheck
