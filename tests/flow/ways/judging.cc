#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "each_way.h"

namespace hodo::flow::ways {
namespace {

// Judges branches by themselves: some always come, the others pass when they have come once. What
// it goes by changes with time or, with `code`, only where the code at one of the ends is mapped
// anew. Some returns hang on their ends alone.
struct Judging final : Told {
  explicit Judging(const image::CodeSource* by) : code(by) {}

  const image::CodeSource* code;
  using End = std::pair<std::uint64_t, std::uint64_t>;  // what it goes by, and an address
  using Key = std::tuple<End, End, BranchKind>;
  std::map<Key, std::uint64_t> came;  // and what is behind it, if it may pass
  std::set<End> from;                 // of returns that pass apart,
  std::set<End> to;
  std::string wrong;
  std::size_t passed = 0;
  std::mutex mutex;  // others ask while this is told

  End end(std::uint64_t address, std::uint64_t time) {
    if (code == nullptr) return {judged_by(time), address};
    const image::CodeSpan span = code->find(address, time);
    return {span.content << 32 ^ span.valid_from, address};
  }
  bool is_plain(const End& end) const {
    const std::uint64_t by = code == nullptr ? 0 : end.first;
    return ((by ^ end.second) * 0x9e3779b97f4a7c15u >> 11 & 3) != 0;
  }
  Key key_of(const Branch& b) { return {end(b.from, b.time), end(b.to, b.time), b.kind}; }
  bool is_apart(const Key& key) const {
    return std::get<BranchKind>(key) == BranchKind::ret && is_plain(std::get<0>(key)) &&
           is_plain(std::get<1>(key));
  }

  bool wants_passages() const override { return true; }
  std::uint64_t judged_by(std::uint64_t time) override { return code ? 0 : time / 16 % 3; }
  Judged judged(const Branch& b, std::uint64_t next) override {
    const std::lock_guard lock(mutex);
    if (b.flags != 0) wrong = "asks about flags";
    const Key key = key_of(b);
    const bool apart = is_apart(key);
    if (!apart && ((b.from * 0x9e3779b97f4a7c15u ^ b.to) >> 5 & 7) == 0) return Judged::comes;
    const auto it = came.find(key);
    if (it == came.end()) return Judged::later;
    it->second = next;
    if (!apart) return Judged::passes;
    from.insert(std::get<0>(key));
    to.insert(std::get<1>(key));
    return Judged::passes_apart;
  }
  void on_branches(std::span<const Branch>) override { wrong = "branches without passages"; }
  void on_passages(const Passages& batch) override {
    const std::lock_guard lock(mutex);
    std::size_t entry = 0;
    std::size_t address = 0;
    const std::size_t before = branches.size();
    Passages::Position at;
    const auto walk_to = [&](std::size_t end) {
      if (end < at.walked || end > batch.walked.size()) wrong = "a passage out of its place";
      for (; at.walked < end; ++at.walked) {
        const Branch& b = batch.walked[at.walked];
        branches.push_back(b);
        came.try_emplace(key_of(b), 0);
      }
    };
    for (const Passage& passage : batch.list) {
      walk_to(passage.begin);
      const std::size_t first = branches.size();
      batch.append(passage, entry, branches);
      const std::span row = std::span(branches).subspan(first);
      if (row.empty() || row.size() != passage.branches) wrong = "other branches than it says";
      const auto addresses = batch.addresses.subspan(address);
      follow(row, addresses.first(passage.returned),
             addresses.subspan(passage.returned, passage.called));
      entry += passage.entries;
      address += passage.returned + passage.called;
      passed += row.size();
      ++at.passages;
      const auto last = batch.last(5, at);
      const std::span told = std::span(branches).subspan(before);
      const auto end = told.last(std::min<std::size_t>(5, told.size()));
      const auto same = [](const Branch& a, const Branch& b) {
        return a.from == b.from && a.to == b.to && a.insns == b.insns && a.time == b.time;
      };
      if (!std::ranges::equal(last, end, same)) wrong = "other branches are last";
    }
    walk_to(batch.walked.size());
  }
  void follow(std::span<const Branch> row, std::span<const std::uint64_t> returned,
              std::span<const std::uint64_t> called) {
    std::vector<std::uint64_t> below;
    std::vector<std::uint64_t> open;
    for (const Branch& b : row) {
      const Key key = key_of(b);
      const auto it = came.find(key);
      const bool apart =
          is_apart(key) && from.contains(std::get<0>(key)) && to.contains(std::get<1>(key));
      if (it == came.end() && !apart) wrong = "a branch passes that never came";
      if (it == came.end() && !apart) return;
      if (b.kind == BranchKind::call || b.kind == BranchKind::icall) open.push_back(it->second);
      if (b.kind != BranchKind::ret) continue;
      if (open.empty()) {
        below.push_back(b.to);
      } else {
        if (open.back() != b.to) wrong = "a return passes its call";
        open.pop_back();
      }
    }
    if (!std::ranges::equal(below, returned) || !std::ranges::equal(open, called)) {
      wrong = "other calls than those of a passage";
    }
  }
};

}  // namespace

std::string judging_differs(PieceSource& stream, const image::CodeSource& code, Decoder& decoder,
                            const Told& expected) {
  for (const image::CodeSource* by : {static_cast<const image::CodeSource*>(nullptr), &code}) {
    const std::string what = by == nullptr ? "passages: " : "passages, by code: ";
    for (int i = 0; i < 2; ++i) {
      Judging told(by);
      told.stats = decoder.decode(stream, told);
      if (!told.wrong.empty()) return what + told.wrong;
      const std::string found = difference(told, expected);
      if (!found.empty()) return what + found;
    }
  }
  return "";
}

}  // namespace hodo::flow::ways
