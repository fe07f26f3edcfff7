#include "known_code.h"

#include <algorithm>

namespace hodo::plugin {

KnownCode::News KnownCode::learn(std::uint64_t address, std::span<const std::uint8_t> bytes) {
  News news = News::none;
  while (!bytes.empty()) {
    const std::size_t at = address % kPage;
    const std::size_t n = std::min(bytes.size(), kPage - at);
    auto& page = pages_[address / kPage];
    if (!page) page = std::make_unique<Page>();
    for (std::size_t i = 0; i < n; ++i) {
      if (!page->known[at + i]) {
        news = std::max(news, News::fresh);
      } else if (page->bytes[at + i] != bytes[i]) {
        news = News::changed;
      }
      page->known[at + i] = true;
      page->bytes[at + i] = bytes[i];
    }
    address += n;
    bytes = bytes.subspan(n);
  }
  return news;
}

void KnownCode::forget(std::uint64_t address, std::uint64_t size) {
  const std::uint64_t first = address / kPage;
  std::erase_if(pages_, [&](const auto& page) { return page.first - first < size / kPage; });
}

std::vector<KnownCode::Piece> KnownCode::pieces(std::uint64_t address, std::uint64_t size) const {
  std::vector<Piece> out;
  for (const auto& [number, page] : pages_) {
    for (std::size_t i = 0; i < kPage; ++i) {
      const std::uint64_t at = number * kPage + i;
      if (!page->known[i] || at - address >= size) continue;
      const bool goes_on =
          !out.empty() && i != 0 && out.back().address + out.back().bytes.size() == at;
      if (!goes_on) out.push_back({at, {page->bytes.data() + i, 0}});
      out.back().bytes = {out.back().bytes.data(), out.back().bytes.size() + 1};
    }
  }
  return out;
}

bool KnownCode::overlaps(std::uint64_t address, std::size_t size) const {
  if (pages_.empty()) return false;
  for (; size > 0; ++address, --size) {
    const auto page = pages_.find(address / kPage);
    if (page != pages_.end() && page->second->known[address % kPage]) return true;
  }
  return false;
}

}  // namespace hodo::plugin
