// What a sink was told, in whichever way, to be compared with what it was told in another.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/flow/transfers.h"

namespace hodo::flow::ways {

// The branches of the paths that a decoder said come again. `wrong`: what was said and is not so.
struct Paths {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Branch>> known;
  std::string wrong;

  // Gives the batch's branches.
  std::vector<Branch> hear(const Repeats& batch);
};

// Half of the jumps, for a sink that leaves them out.
inline bool is_left_out(const Branch& b) {
  const bool jumps = b.kind == BranchKind::cond || b.kind == BranchKind::jmp;
  return jumps && b.flags == 0 && ((b.from * 0x9e3779b97f4a7c15u ^ b.to) >> 3 & 1) != 0;
}

// Everything that a sink is told, in one order.
struct Told : BranchSink {
  bool leaves_out = false;
  std::vector<Branch> branches;
  std::vector<std::string> others;  // "LOSS ..." and "EVENT ...",
  std::vector<std::size_t> places;  // of each of them: the number of branches before
  Stats stats;

  bool leaves_out_jumps() const override { return leaves_out; }
  bool may_leave_out(std::uint64_t, const Branch& jump) const override {
    return (jump.flags & kNotTaken) != 0 || is_left_out(jump);
  }

  void on_branches(std::span<const Branch> batch) override {
    branches.insert(branches.end(), batch.begin(), batch.end());
  }
  // Writes all of them out, with the instructions of what was left out before each.
  void on_transfers(const Transfers& batch) override;
  // Calls that the decoder followed: those that ended, by callee, and those that were left open,
  // each with the number of branches before its span.
  struct Opened {
    std::size_t begin;
    std::uint64_t from;
    OpenedCall call;
  };
  const CallJudge* judge = nullptr;
  const CallJudge* call_judge() const override { return judge; }
  std::map<std::uint32_t, std::uint64_t> passed;
  std::vector<Opened> opened;
  std::size_t opened_before = 0;  // of the batch
  // Those that were told one by one, by span: the branches before it, and in it.
  struct Singles {
    std::size_t begin;
    std::size_t branches;
    std::vector<SingleCall> calls;
  };
  std::vector<Singles> singles;
  std::size_t singles_before = 0;
  std::uint64_t returns_below = 0;  // from calls before their span
  bool wants_lines() const override { return exactly; }
  bool exactly = false;
  std::vector<std::uint32_t> own_insns;  // of each branch, without those of what was left out
  Branch last_told;
  std::vector<std::pair<std::size_t, Branch>> lasts;  // of each batch: all branches, the last
  std::vector<CodeLine> lines;
  std::vector<std::size_t> in_all;  // of each branch, if those that were left out count, too
  std::size_t left_branches = 0;
  std::uint32_t left_insns = 0;

  void on_loss(const Loss& loss) override {
    tell({"loss " + std::string(name(loss.cause)), loss.reason},
         {loss.offset, loss.skipped, loss.last_ip, loss.ip, loss.time});
  }
  void on_event(const Event& event) override {
    tell({"event " + std::string(name(event.kind)), ""},
         {event.offset, event.ip, event.time, event.payload, event.extra});
  }
  bool on_progress(std::uint64_t offset) override {
    tell({"PSB", ""}, {offset});
    return true;
  }

 private:
  void take_span(const Transfers& batch, const CallSpan& span, std::uint64_t time);
  void tell(const std::array<std::string, 2>& words, const std::vector<std::uint64_t>& numbers);
};

inline auto fields(const Branch& b) {
  return std::tie(b.from, b.to, b.time, b.insns, b.kind, b.flags);
}

std::string text_of(const Branch& b);

// What is not the same; empty: nothing.
std::string difference(const Stats& a, const Stats& b);
std::string difference(std::span<const Branch> told, std::span<const Branch> expected);
std::string difference(std::span<const std::string> said, std::span<const std::string> expected);
std::string difference(const Told& told, const Told& expected);

// Decoded in the plain way, by which the others are judged.
Told walk(std::span<const Piece> pieces, const image::CodeSource& code, Config config);

}  // namespace hodo::flow::ways
