#include "straight_line.h"

#include <algorithm>
#include <array>
#include <optional>

namespace hodo::session {
namespace {

using isa::InsnClass;

constexpr std::size_t kMaxInsnSize = 15;

// Execution does not go on behind an instruction of this class, by the trace's own account.
bool leaves(InsnClass cls, Unrecorded unrecorded) {
  if (cls == InsnClass::cond) return false;
  if (cls == InsnClass::syscall || cls == InsnClass::int_) {
    return unrecorded != Unrecorded::system_calls;
  }
  return isa::is_branch(cls);
}

// Decodes one instruction after the other, over the borders of mappings.
class Fetch {
 public:
  Fetch(const image::CodeSource& code, isa::Mode mode, std::uint64_t time, StraightLine& line)
      : code_(code), mode_(mode), time_(time), line_(line) {}

  // nullopt: see code_known().
  std::optional<isa::Insn> at(std::uint64_t ip) {
    if (!covers(ip)) load(ip);
    known_ = covers(ip);
    if (!known_) return std::nullopt;
    const auto rest = span_.bytes.subspan(static_cast<std::size_t>(ip - span_.address));
    if (auto insn = isa::decode(rest, ip, mode_)) return insn;
    return rest.size() < kMaxInsnSize ? across(ip, rest) : std::nullopt;
  }
  bool code_known() const { return known_; }

 private:
  bool covers(std::uint64_t ip) const {
    return span_.content != 0 && ip >= span_.address && ip - span_.address < span_.bytes.size();
  }

  void load(std::uint64_t ip) {
    span_ = code_.find(ip, time_);
    narrow(span_);
  }

  void narrow(const image::CodeSpan& span) {
    line_.valid_from = std::max(line_.valid_from, span.valid_from);
    line_.valid_until = std::min(line_.valid_until, span.valid_until);
  }

  std::optional<isa::Insn> across(std::uint64_t ip, std::span<const std::uint8_t> head) {
    std::array<std::uint8_t, kMaxInsnSize> bytes{};
    std::ranges::copy(head, bytes.begin());
    const image::CodeSpan next = code_.find(ip + head.size(), time_);
    narrow(next);
    if (next.content == 0) return std::nullopt;
    const auto skip = static_cast<std::size_t>(ip + head.size() - next.address);
    const auto size = std::min(next.bytes.size() - skip, bytes.size() - head.size());
    std::ranges::copy(next.bytes.subspan(skip, size),
                      bytes.begin() + static_cast<std::ptrdiff_t>(head.size()));
    return isa::decode(std::span(bytes).first(head.size() + size), ip, mode_);
  }

  const image::CodeSource& code_;
  isa::Mode mode_;
  std::uint64_t time_;
  StraightLine& line_;
  image::CodeSpan span_;
  bool known_ = false;
};

}  // namespace

StraightLine walk_straight(const image::CodeSource& code, std::uint64_t start, std::uint64_t source,
                           isa::Mode mode, std::uint64_t time, Unrecorded unrecorded,
                           NotTakenSink* sink) {
  StraightLine line{.stopped = start};
  if (source < start || source - start > kLongestLine) return line;
  Fetch fetch(code, mode, time, line);
  std::uint32_t told = 0;
  for (std::uint64_t ip = start;;) {
    line.stopped = ip;
    const auto insn = fetch.at(ip);
    if (!insn) {
      line.end = fetch.code_known() ? StraightLine::End::bad_code : StraightLine::End::no_code;
      return line;
    }
    ++line.insns;
    if (ip == source) {
      line.end = StraightLine::End::joined;
      line.cls = insn->cls;
      line.target = isa::has_direct_target(insn->cls) ? insn->target : 0;
      return line;
    }
    if (leaves(insn->cls, unrecorded) || source - ip < insn->length) return line;
    if (insn->cls == InsnClass::cond) {
      ++line.not_taken;
      if (sink != nullptr) sink->not_taken(ip, ip + insn->length, line.insns - told);
      told = line.insns;
    }
    ip += insn->length;
  }
}

}  // namespace hodo::session
