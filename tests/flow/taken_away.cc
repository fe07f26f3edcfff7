#include "taken_away.h"

#include <algorithm>
#include <tuple>

namespace hodo::flow {
namespace {

bool same(const Branch& a, const Branch& b) {
  return std::tie(a.from, a.to, a.kind, a.flags, a.time) ==
         std::tie(b.from, b.to, b.kind, b.flags, b.time);
}

// Of a piece's first branch only the instructions behind the loss are known.
bool begins_with(std::span<const Branch> whole, std::span<const Branch> piece) {
  if (whole.size() < piece.size()) return false;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    if (!same(whole[i], piece[i])) return false;
    if (i == 0 ? piece[i].insns > whole[i].insns : piece[i].insns != whole[i].insns) return false;
  }
  return true;
}

}  // namespace

image::CodeSpan WithoutPages::find(std::uint64_t address, std::uint64_t time) const {
  const std::uint64_t begin = address & ~(page_ - 1);
  image::CodeSpan span = code_.find(address, time);
  if (span.content == 0 || missing_.contains(begin)) return {};
  const std::uint64_t skip = begin > span.address ? begin - span.address : 0;
  span.address += skip;
  span.offset += skip;
  span.bytes = span.bytes.subspan(static_cast<std::size_t>(skip));
  const auto rest = static_cast<std::size_t>(begin + page_ - span.address);
  span.bytes = span.bytes.first(std::min(span.bytes.size(), rest));
  return span;
}

Listed::Listed(std::span<const std::uint8_t> trace, const image::CodeSource& code, Config config) {
  config.want_not_taken = true;
  stats = decode(trace, code, config, *this);
}

std::string not_in(const Listed& whole, const Listed& part) {
  const auto is_lost = [](const Branch& b) { return b.kind == BranchKind::lost; };
  std::span<const Branch> left = whole.branches;
  std::span<const Branch> rest = part.branches;
  while (!rest.empty()) {
    if (is_lost(rest.front())) {
      rest = rest.subspan(1);
      continue;
    }
    const auto size = static_cast<std::size_t>(std::ranges::find_if(rest, is_lost) - rest.begin());
    const auto piece = rest.first(size);
    while (!left.empty() && !begins_with(left, piece)) left = left.subspan(1);
    if (left.empty()) {
      return "branch " + std::to_string(piece.data() - part.branches.data()) + " and the next " +
             std::to_string(size) + " are not in the path";
    }
    left = left.subspan(size);
    rest = rest.subspan(size);
  }
  return "";
}

std::size_t knowable(const Listed& whole, std::uint64_t page,
                     const std::set<std::uint64_t>& missing) {
  const auto is_missing = [&](std::uint64_t address) {
    return missing.contains(address & ~(page - 1));
  };
  std::size_t out = 0;
  bool known = true;
  for (const Branch& b : whole.branches) {
    if (b.from != 0 && is_missing(b.from)) known = false;
    out += known ? 1 : 0;
    const bool named = b.kind != BranchKind::cond && b.kind != BranchKind::jmp &&
                       b.kind != BranchKind::call && b.kind != BranchKind::end && b.to != 0;
    if (is_missing(b.to)) {
      known = false;
    } else if (named) {
      known = true;
    }
  }
  return out;
}

std::size_t listed(const Listed& part) {
  return static_cast<std::size_t>(std::ranges::count_if(
      part.branches, [](const Branch& b) { return b.kind != BranchKind::lost; }));
}

std::set<std::uint64_t> pages_of(const Listed& whole, std::uint64_t page) {
  std::set<std::uint64_t> out;
  for (const Branch& b : whole.branches) {
    for (const std::uint64_t address : {b.from, b.to}) {
      if (address != 0) out.insert(address & ~(page - 1));
    }
  }
  return out;
}

}  // namespace hodo::flow
