#include "path_memo.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

namespace hodo::flow {
namespace {

bool same_edge(const Branch& a, const Branch& b) {
  return a.from == b.from && a.to == b.to && a.insns == b.insns && a.kind == b.kind &&
         a.flags == b.flags;
}

std::uint64_t hash_of(const Branch& edge) {
  std::uint64_t hash = edge.from * 0x9e3779b97f4a7c15u ^ edge.to;
  hash ^= std::uint64_t{edge.insns} << 40 ^ static_cast<std::uint64_t>(edge.kind) << 56;
  return hash * 0xd6e8feb86659fd93u;
}

}  // namespace

PathMemo::PathMemo() { clear(); }

void PathMemo::clear() {
  static std::atomic<std::uint32_t> memories = 0;
  number_ = ++memories;
  followed_ = 0;
  table_.assign(kLeastSize, {});
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(kLeastSize));
  count_ = 0;
  hits_.clear();
  numbers_.clear();
  edges_.clear();
  lines_.clear();
  known_.assign(kLeastSize, 0);
  stretches_.clear();
  tally_.clear();
}

const Tally& PathMemo::settle() {
  const auto count = [&](const Path& path, std::uint64_t times) {
    tally_.add(path, std::span(edge_ids(path), path.edge_count), edges_.size(), times);
  };
  const auto path_at = [&](std::size_t at) -> Path& { return table_[at]; };
  // Taking off what is not there again would be more work than adding all that is.
  if (2 * (hits_.again(path_at) + stretches_.again()) < hits_.before() + stretches_.before()) {
    hits_.forget_before(path_at);
    stretches_.forget_before();
    tally_.start_over();
  }
  hits_.settle(path_at, [&](std::size_t at, std::uint64_t times) { count(table_[at], times); });
  stretches_.settle([&](const Stretch& stretch, std::uint64_t times) {
    count(stretch.path, times);
    tally_.add(stretch.packets, times);
  });
  tally_.finish(edges_.data());
  return tally_;
}

void PathMemo::remember(const Path& path, std::span<const Branch> edges,
                        std::span<const std::uint64_t> returns) {
  Path& place = place_for(path);
  place = path;
  path_edges_.clear();
  std::uint64_t begin = path.ip;
  for (const Branch& edge : edges) {
    path_edges_.push_back(number_of(edge, {begin, edge.time}, path));
    begin = line_behind(edge);
  }
  store(place, path_edges_, returns);
}

std::uint32_t PathMemo::later(std::uint32_t number, std::uint32_t more_insns, std::uint64_t begin,
                              const Path& path) {
  Branch edge = edges_[number];
  edge.insns += more_insns;
  return number_of(edge, {begin, lines_[number].time}, path);
}

void PathMemo::store(Path& path, std::span<const std::uint32_t> edges,
                     std::span<const std::uint64_t> returns) {
  while ((numbers_.size() + 2 * returns.size()) % Repeats::kStep != 0) numbers_.push_back(0);
  for (const std::uint64_t ip : returns) {
    numbers_.push_back(static_cast<std::uint32_t>(ip));
    numbers_.push_back(static_cast<std::uint32_t>(ip >> 32));
  }
  path.edges = numbers_.size() & kNumberMask;
  numbers_.insert(numbers_.end(), edges.begin(), edges.end());
  while ((numbers_.size() - path.edges) % kEdgesAtOnce != 0) numbers_.push_back(0);
}

Path& PathMemo::place_for(const Path& path) {
  if (Path* known = find(path.ip, path.key, path.what)) {
    if (known->hits == 0 && !known->counted) return *known;
    known->what = kReplaced;
  }
  if (2 * ++count_ > table_.size()) grow();
  std::size_t at = slot(path.ip, path.key, path.what);
  while (table_[at].what != 0) at = (at + 1) & (table_.size() - 1);
  return table_[at];
}

void PathMemo::grow() {
  const std::vector<Path> old = std::exchange(table_, std::vector<Path>(2 * table_.size()));
  --shift_;
  std::vector<std::uint32_t> moved(old.size());
  for (std::size_t i = 0; i < old.size(); ++i) {
    const Path& path = old[i];
    if (path.what == 0) continue;
    std::size_t at = slot(path.ip, path.key, path.what);
    while (table_[at].what != 0) at = (at + 1) & (table_.size() - 1);
    table_[at] = path;
    moved[i] = static_cast<std::uint32_t>(at);
  }
  hits_.move(moved);
}

std::uint32_t PathMemo::number_of(const Branch& edge, const Line& line, const Path& path) {
  if (2 * edges_.size() >= known_.size()) grow_numbers();
  std::size_t at = hash_of(edge) >> 20 & (known_.size() - 1);
  for (; known_[at] != 0; at = (at + 1) & (known_.size() - 1)) {
    const std::uint32_t number = known_[at] - 1;
    const Line& known = lines_[number];
    if (same_edge(edges_[number], edge) && known.begin == line.begin && path.valid_at(known.time)) {
      return number;
    }
  }
  edges_.push_back(edge);
  edges_.back().time = 0;
  lines_.push_back(line);
  known_[at] = static_cast<std::uint32_t>(edges_.size());
  return known_[at] - 1;
}

void PathMemo::grow_numbers() {
  known_.assign(2 * known_.size(), 0);
  for (std::uint32_t i = 0; i < edges_.size(); ++i) {
    std::size_t at = hash_of(edges_[i]) >> 20 & (known_.size() - 1);
    while (known_[at] != 0) at = (at + 1) & (known_.size() - 1);
    known_[at] = i + 1;
  }
}

}  // namespace hodo::flow
