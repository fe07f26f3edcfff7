#include <algorithm>

#include "hodo/flow/decoder.h"
#include "passage_log.h"

namespace hodo::flow {

void PassageLog::close(std::uint64_t time, std::size_t begin, std::uint64_t insns) {
  if (branches_ == 0) {
    at_ = begin_;
    return;
  }
  list_.push_back({.time = time,
                   .begin = static_cast<std::uint32_t>(begin),
                   .branches = static_cast<std::uint32_t>(branches_),
                   .entries = static_cast<std::uint32_t>(at_.entry - begin_.entry),
                   .insns = insns,
                   .returned = static_cast<std::uint32_t>(at_.called - begin_.address),
                   .called = static_cast<std::uint32_t>(at_.address - at_.called)});
  branches_ = 0;
  at_.called = at_.address;
  begin_ = at_;
}

void PassageLog::clear() {
  list_.clear();
  at_ = begin_ = {.entry = entries_.data(),
                  .address = addresses_.data(),
                  .returned = returns_.data(),
                  .called = addresses_.data()};
  branches_ = 0;
}

std::uint64_t Passages::first_time() const {
  const bool passes = !list.empty() && list.front().begin == 0;
  return passes ? list.front().time : walked.front().time;
}

std::uint64_t Passages::last_time() const {
  const bool passes = !list.empty() && list.back().begin == walked.size();
  return passes ? list.back().time : walked.back().time;
}

void Passages::append(const Passage& passage, std::size_t first, std::vector<Branch>& out) const {
  reader->append(*this, entries.subspan(first, passage.entries), passage.insns, passage.time, out);
}

// Its last branches, `most` of them or more, or all that there are; `behind` of all entries are
// before its end.
void Passages::append_last(const Passage& passage, std::size_t behind, std::size_t most,
                           std::vector<Branch>& out) const {
  const std::size_t begin = behind - passage.entries;
  // Most entries have branches. The first of them lacks the instructions of those before.
  for (std::size_t count = most + 1; count < passage.entries; count *= 2) {
    out.clear();
    reader->append(*this, entries.subspan(behind - count, count), 0, passage.time, out);
    if (out.size() > most) return;
  }
  out.clear();
  append(passage, begin, out);
}

std::vector<Branch> Passages::last(std::size_t most, const Position& before) const {
  std::size_t behind = 0;  // entries
  for (const Passage& passage : list.first(before.passages)) behind += passage.entries;
  // From the last part to the first, each turned round.
  std::vector<Branch> out;
  std::vector<Branch> part;
  const auto take = [&](std::span<const Branch> row) {
    const auto end = row.last(std::min(row.size(), most - out.size()));
    out.insert(out.end(), end.rbegin(), end.rend());
  };
  Position at = before;
  while (out.size() < most && (at.passages != 0 || at.walked != 0)) {
    const std::size_t begin = at.passages == 0 ? 0 : list[at.passages - 1].begin;
    take(walked.subspan(begin, at.walked - begin));
    at.walked = begin;
    if (at.passages == 0) continue;
    const Passage& passage = list[--at.passages];
    append_last(passage, behind, most - out.size(), part);
    behind -= passage.entries;
    take(part);
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<Branch> Passages::all() const {
  std::vector<Branch> out;
  std::size_t at = 0;
  const auto walk_to = [&](std::size_t end) {
    const auto part = walked.subspan(at, end - at);
    out.insert(out.end(), part.begin(), part.end());
    at = end;
  };
  std::size_t entry = 0;
  for (const Passage& passage : list) {
    walk_to(passage.begin);
    append(passage, entry, out);
    entry += passage.entries;
  }
  walk_to(walked.size());
  return out;
}

}  // namespace hodo::flow
