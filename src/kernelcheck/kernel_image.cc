#include "hodo/kernelcheck/kernel_image.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "alternatives.h"
#include "hodo/guest/kallsyms.h"
#include "hodo/image/file.h"
#include "hodo/text/elf_bytes.h"
#include "vmlinuz.h"

namespace hodo::kernelcheck {
namespace {

constexpr std::uint64_t kCall = 5;  // bytes of a call, jump or nop with a 32-bit displacement
constexpr std::size_t kShown = 8;
constexpr std::uint64_t kMostPacked = 512 << 20;

// A table in the image, between two of its symbols.
struct Table {
  const char *start, *end;
  std::size_t stride;  // bytes of an entry; 0: the table is taken as a whole
};

// What stands at a site, in bytes; those that the tables do not tell are the longest possible.
constexpr std::uint64_t kRetpoline = 7;  // a call or jump, with prefixes

std::int64_t relative(std::span<const std::uint8_t> entry, std::size_t at) {
  std::int32_t value = 0;
  std::memcpy(&value, entry.data() + at, sizeof(value));
  return value;
}

std::uint64_t absolute(std::span<const std::uint8_t> entry) {
  std::uint64_t value = 0;
  std::memcpy(&value, entry.data(), sizeof(value));
  return value;
}

// Adds `bias` to the numbers that begin at `places` and lie in [address, address + bytes.size()).
template <class T>
void relocate(std::span<std::uint8_t> bytes, std::uint64_t address,
              const std::vector<std::uint64_t>& places, std::uint64_t bias) {
  auto place = std::ranges::lower_bound(places, address);
  for (; place != places.end() && *place - address < bytes.size(); ++place) {
    const std::size_t at = *place - address;
    if (bytes.size() - at < sizeof(T)) break;
    T value{};
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    value = static_cast<T>(value + bias);
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

}  // namespace

Result<KernelImage> KernelImage::open(const std::string& path) {
  const auto name = [&](Error error) {
    error.message = path + ": " + error.message;
    return std::unexpected(std::move(error));
  };
  auto packed = image::RegularFile::open(path);
  if (!packed) return std::unexpected(packed.error());
  const auto bytes_of_file = packed->read_all(kMostPacked);
  if (!bytes_of_file) return name(bytes_of_file.error());
  auto file = unpack_kernel(*bytes_of_file);
  if (!file) return name(file.error());
  KernelImage out;
  out.file_ = std::move(*file);
  const auto elf = text::ElfBytes::read(out.file_);
  if (!elf) return name(elf.error());
  if (elf->is_narrow()) return name({ErrorCode::unsupported, "the kernel is no 64-bit one"});
  const auto text = std::ranges::find(elf->elf().segments, true, &image::Segment::executable);
  if (text == elf->elf().segments.end() || text->offset > out.file_.size()) {
    return name({ErrorCode::malformed, "the kernel has no text"});
  }
  const auto bytes = elf->of(*text);
  auto symbols = guest::read_kallsyms(bytes);
  if (!symbols) return name(symbols.error());
  for (const guest::KernelSymbol& symbol : *symbols) {
    // 0: of several symbols of one name.
    const auto [at, fresh] = out.symbols_.try_emplace(symbol.name, symbol.address);
    if (!fresh) at->second = 0;
  }
  out.text_ = text->vaddr;
  out.text_offset_ = text->offset;
  const std::uint64_t end = out.address_of("_etext").value_or(text->vaddr);
  out.text_size_ = std::min<std::uint64_t>(bytes.size(), end < out.text_ ? 0 : end - out.text_);
  out.read_relocations();
  out.read_sites();
  return out;
}

std::optional<std::uint64_t> KernelImage::address_of(std::string_view symbol) const {
  const auto found = symbols_.find(symbol);
  if (found == symbols_.end() || found->second == 0) return std::nullopt;
  return found->second;
}

// Behind the ELF file stand three lists of 32-bit addresses, each after a zero, to be read from
// their end: 32-bit numbers to add to, such to subtract from, 64-bit ones (handle_relocations in
// arch/x86/boot/compressed/misc.c).
void KernelImage::read_relocations() {
  std::size_t end = file_.size() / sizeof(std::int32_t) * sizeof(std::int32_t);
  for (auto* list : {&relocations32_, &inverse32_, &relocations64_}) {
    while (end >= sizeof(std::int32_t)) {
      end -= sizeof(std::int32_t);
      const std::int64_t address = relative(file_, end);
      if (address == 0) break;
      if (address > 0) return;  // no kernel address: there are no such lists
      list->push_back(static_cast<std::uint64_t>(address));
    }
    std::ranges::sort(*list);
  }
}

void KernelImage::add_site(std::uint64_t address, std::uint64_t size) {
  ++sites_;
  if (address - text_ < text_size_) changed_.push_back({address, address + size});
}

void KernelImage::read_sites() {
  const auto elf = text::ElfBytes::read(file_);
  if (!elf) return;
  const auto entries = [&](const Table& table, auto each) {
    const auto start = address_of(table.start), end = address_of(table.end);
    if (!start || !end || *end < *start) return;
    const auto bytes = elf->at(*start);
    const std::size_t size = std::min<std::uint64_t>(bytes.size(), *end - *start);
    if (table.stride == 0) return each(*start, bytes.first(size));
    for (std::size_t at = 0; size - at >= table.stride; at += table.stride) {
      each(*start + at, bytes.subspan(at, table.stride));
    }
  };
  using Entry = std::span<const std::uint8_t>;
  entries({"__alt_instructions", "__alt_instructions_end", 0}, [&](std::uint64_t at, Entry table) {
    const auto is_code = [&](std::uint64_t address) { return address - text_ < text_size_; };
    for (const Alternative& site : alternatives(table, at, is_code)) {
      add_site(site.address, site.size);
    }
  });
  // struct paravirt_patch_site.
  entries({"__parainstructions", "__parainstructions_end", 16},
          [&](std::uint64_t, Entry e) { add_site(absolute(e), e[9]); });
  entries({"__smp_locks", "__smp_locks_end", 4},
          [&](std::uint64_t at, Entry e) { add_site(at + relative(e, 0), 1); });
  entries({"__retpoline_sites", "__retpoline_sites_end", 4},
          [&](std::uint64_t at, Entry e) { add_site(at + relative(e, 0), kRetpoline); });
  entries({"__return_sites", "__return_sites_end", 4},
          [&](std::uint64_t at, Entry e) { add_site(at + relative(e, 0), kCall); });
  entries({"__start___jump_table", "__stop___jump_table", 16},
          [&](std::uint64_t at, Entry e) { add_site(at + relative(e, 0), kCall); });
  entries({"__start_static_call_sites", "__stop_static_call_sites", 8},
          [&](std::uint64_t at, Entry e) { add_site(at + relative(e, 0), kCall); });
  for (const auto& [name, address] : symbols_) {
    if (name.starts_with("__SCT__")) add_site(address, 8);
  }
  // Numbers that are known only when the kernel has started (asm/runtime-const.h): where an address
  // stands in an instruction, and where the width of a shift does.
  for (const auto& [name, start] : symbols_) {
    const bool is_address = name.starts_with("__start_runtime_ptr_");
    if (!is_address && !name.starts_with("__start_runtime_shift_")) continue;
    const std::string end = "__stop_" + name.substr(std::string_view("__start_").size());
    entries({name.c_str(), end.c_str(), 4},
            [&](std::uint64_t at, Entry e) { add_site(at + relative(e, 0), is_address ? 8 : 1); });
  }
  entries({"__start_mcount_loc", "__stop_mcount_loc", 8}, [&](std::uint64_t, Entry e) {
    ++sites_;
    traced_.push_back(absolute(e));
  });
  entries({"__ibt_endbr_seal", "__ibt_endbr_seal_end", 4}, [&](std::uint64_t at, Entry e) {
    ++sites_;
    sealed_.push_back(at + relative(e, 0));
  });
  std::ranges::sort(traced_);
  std::ranges::sort(sealed_);
  merge_sites();
}

void KernelImage::merge_sites() {
  std::ranges::sort(changed_, {}, &Range::start);
  std::vector<Range> merged;
  for (const Range& range : changed_) {
    if (!merged.empty() && range.start <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  changed_ = std::move(merged);
}

bool KernelImage::is_changed_by_kernel(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(changed_, address, {}, &Range::start);
  return after != changed_.begin() && address < std::prev(after)->end;
}

std::vector<std::uint8_t> KernelImage::relocated(std::uint64_t address, std::size_t size,
                                                 std::uint64_t bias) const {
  // With the numbers that begin before or end behind.
  constexpr std::uint64_t kMargin = 8;
  const std::uint64_t first = std::max(text_, address - kMargin);
  const std::uint64_t last = std::min(text_ + text_size_, address + size + kMargin);
  const auto from = file_.begin() + static_cast<std::ptrdiff_t>(text_offset_ + (first - text_));
  std::vector<std::uint8_t> out(from, from + static_cast<std::ptrdiff_t>(last - first));
  relocate<std::uint32_t>(out, first, relocations32_, bias);
  relocate<std::uint32_t>(out, first, inverse32_, 0 - bias);
  relocate<std::uint64_t>(out, first, relocations64_, bias);
  const auto start = out.begin() + static_cast<std::ptrdiff_t>(address - first);
  return {start, start + static_cast<std::ptrdiff_t>(size)};
}

// How many of `bytes`, which begin at `address`, are what the kernel may write there and nothing
// else: a call for tracing or a no-operation; no ENDBR64 any more, at functions that no pointer
// leads to.
std::size_t KernelImage::rewritten(std::uint64_t address,
                                   std::span<const std::uint8_t> bytes) const {
  static constexpr std::array<std::uint8_t, kCall> kNop = {0x0f, 0x1f, 0x44, 0, 0};
  static constexpr std::array<std::uint8_t, 4> kSeal = {0x66, 0x0f, 0x1f, 0};
  constexpr std::uint8_t kCallOpcode = 0xe8, kBreakpoint = 0xcc;  // the latter while it is written
  const auto begins_with = [&](const auto& what) {
    return bytes.size() >= what.size() && std::ranges::equal(bytes.first(what.size()), what);
  };
  if (std::ranges::binary_search(traced_, address) && bytes.size() >= kCall &&
      (bytes[0] == kCallOpcode || bytes[0] == kBreakpoint || begins_with(kNop))) {
    return kCall;
  }
  if (std::ranges::binary_search(sealed_, address) && begins_with(kSeal)) return kSeal.size();
  return 0;
}

std::optional<KernelImage::Difference> KernelImage::difference(std::uint64_t address,
                                                               std::span<const std::uint8_t> bytes,
                                                               std::uint64_t bias) const {
  if (address - text_ >= text_size_) return std::nullopt;
  bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), text_size_ - (address - text_)));
  const auto was = relocated(address, bytes.size(), bias);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (const std::size_t known = rewritten(address + i, bytes.subspan(i)); known != 0) {
      i += known - 1;
      continue;
    }
    if (bytes[i] == was[i] || is_changed_by_kernel(address + i)) continue;
    const std::size_t shown = std::min(kShown, bytes.size() - i);
    const auto at = static_cast<std::ptrdiff_t>(i), end = static_cast<std::ptrdiff_t>(i + shown);
    return Difference{.address = address + i,
                      .was = {was.begin() + at, was.begin() + end},
                      .is = {bytes.begin() + at, bytes.begin() + end}};
  }
  return std::nullopt;
}

}  // namespace hodo::kernelcheck
