#include "told.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace hodo::flow::ways {

std::vector<Branch> Paths::hear(const Repeats& batch) {
  std::size_t begin = 0;
  for (const Repeat& repeat : batch.list) {
    if (repeat.begin < begin || repeat.count == 0 || repeat.begin > batch.walked.size()) {
      wrong = "a repeat that is empty, or not at its place in the batch";
      return {};
    }
    begin = repeat.begin;
    std::vector<Branch> path;
    batch.append(repeat, path);
    const auto same = [](const Branch& a, const Branch& b) {
      return std::tie(a.from, a.to, a.kind, a.flags) == std::tie(b.from, b.to, b.kind, b.flags);
    };
    const auto it = known.try_emplace({batch.memory, repeat.path}, path).first;
    if (!std::ranges::equal(it->second, path, same)) wrong = "a path with other branches";
  }
  return batch.all();
}

void Told::on_transfers(const Transfers& batch) {
  std::size_t walked = 0;
  std::size_t transfer = 0;
  std::size_t span = 0;
  opened_before = singles_before = 0;
  const auto tell = [this](Branch branch, std::uint32_t since = 0) {
    in_all.push_back(branches.size() + left_branches);
    own_insns.push_back(since + branch.insns);
    branch.insns += std::exchange(left_insns, 0);
    branches.push_back(branch);
    last_told = branch;
    last_told.insns = own_insns.back();
  };
  const auto walk_to = [&](std::size_t end) {
    while (walked < end) tell(batch.walked[walked++]);
  };
  for (const Transfers::Row& row : batch.rows) {
    walk_to(row.begin);
    for (const Transfer& t : batch.list.subspan(transfer, row.count)) {
      left_branches += t.branches;
      left_insns += t.insns;
      if (t.what == TransferBook::kSpan) {
        take_span(batch, batch.spans[span++], row.time);
        continue;
      }
      std::uint32_t since = t.since;
      for (std::uint32_t at = t.what; at != 0;) {
        tell(branch_of((*batch.book)[at], t.to, row.time), std::exchange(since, 0));
        at = ((*batch.book)[at].flags & TransferBook::kLast) != 0 ? 0 : at + 1;
      }
    }
    transfer += row.count;
  }
  walk_to(batch.walked.size());
  if (batch.last.kind != BranchKind::lost) last_told = batch.last;
  lasts.emplace_back(branches.size() + left_branches, last_told);
  constexpr std::uint64_t kInUnit = (1 << kCodeUnitBits) - 1;
  for (const CodeLine& line : batch.lines) {
    lines.push_back({line.first & ~kInUnit, line.last | kInUnit});
  }
  for (const PassedCalls& calls : batch.passed) passed[calls.callee] += calls.count;
}

void Told::take_span(const Transfers& batch, const CallSpan& span, std::uint64_t time) {
  const std::size_t begin = branches.size() + left_branches;
  returns_below += span.returned;
  for (const OpenedCall& call : batch.opened.subspan(opened_before, span.opened)) {
    opened.push_back({begin, (*batch.book)[call.at].from, call});
  }
  opened_before += span.opened;
  const auto some = batch.singles.subspan(singles_before, span.singles);
  singles.push_back({begin, span.branches, {some.begin(), some.end()}});
  singles_before += span.singles;
  left_branches += span.branches;
  left_insns += span.insns;
  std::uint32_t at = span.last;
  std::uint32_t since = span.since;
  for (; ((*batch.book)[at].flags & TransferBook::kLast) == 0; ++at) since = 0;
  last_told = branch_of((*batch.book)[at], span.to, time);
  last_told.insns += since;
}

void Told::tell(const std::array<std::string, 2>& words,
                const std::vector<std::uint64_t>& numbers) {
  std::string text = words[0];
  // A PSB has no place among the branches: they may be delivered later.
  places.push_back(words[0] != "PSB" ? branches.size() : 0);
  for (const std::uint64_t number : numbers) text += " " + std::to_string(number);
  others.push_back(text + " " + words[1]);
}

std::string text_of(const Branch& b) {
  return std::string(name(b.kind)) + " " + std::to_string(b.from) + ">" + std::to_string(b.to) +
         " time " + std::to_string(b.time) + " insns " + std::to_string(b.insns) + " flags " +
         std::to_string(b.flags);
}

std::string difference(const Stats& a, const Stats& b) {
  if (a.bytes != b.bytes) return "bytes";
  if (a.skipped_bytes != b.skipped_bytes) return "skipped bytes";
  if (a.instructions != b.instructions) {
    return "instructions " + std::to_string(a.instructions) + " not " +
           std::to_string(b.instructions);
  }
  if (a.not_taken != b.not_taken) return "not taken";
  if (a.tnt_bits != b.tnt_bits) return "outcomes";
  if (a.branches != b.branches) return "branches by kind";
  if (a.packets != b.packets) return "packets";
  if (a.packet_bytes != b.packet_bytes) return "bytes of packets";
  if (a.events != b.events) return "events";
  if (a.losses != b.losses) return "losses";
  return "";
}

std::string difference(std::span<const Branch> told, std::span<const Branch> expected) {
  const auto same = [](const Branch& a, const Branch& b) { return fields(a) == fields(b); };
  const auto [mine, other] = std::ranges::mismatch(told, expected, same);
  if (mine == told.end() && other == expected.end()) return "";
  const auto word = [](auto at, const auto& all) {
    return at == all.end() ? std::string("nothing") : text_of(*at);
  };
  return "branch " + std::to_string(mine - told.begin()) + " is " + word(mine, told) + ", not " +
         word(other, expected);
}

std::string difference(std::span<const std::string> said, std::span<const std::string> expected) {
  const auto [mine, other] = std::ranges::mismatch(said, expected);
  if (mine == said.end() && other == expected.end()) return "";
  return "says " + (mine == said.end() ? "nothing" : *mine) + ", not " +
         (other == expected.end() ? "nothing" : *other);
}

std::string difference(const Told& told, const Told& expected) {
  std::string found = difference(std::span<const Branch>(told.branches), expected.branches);
  if (found.empty()) found = difference(std::span<const std::string>(told.others), expected.others);
  if (!found.empty()) return found;
  if (told.places != expected.places) return "says something between other branches";
  return difference(told.stats, expected.stats);
}

Told walk(std::span<const Piece> pieces, const image::CodeSource& code, Config config) {
  config.want_instructions = true;
  Told told;
  told.stats = Decoder(code, config).decode(pieces, told);
  return told;
}

}  // namespace hodo::flow::ways
