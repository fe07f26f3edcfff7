#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "by_kind.h"
#include "each_way.h"

namespace hodo::flow::ways {
namespace {

// Calls that began and ended in a span, in the order in which they ended.
std::vector<SingleCall> calls_within(std::span<const Branch> branches) {
  std::vector<SingleCall> out;
  std::vector<SingleCall> open;
  std::uint32_t insns = 0;
  std::uint32_t returned = 0;
  for (std::uint32_t i = 0; i < branches.size(); ++i) {
    const Branch& b = branches[i];
    insns += b.insns;
    if (b.kind == BranchKind::call || b.kind == BranchKind::icall) {
      open.push_back({.callee = ByKind::callee(b.to),
                      .caller = open.empty() ? SingleCall::kOpenBefore : open.back().callee,
                      .returned = returned,
                      .branches = i + 1,
                      .insns = insns});
    }
    if (b.kind != BranchKind::ret) continue;
    if (open.empty()) {
      ++returned;
      continue;
    }
    out.push_back(open.back());
    out.back().end_branches = i + 1;
    out.back().end_insns = insns;
    open.pop_back();
  }
  return out;
}

auto said_of(const SingleCall& c) {
  return std::tie(c.callee, c.caller, c.returned, c.branches, c.insns, c.end_branches, c.end_insns);
}

// All of some callees, and none of others; of the rest it is chance how many.
std::string singles_differ(const Told& told, const Told& expected, const ByKind& judge) {
  for (const Told::Singles& span : told.singles) {
    auto next = span.calls.begin();
    for (const SingleCall& call :
         calls_within(std::span(expected.branches).subspan(span.begin, span.branches))) {
      if (!ByKind::may_be_single(call.callee)) continue;
      const bool is = next != span.calls.end() && said_of(*next) == said_of(call);
      if (is) ++next;
      if (!is && judge.is_single(call.callee)) return "a call that is not told by itself";
    }
    if (next != span.calls.end()) return "a call by itself that was none";
  }
  return "";
}

}  // namespace

std::string following_differs(PieceSource& stream, Decoder& decoder, const Told& expected) {
  const ByKind judge;
  Told told;
  told.leaves_out = told.exactly = true;
  told.judge = &judge;
  told.stats = decoder.decode(stream, told);
  if (told.branches.size() + told.left_branches != expected.branches.size()) {
    return "following calls: counts others";
  }
  std::string found = difference(told.stats, expected.stats);
  if (found.empty()) found = left_out_exactly(told, expected);
  if (found.empty()) found = singles_differ(told, expected, judge);
  if (!found.empty()) return "following calls: " + found;

  std::map<std::uint32_t, std::uint64_t> followed = told.passed;
  std::uint64_t ended = told.returns_below;
  for (const auto& [callee, count] : told.passed) ended += count;
  for (const Told::Opened& one : told.opened) {
    ++followed[one.call.callee];
    const auto span = std::span(expected.branches).subspan(one.begin);
    const Branch& call = span[one.call.made_branches];
    std::uint64_t insns = 0;
    for (const Branch& b : span.first(one.call.branches)) insns += b.insns;
    if (call.from != one.from || ByKind::callee(call.to) != one.call.callee ||
        call.insns != one.call.made_insns + 1 || insns != one.call.insns) {
      return "following calls: another than " + text_of(call);
    }
  }
  std::map<std::uint32_t, std::uint64_t> meant;
  std::uint64_t returns = 0;
  std::size_t next = 0;
  for (std::size_t i = 0; i < expected.branches.size(); ++i) {
    const Branch& b = expected.branches[i];
    if (next < told.in_all.size() && told.in_all[next] == i) {
      ++next;
      continue;
    }
    if (b.kind == BranchKind::call || b.kind == BranchKind::icall) ++meant[ByKind::callee(b.to)];
    returns += b.kind == BranchKind::ret ? 1 : 0;
  }
  if (followed != meant) return "following calls: other calls";
  if (ended != returns) return "following calls: other returns";
  return "";
}

}  // namespace hodo::flow::ways
