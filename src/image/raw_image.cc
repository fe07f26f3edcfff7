#include "hodo/image/raw_image.h"

#include <algorithm>
#include <span>
#include <vector>

#include "hodo/base/byte_reader.h"
#include "hodo/base/page.h"
#include "hodo/image/elf.h"
#include "hodo/image/file.h"

namespace hodo::image {
namespace {

constexpr std::uint64_t kLargestAddressFile = 8 << 20;  // names 4 GiB of pages
constexpr std::size_t kLongestRun = 16384;              // pages that are copied at once: 64 MiB

Status map_slice(std::uint64_t start, Slice slice, const std::string& path, AddressSpace& space) {
  if (slice.length != 0 && slice.length - 1 > ~start) {
    return fail(ErrorCode::malformed, path + " does not fit below the end of the address space");
  }
  const auto length = slice.length;
  space.map(start, length, std::move(slice), 0);
  return {};
}

Status map_elf(const ElfImage& image, ContentStore& store, AddressSpace& space) {
  const auto elf = read_elf_file(image.path);
  if (!elf) return std::unexpected(elf.error());
  if (elf->segments.empty()) {
    return fail(ErrorCode::malformed, image.path + " has no PT_LOAD segments to map");
  }
  const std::uint64_t bias = image.base ? *image.base - elf->lowest_page() : 0;
  for (const Segment& s : elf->segments) {
    auto slice = store.file(image.path, s.offset, s.file_size);
    if (!slice) return std::unexpected(slice.error());
    if (auto mapped = map_slice(s.vaddr + bias, *std::move(slice), image.path, space); !mapped) {
      return mapped;
    }
  }
  return {};
}

Status map_bin(const BinImage& image, ContentStore& store, AddressSpace& space) {
  auto slice = store.file(image.path, image.offset, image.length.value_or(~std::uint64_t{0}));
  if (!slice) return std::unexpected(slice.error());
  if (image.length && slice->length < *image.length) {
    return fail(ErrorCode::truncated, image.path + " ends before the range that was asked for",
                image.offset + slice->length);
  }
  return map_slice(image.address, *std::move(slice), image.path, space);
}

Result<std::vector<std::uint64_t>> read_addresses(const std::string& path) {
  const auto file = RegularFile::open(path);
  if (!file) return std::unexpected(file.error());
  const auto bytes = file->read_all(kLargestAddressFile);
  if (!bytes) return fail(bytes.error().code, path + ": " + bytes.error().message);
  if (bytes->size() % sizeof(std::uint64_t) != 0) {
    return fail(ErrorCode::malformed, path + " is not a list of 8-byte addresses");
  }
  std::vector<std::uint64_t> addresses;
  addresses.reserve(bytes->size() / sizeof(std::uint64_t));
  ByteReader reader(*bytes);
  while (const auto address = reader.read<std::uint64_t>()) addresses.push_back(*address);
  return addresses;
}

struct Page {
  std::uint64_t address = 0;
  std::uint64_t index = 0;  // in the dump file
};

// kAFL and Nyx mark a page that was not mapped when they looked by low bits of its address; the
// dump has a page in its place all the same.
bool is_mapped(std::uint64_t address) { return address % kPage == 0; }

// By address; of a page that comes twice only the later one.
std::vector<Page> in_order(const std::vector<std::uint64_t>& addresses) {
  std::vector<Page> pages;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (is_mapped(addresses[i])) pages.push_back({addresses[i], i});
  }
  std::ranges::sort(pages, [](const Page& a, const Page& b) {
    return a.address != b.address ? a.address < b.address : a.index > b.index;
  });
  const auto repeated = std::ranges::unique(pages, {}, &Page::address);
  pages.erase(repeated.begin(), repeated.end());
  return pages;
}

std::vector<std::uint64_t> unmapped_among(const std::vector<std::uint64_t>& addresses,
                                          const std::vector<Page>& pages) {
  std::vector<std::uint64_t> out;
  for (const std::uint64_t address : addresses) {
    const std::uint64_t page = address / kPage * kPage;
    if (!std::ranges::binary_search(pages, page, {}, &Page::address)) out.push_back(page);
  }
  std::ranges::sort(out);
  const auto repeated = std::ranges::unique(out);
  out.erase(repeated.begin(), repeated.end());
  return out;
}

// Pages that follow each other in memory become one content, so that blocks and instructions seldom
// cross the border of a span.
Status map_run(std::span<const Page> run, const RegularFile& dump, const std::string& path,
               ContentStore& store, AddressSpace& space) {
  std::vector<std::uint8_t> bytes(run.size() * kPage);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const Status read = dump.read(run[i].index * kPage, std::span(bytes).subspan(i * kPage, kPage));
    if (!read) return fail(read.error().code, path + ": " + read.error().message);
  }
  auto slice = store.memory(bytes);
  if (!slice) return std::unexpected(slice.error());
  return map_slice(run.front().address, *std::move(slice), path, space);
}

Result<Unmapped> map_pages(const PagesImage& image, ContentStore& store, AddressSpace& space) {
  const auto addresses = read_addresses(image.address_file);
  if (!addresses) return std::unexpected(addresses.error());
  const auto dump = RegularFile::open(image.dump_file);
  if (!dump) return std::unexpected(dump.error());
  if (dump->size() != addresses->size() * kPage) {
    return fail(ErrorCode::malformed, image.dump_file + " has not one 4 KiB page for each of the " +
                                          std::to_string(addresses->size()) + " addresses in " +
                                          image.address_file);
  }
  const auto pages = in_order(*addresses);
  for (std::size_t start = 0, end = 0; start < pages.size(); start = end) {
    for (end = start + 1; end < pages.size() && end - start < kLongestRun; ++end) {
      if (pages[end].address - pages[end - 1].address != kPage) break;
    }
    const auto run = std::span(pages).subspan(start, end - start);
    if (auto mapped = map_run(run, *dump, image.dump_file, store, space); !mapped) {
      return std::unexpected(mapped.error());
    }
  }
  return Unmapped{unmapped_among(*addresses, pages)};
}

Result<Unmapped> whole(Status mapped) {
  if (!mapped) return std::unexpected(mapped.error());
  return Unmapped{};
}

}  // namespace

Result<Unmapped> map_image(const ImageSpec& spec, ContentStore& store, AddressSpace& space) {
  using Mapped = Result<Unmapped>;
  struct Visitor {
    ContentStore& store;
    AddressSpace& space;
    Mapped operator()(const ElfImage& image) const { return whole(map_elf(image, store, space)); }
    Mapped operator()(const BinImage& image) const { return whole(map_bin(image, store, space)); }
    Mapped operator()(const PagesImage& image) const { return map_pages(image, store, space); }
  };
  return std::visit(Visitor{store, space}, spec);
}

}  // namespace hodo::image
