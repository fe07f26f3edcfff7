#include "stretch.h"

#include <algorithm>
#include <utility>

#include "path_memo.h"

namespace hodo::flow {

void StretchTable::clear() {
  table_.assign(kLeastSize, {});
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(kLeastSize));
  count_ = 0;
  hits_.clear();
  seen_ = {};
}

void StretchTable::remember(const Stretch& stretch) {
  const Path& path = stretch.path;
  int alike = 0;
  (void)find(path.ip, path.key, path.what, [&](const Stretch&) { return ++alike == kMostAlike; });
  if (alike == kMostAlike) return;
  if (2 * ++count_ > table_.size()) grow();
  (void)insert(stretch);
}

std::size_t StretchTable::insert(const Stretch& stretch) {
  std::size_t at = slot(stretch.path.ip, stretch.path.key, stretch.path.what);
  while (table_[at].path.what != 0) at = (at + 1) & (table_.size() - 1);
  table_[at] = stretch;
  return at;
}

void StretchTable::grow() {
  const std::vector<Stretch> old = std::exchange(table_, std::vector<Stretch>(2 * table_.size()));
  --shift_;
  std::vector<std::uint32_t> moved(old.size());
  for (std::size_t i = 0; i < old.size(); ++i) {
    if (old[i].path.what != 0) moved[i] = static_cast<std::uint32_t>(insert(old[i]));
  }
  hits_.move(moved);
}

bool StretchTable::came_before(std::uint64_t ip, std::uint64_t key, const std::uint8_t* at) {
  if (seen_.came(whole_key(ip ^ key, at), 1)) return true;
  if (--patience_ == 0) {
    patience_ = kPatience;
    pause_ = std::exchange(next_pause_, std::min(2 * next_pause_, kMostPause));
  }
  return false;
}

void StretchBuilder::begin(std::uint64_t ip, std::uint64_t key, std::uint8_t what,
                           std::uint64_t last_ip, const std::uint8_t* at,
                           const LongPacketCounts& counted) {
  made_ = {.path = {.ip = ip, .key = key, .valid_until = ~std::uint64_t{0}, .what = what},
           .last_ip = last_ip};
  edges_.clear();
  returns_.clear();
  pops_ = 0;
  possible_ = true;
  appended_ = 0;
  at_ = at;
  counted_before_ = counted;
}

void StretchBuilder::append(const Path& path, std::optional<std::uint64_t> guard, PathMemo& memo) {
  ++appended_;
  Path& whole = made_.path;
  const bool outside = path.pops != 0 && returns_.empty();  // returns to a caller from before
  possible_ = possible_ && !memo.full() && edges_.size() + path.edge_count <= kMostPathEdges &&
              returns_.size() + path.peak <= kMostCalls && path.insns <= kMostPathInsns &&
              whole.insns <= kMostPathInsns &&
              (!outside || !guard || made_.guard_count < Stretch::kMostGuards);
  if (!possible_) return;
  const std::span ids(memo.edge_ids(path), path.edge_count);
  const std::size_t first = edges_.size();
  edges_.insert(edges_.end(), ids.begin(), ids.end());
  if (!ids.empty() && whole.tail != 0) {
    const std::uint64_t begin =
        first == 0 ? whole.ip : line_behind(memo.edges()[edges_[first - 1]]);
    edges_[first] = memo.later(edges_[first], std::exchange(whole.tail, 0), begin, path);
  }
  whole.tail += path.tail;
  whole.insns += path.insns;
  whole.next = path.next;
  whole.valid_from = std::max(whole.valid_from, path.valid_from);
  whole.valid_until = std::min(whole.valid_until, path.valid_until);
  whole.dropped = static_cast<std::uint16_t>(whole.dropped + path.dropped);
  // Above the entries that it began with; popped ones make room.
  const std::size_t peak = returns_.size() + path.peak;
  if (peak > pops_) whole.peak = std::max(whole.peak, static_cast<std::uint8_t>(peak - pops_));
  if (outside) {
    if (guard) made_.guards[made_.guard_count++] = {*guard, pops_};
    ++pops_;
  } else if (path.pops != 0) {
    returns_.pop_back();
  }
  for (unsigned i = 0; i < path.pushes; ++i) returns_.push_back(memo.return_address(path, i));
}

void StretchBuilder::finish(const std::uint8_t* end, const LongPacketCounts& counted,
                            std::uint64_t last_ip, bool enabled, PathMemo& memo) {
  const auto length = static_cast<std::size_t>(end - std::exchange(at_, nullptr));
  if (!possible_ || length < kLeastStretch || memo.full()) return;
  std::copy(end - length, end, made_.bytes.begin());
  made_.length = static_cast<std::uint8_t>(length);
  made_.packets = difference(counted, counted_before_);
  made_.next_last_ip = last_ip;
  made_.enabled_after = enabled;
  made_.path.edge_count = static_cast<std::uint16_t>(edges_.size());
  made_.path.pops = static_cast<std::uint8_t>(pops_);
  made_.path.pushes = static_cast<std::uint8_t>(returns_.size());
  memo.store(made_.path, edges_, returns_);
  memo.stretches().remember(made_);
  memo.stretches().built();
}

}  // namespace hodo::flow
