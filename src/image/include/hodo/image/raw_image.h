// Memory images named on the command line, for traces that come without their own.
//   elf:PATH[@BASE]                   PT_LOAD segments, lowest page at BASE or where the file says
//   bin:ADDR:PATH[:OFFSET:LENGTH]     a file's bytes at ADDR
//   pages:ADDRFILE:DUMPFILE           8-byte little-endian page addresses, and their 4 KiB pages;
//                                     an address with low bits set: that page was not mapped
// Numbers are decimal, or hexadecimal with 0x.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/image/address_space.h"
#include "hodo/image/content.h"

namespace hodo::image {

struct ElfImage {
  std::string path;
  std::optional<std::uint64_t> base;
};
struct BinImage {
  std::uint64_t address = 0;
  std::string path;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;  // nullopt: to the end of the file
};
struct PagesImage {
  std::string address_file;
  std::string dump_file;
};
using ImageSpec = std::variant<ElfImage, BinImage, PagesImage>;

// In an elf path an '@' counts only if a number follows it to the end; a bin path may contain
// colons as long as it does not end in two numbers; the paths of pages may not contain any. Errors:
// usage, with the form that was expected.
Result<ImageSpec> parse_image(std::string_view text);

// Pages that an image names as such that were not mapped when it was taken; sorted.
struct Unmapped {
  std::vector<std::uint64_t> pages;
};

// Maps the image into `space` at time 0; what is mapped later hides what was mapped before.
// Errors: as ContentStore::file and read_elf; malformed if the page files do not fit each other or
// a mapping would leave the address space; their messages name the file.
Result<Unmapped> map_image(const ImageSpec& spec, ContentStore& store, AddressSpace& space);

}  // namespace hodo::image
