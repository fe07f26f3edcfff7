#include "loaded_text.h"

#include <algorithm>

namespace hodo::check {
namespace {

// What is translated at a time is no longer than a page, and a recording keeps it whole.
constexpr std::uint64_t kMostBefore = 4096;
constexpr std::uint64_t kMostBehind = 4096;
constexpr std::uint64_t kAtLeast = 64;  // also outside of functions

// What the program has made of the sites that its file lists for that.
void patch(const End& end, const TextPart& part, std::span<const std::uint8_t> ran,
           std::span<std::uint8_t> out) {
  const auto sites = end.module->patch_sites();
  auto site = std::ranges::lower_bound(sites, part.begin, {}, &text::PatchSite::place);
  for (; site != sites.end() && site->place - part.begin < out.size(); ++site) {
    const std::size_t first = site->place - part.begin;
    if (site->size > out.size() - first) return;
    const auto made = ran.subspan(first, site->size);
    if (end.module->is_patch(site->place, made)) std::ranges::copy(made, out.begin() + first);
  }
}

}  // namespace

TextPart part_around(const End& end) {
  const text::Function* function = end.module->function(end.vaddr);
  if (function == nullptr) return {end.vaddr, kAtLeast};
  const std::uint64_t begin = end.vaddr - std::min(end.vaddr - function->begin, kMostBefore);
  const std::uint64_t behind = std::min(function->end - end.vaddr, kMostBehind);
  return {begin, end.vaddr - begin + std::max(behind, kAtLeast)};
}

// The file's bytes, with what the dynamic linker writes into the text of some files. What it
// writes for other files is not known: there what ran is taken. Where nothing ran, `ran` has the
// file's.
std::vector<std::uint8_t> as_loaded(const End& end, const TextPart& part,
                                    std::span<const std::uint8_t> ran) {
  const auto file = end.module->bytes(part.begin);
  std::vector<std::uint8_t> out(
      file.begin(), file.begin() + static_cast<std::ptrdiff_t>(std::min(file.size(), ran.size())));
  for (const text::Relocated& r : end.module->relocated(part.begin, part.begin + out.size())) {
    if (r.place + r.size <= part.begin) continue;
    const std::uint64_t value = r.address.value_or(0) + (end.address - end.vaddr);
    const std::uint64_t first = std::max(r.place, part.begin) - part.begin;
    const std::uint64_t last = std::min(r.place + r.size - part.begin, out.size());
    const auto word = [&](auto bytes) { return bytes.subspan(first, last - first); };
    if (std::ranges::equal(word(std::span(out)), word(ran))) continue;
    for (std::uint64_t at = first; at < last; ++at) {
      const std::uint64_t byte = value >> 8 * (at + part.begin - r.place);
      out[at] = r.address ? static_cast<std::uint8_t>(byte) : ran[at];
    }
  }
  patch(end, part, ran, out);
  return out;
}

std::size_t first_difference(const TextPart& part, std::span<const std::uint8_t> ran,
                             std::span<const std::uint8_t> file) {
  const std::size_t size = std::min({ran.size(), file.size(), std::size_t{part.size}});
  const auto differs = std::ranges::mismatch(ran.first(size), file.first(size));
  const auto at = static_cast<std::size_t>(differs.in1 - ran.begin());
  return at == size ? kNoDifference : at;
}

}  // namespace hodo::check
