#include "step_code.h"

#include <sys/uio.h>

#include <algorithm>
#include <vector>

namespace hodo::capture {
namespace {

using isa::InsnClass;

// Longer straight lines are stepped through instruction by instruction.
constexpr int kLongestLine = 256;

bool is_indirect(InsnClass cls) {
  return cls == InsnClass::ijmp || cls == InsnClass::icall || cls == InsnClass::ret;
}

}  // namespace

std::size_t ProcessCode::read(std::uint64_t address, std::span<std::uint8_t> out) {
  // In two parts: the second one may lie on a page that is not there.
  const std::uint64_t page = 4096 - address % 4096;
  const std::size_t head = std::min<std::uint64_t>(page, out.size());
  std::array<iovec, 2> remote{{{reinterpret_cast<void*>(address), head},
                               {reinterpret_cast<void*>(address + head), out.size() - head}}};
  const iovec local{out.data(), out.size()};
  const ssize_t n =
      ::process_vm_readv(pid_, &local, 1, remote.data(), head < out.size() ? 2 : 1, 0);
  return n < 0 ? 0 : static_cast<std::size_t>(n);
}

std::optional<SteppedInsn> insn_at(CodeReader& code, std::uint64_t address, isa::Mode mode) {
  SteppedInsn out;
  out.address = address;
  const std::size_t size = code.read(address, out.bytes);
  const auto insn = isa::decode(std::span(out.bytes).first(size), address, mode);
  if (!insn) return std::nullopt;
  out.insn = *insn;
  return out;
}

bool branched(const SteppedInsn& at, std::uint64_t to) {
  if (!isa::is_branch(at.insn.cls)) return false;
  return at.insn.cls != InsnClass::cond || to == at.insn.target;
}

Line look_ahead(CodeReader& code, std::uint64_t start, isa::Mode mode) {
  Line line;
  std::vector<std::uint64_t> targets;
  std::uint64_t at = start;
  for (int i = 0; i < kLongestLine; ++i) {
    const auto here = insn_at(code, at, mode);
    if (!here) return line;
    const InsnClass cls = here->insn.cls;
    at += here->insn.length;
    if (!isa::is_branch(cls)) continue;
    line.system_call = cls == InsnClass::syscall || cls == InsnClass::int_;
    // An indirect branch could lead where one of those before it leads.
    line.tells = !is_indirect(cls) || targets.empty();
    if (isa::has_direct_target(cls)) {
      line.tells = std::ranges::find(targets, here->insn.target) == targets.end();
      targets.push_back(here->insn.target);
    }
    if (!line.tells || cls != InsnClass::cond) return line;
  }
  line.tells = false;
  return line;
}

std::optional<SteppedInsn> branch_taken(CodeReader& code, std::uint64_t start, std::uint64_t to,
                                        isa::Mode mode) {
  std::uint64_t at = start;
  for (int i = 0; i < kLongestLine; ++i) {
    const auto here = insn_at(code, at, mode);
    if (!here) return std::nullopt;
    if (branched(*here, to)) return here;
    at += here->insn.length;
  }
  return std::nullopt;
}

}  // namespace hodo::capture
