#include <algorithm>
#include <iterator>

#include "each_way.h"

namespace hodo::flow::ways {
namespace {

// Without the jumps that may be left out, their instructions with the next branch.
Told without_jumps(const Told& told) {
  Told out;
  out.others = told.others;
  out.stats = told.stats;
  std::vector<std::size_t> kept;  // of the first n branches
  std::uint32_t insns = 0;
  for (const Branch& branch : told.branches) {
    kept.push_back(out.branches.size());
    insns += branch.insns;
    if (is_left_out(branch)) continue;
    out.branches.push_back(branch);
    out.branches.back().insns = std::exchange(insns, 0);
  }
  kept.push_back(out.branches.size());
  for (const std::size_t place : told.places) out.places.push_back(kept[place]);
  return out;
}

std::vector<std::uint64_t> times(const Told& told) {
  std::vector<std::uint64_t> out;
  for (const Branch& branch : told.branches) out.push_back(branch.time);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

auto same_but_time(const Branch& b) { return std::tie(b.from, b.to, b.kind, b.flags, b.insns); }

// First to last address, without those that lie in others.
std::map<std::uint64_t, std::uint64_t> joined(std::vector<CodeLine> lines) {
  std::ranges::sort(lines, {}, &CodeLine::first);
  std::map<std::uint64_t, std::uint64_t> out;
  for (const CodeLine& line : lines) {
    const bool within = !out.empty() && line.first <= out.rbegin()->second;
    std::uint64_t& last = within ? out.rbegin()->second : out[line.first];
    last = std::max(last, line.last);
  }
  return out;
}

}  // namespace

std::string left_out_exactly(const Told& told, const Told& expected) {
  for (std::size_t i = 0; i < told.branches.size(); ++i) {
    if (told.own_insns[i] != expected.branches[told.in_all[i]].insns) {
      return "other instructions before " + text_of(told.branches[i]);
    }
  }
  for (const auto& [number, last] : told.lasts) {
    if (number != 0 && same_but_time(last) != same_but_time(expected.branches[number - 1])) {
      return "the last of " + std::to_string(number) + " is " + text_of(last);
    }
  }
  const auto lines = joined(told.lines);
  const auto has = [&lines](std::uint64_t at) {
    const auto behind = lines.upper_bound(at);
    return at == 0 || (behind != lines.begin() && at <= std::prev(behind)->second);
  };
  std::uint64_t begin = 0;
  for (const Branch& branch : expected.branches) {
    const bool executed = branch.kind < BranchKind::begin && branch.kind != BranchKind::abort &&
                          (branch.flags & kAsync) == 0;
    if (executed && (!has(branch.from) || !has(begin))) return "no line of " + text_of(branch);
    begin = line_behind(branch);
  }
  return "";
}

std::string leaving_out_differs(PieceSource& stream, Decoder& decoder, const Told& expected,
                                bool exactly) {
  Told told;
  told.leaves_out = true;
  told.exactly = exactly;
  told.stats = decoder.decode(stream, told);
  if (times(told) != times(expected)) return "leaving out jumps: a time of which no branch comes";
  if (told.branches.size() + told.left_branches != expected.branches.size()) {
    return "leaving out jumps: counts others";
  }
  for (std::size_t i = 0; i < told.branches.size(); ++i) {
    const Branch& meant = expected.branches[told.in_all[i]];
    const Branch& branch = told.branches[i];
    if (std::tie(branch.from, branch.to, branch.kind) !=
        std::tie(meant.from, meant.to, meant.kind)) {
      return "leaving out jumps: branch " + std::to_string(told.in_all[i]) + " is " +
             text_of(branch) + ", not " + text_of(meant);
    }
  }
  std::string found = difference(without_jumps(told), without_jumps(expected));
  if (found.empty() && exactly) found = left_out_exactly(told, expected);
  return found.empty() ? "" : "leaving out jumps: " + found;
}

}  // namespace hodo::flow::ways
