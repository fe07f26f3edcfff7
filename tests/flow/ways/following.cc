#include "by_kind.h"
#include "each_way.h"

namespace hodo::flow::ways {

std::string following_differs(std::span<const Piece> pieces, Decoder& decoder,
                              const Told& expected) {
  const ByKind judge;
  Told told;
  told.leaves_out = told.exactly = true;
  told.judge = &judge;
  told.stats = decoder.decode(pieces, told);
  if (told.branches.size() + told.left_branches != expected.branches.size()) {
    return "following calls: counts others";
  }
  std::string found = difference(told.stats, expected.stats);
  if (found.empty()) found = left_out_exactly(told, expected);
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
