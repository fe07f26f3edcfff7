#include "judging.h"

#include <algorithm>

#include "each_way.h"

namespace hodo::flow::ways {

Judging::End Judging::end(std::uint64_t address, std::uint64_t time) {
  if (code == nullptr) return {judged_by(time), address};
  const image::CodeSpan span = code->find(address, time);
  return {span.content << 32 ^ span.valid_from, address};
}

bool Judging::is_plain(const End& end) const {
  const std::uint64_t by = code == nullptr ? 0 : end.first;
  return ((by ^ end.second) * 0x9e3779b97f4a7c15u >> 11 & 3) != 0;
}

bool Judging::is_apart(const Key& key) const {
  return std::get<BranchKind>(key) == BranchKind::ret && is_plain(std::get<0>(key)) &&
         is_plain(std::get<1>(key));
}

bool Judging::may_pass_apart(const Key& key) const {
  return is_apart(key) && from.contains(std::get<0>(key)) && to.contains(std::get<1>(key));
}

BranchSink::Judged Judging::judged(const Branch& b, std::uint64_t next) {
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

void Judging::come(const Branch& b) {
  branches.push_back(b);
  came.try_emplace(key_of(b), 0);
}

void Judging::on_passages(const Passages& batch) {
  const std::lock_guard lock(mutex);
  std::size_t entry = 0;
  std::size_t address = 0;
  const std::size_t before = branches.size();
  Passages::Position at;
  const auto walk_to = [&](std::size_t end) {
    if (end < at.walked || end > batch.walked.size()) wrong = "a passage out of its place";
    for (; at.walked < end; ++at.walked) come(batch.walked[at.walked]);
  };
  const auto same = [](const Branch& a, const Branch& b) { return fields(a) == fields(b); };
  for (const Passage& passage : batch.list) {
    walk_to(passage.begin);
    take(batch, passage, entry, address);
    entry += passage.entries;
    address += passage.returned + passage.called;
    ++at.passages;
    const auto last = batch.last(5, at);
    const std::span told = std::span(branches).subspan(before);
    const auto end = told.last(std::min<std::size_t>(5, told.size()));
    if (!std::ranges::equal(last, end, same)) wrong = "other branches are last";
  }
  walk_to(batch.walked.size());
  if (!std::ranges::equal(batch.all(), std::span(branches).subspan(before), same)) {
    wrong = "all are other branches";
  }
}

void Judging::on_repeats(const Repeats& batch) {
  const std::lock_guard lock(mutex);
  for (const Branch& b : paths.hear(batch)) come(b);
  if (!paths.wrong.empty()) wrong = paths.wrong;
}

// The place of its first entry and address in the batch.
void Judging::take(const Passages& batch, const Passage& passage, std::size_t entry,
                   std::size_t address) {
  const std::size_t first = branches.size();
  batch.append(passage, entry, branches);
  const std::span row = std::span(branches).subspan(first);
  if (row.empty() || row.size() != passage.branches) wrong = "other branches than it says";
  const auto addresses = batch.addresses.subspan(address);
  follow(row, addresses.first(passage.returned),
         addresses.subspan(passage.returned, passage.called));
  passed += row.size();
}

void Judging::follow(std::span<const Branch> row, std::span<const std::uint64_t> returned,
                     std::span<const std::uint64_t> called) {
  std::vector<std::uint64_t> below;
  std::vector<std::uint64_t> open;
  for (const Branch& b : row) {
    const Key key = key_of(b);
    const auto it = came.find(key);
    if (it == came.end() && !may_pass_apart(key)) {
      wrong = "a branch passes that never came";
      return;
    }
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

std::string judging_differs(PieceSource& stream, const image::CodeSource& code, Decoder& decoder,
                            const Told& expected) {
  for (const image::CodeSource* by : {static_cast<const image::CodeSource*>(nullptr), &code}) {
    const std::string what = by == nullptr ? "passages: " : "passages, by code: ";
    for (const bool repeats : {false, true, false, true}) {
      Judging told(by, repeats);
      told.stats = decoder.decode(stream, told);
      if (!told.wrong.empty()) return what + told.wrong;
      const std::string found = difference(told, expected);
      if (!found.empty()) return what + found;
    }
  }
  return "";
}

}  // namespace hodo::flow::ways
