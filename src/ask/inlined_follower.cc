#include "inlined_follower.h"

#include <algorithm>
#include <ranges>
#include <span>

#include "hodo/flow/decoder.h"

namespace hodo::ask {
namespace {

bool is_jump(BranchKind kind) {
  return kind == BranchKind::cond || kind == BranchKind::jmp || kind == BranchKind::ijmp;
}

bool is_call(BranchKind kind) { return kind == BranchKind::call || kind == BranchKind::icall; }

// Leads to where the thread has been before, or to where nobody knows whether it has.
bool goes_on_behind(BranchKind kind) {
  switch (kind) {
    case BranchKind::ret:
    case BranchKind::sysret:
    case BranchKind::iret:
    case BranchKind::begin:
    case BranchKind::lost:
      return true;
    default:
      return false;
  }
}

}  // namespace

void InlinedFollower::opened(const analyze::OpenCall& call, std::size_t depth) {
  frames_.push_back({.entry = call.entry, .since = call.since.branches});
  behind_.opened(call, depth);
}

void InlinedFollower::closed(const analyze::OpenCall& call, analyze::CallEnd how,
                             const analyze::CallClock& now) {
  if (!frames_.empty()) {
    close_above(frames_.size() - 1, how, now);
    frames_.pop_back();
    for (Open& open : std::views::reverse(open_)) {
      if (open.depth != frames_.size()) break;
      open.thrown = how == analyze::CallEnd::skipped;
    }
  }
  behind_.closed(call, how, now);
}

// Those that more than so many frames are around.
void InlinedFollower::close_above(std::size_t depth, analyze::CallEnd how,
                                  const analyze::CallClock& now) {
  while (!open_.empty() && open_.back().depth > depth) {
    finish(open_.back(), how, now, false);
    open_.pop_back();
  }
}

void InlinedFollower::finish(const Open& open, analyze::CallEnd how, const analyze::CallClock& now,
                             bool is_open) {
  if (open.number == 0) return;
  if (open.inside) return watcher_.ended(open.number, {.clock = now}, how, is_open);
  watcher_.ended(open.number, open.end, open.how, false);
}

void InlinedFollower::end(const analyze::CallClock& now) {
  for (const Open& open : std::views::reverse(open_)) {
    finish(open, analyze::CallEnd::lost, now, true);
  }
  open_.clear();
}

void InlinedFollower::restart(const Branch& last, const analyze::CallClock& now, bool forwards) {
  now_ = now;
  before_ = last;
  picked_up_ = true;
  frames_before_ = std::exchange(frames_, {});
  if (!forwards) frames_before_.clear();
}

// In what was left out no code of theirs has run: one whose frame is gone, and that had called what
// did not come back to it, was left by an exception or longjmp.
void InlinedFollower::restarted() {
  const auto same = std::ranges::mismatch(frames_, frames_before_);
  const std::size_t depth = static_cast<std::size_t>(same.in1 - frames_.begin());
  close_above(frames_before_.empty() ? 0 : depth, analyze::CallEnd::skipped, now_);
}

void InlinedFollower::branch(const session::Context& who, const Branch& branch,
                             analyze::OpenCalls& calls) {
  if ((branch.flags & kNotTaken) == 0) line(who, branch, calls.clock());
  calls.branch(who.space, branch);
}

// The straight line of code up to this branch, and what `clock` was before it.
void InlinedFollower::line(const session::Context& who, const Branch& branch,
                           const analyze::CallClock& clock) {
  const std::uint64_t begin = clock.branches == 0 ? 0 : flow::line_behind(before_);
  const std::uint64_t end = branch.from + ((branch.flags & kAsync) == 0 ? 1 : 0);
  if (begin != 0 && begin < end) {
    const auto here = inlined_.at(who.space, begin, branch.time);
    const Line line{.begin = begin - here.delta,
                    .end = end - here.delta,
                    .delta = here.delta,
                    .file = here.known,
                    .who = &who,
                    .branch = &branch,
                    .clock = &clock};
    if (is_jump(before_.kind) && begin < before_.from) go_back(line);
    pass(line);
    picked_up_ = false;
  }
  before_ = branch;
}

// By a loop around the call, which is one that goes back to before it or has some of it inside.
// Compilers move code of a call to before its entry, also from one round of the loop to the next.
void InlinedFollower::go_back(const Line& line) {
  for (Open& open : std::views::reverse(open_)) {
    if (open.depth != frames_.size()) break;
    if (open.inside || open.file != line.file) continue;
    const auto& pieces = (*line.file)[open.call].pieces;
    const auto piece = std::ranges::lower_bound(pieces, line.begin, {}, &Spot::begin);
    const bool around = piece != pieces.end() && piece->begin < before_.from - line.delta;
    open.over = open.over || around || line.begin <= open.begin;
  }
}

void InlinedFollower::pass(const Line& line) {
  calls_.clear();
  if (line.file != nullptr) line.file->add_meeting(line.begin, line.end - 1, calls_);
  for (Open& open : std::views::reverse(open_)) {
    if (open.depth != frames_.size()) break;
    const bool meets = open.file == line.file && std::ranges::binary_search(calls_, open.call);
    if (!meets) leave(open, {.clock = *line.clock});
  }
  if (line.file == nullptr) return;
  for (const std::uint32_t call : calls_) pass(line, *line.file, call);
}

void InlinedFollower::leave(Open& open, const PathPoint& at) {
  if (open.inside) open.end = at;
  if (open.inside && open.thrown) {
    open.how = analyze::CallEnd::skipped;
    open.over = true;
  }
  open.inside = false;
  open.left = true;
}

std::optional<std::size_t> InlinedFollower::find(const Line& line, std::uint32_t call) const {
  for (std::size_t i = open_.size(); i-- > 0 && open_[i].depth == frames_.size();) {
    if (open_[i].file == line.file && open_[i].call == call) return i;
  }
  return std::nullopt;
}

// Whether the line begins in the midst of a call whose beginning was not seen: behind an
// instruction of it that called, or that was the last before the path was lost.
bool InlinedFollower::is_picked_up(const Line& line, const InlinedInFile::Call& call) const {
  if (!call.covers(line.begin)) return false;
  if (picked_up_ && call.covers(before_.from - line.delta)) return true;
  if (!picked_up_ && !goes_on_behind(before_.kind)) return false;
  return !call.entry_in(line.begin, line.begin + 1) && call.covers(line.begin - 1);
}

void InlinedFollower::pass(const Line& line, const InlinedInFile& file, std::uint32_t number) {
  const InlinedInFile::Call& call = file[number];
  auto open = find(line, number);
  if (!open && is_picked_up(line, call)) {
    open = open_.size();
    open_.push_back(
        {.file = line.file, .call = number, .begin = line.begin, .depth = frames_.size()});
  }
  if (open && !call.covers(line.begin)) leave(open_[*open], {.clock = *line.clock});
  auto piece = std::ranges::upper_bound(call.pieces, line.begin, {}, &Spot::end);
  for (; piece != call.pieces.end() && piece->begin < line.end; ++piece) {
    const std::uint64_t to = std::min(piece->end, line.end);
    const auto entry = entry_in(line, call, *piece, open);
    if (entry) open = begin(line, number, *entry, open);
    if (!open || open_[*open].over) continue;
    open_[*open].inside = true;
    if (to < line.end) {
      leave(open_[*open], {.insn = distance(line, to), .clock = *line.clock});
    } else if (is_call(line.branch->kind)) {
      open_[*open].thrown = false;
    }
  }
}

// Where in the piece the line would begin the call.
std::optional<std::uint64_t> InlinedFollower::entry_in(const Line& line,
                                                       const InlinedInFile::Call& call,
                                                       const Spot& piece,
                                                       std::optional<std::size_t> open) const {
  const Open* const now = open ? &open_[*open] : nullptr;
  const std::uint64_t from = std::max(piece.begin, line.begin);
  if (!call.entries.empty()) {
    if (now != nullptr && !now->left) return std::nullopt;
    return call.entry_in(from, std::min(piece.end, line.end));
  }
  // What it began with once is an entry.
  const bool again = now != nullptr && now->left && from == now->begin;
  return now == nullptr || now->over || again ? std::optional(from) : std::nullopt;
}

// The call begins, unless the path did not come to its entry: there is no instruction, or it has
// jumped over it. `open`: an earlier one, whose place it takes. Where in `open_` it is.
std::optional<std::size_t> InlinedFollower::begin(const Line& line, std::uint32_t number,
                                                  std::uint64_t entry,
                                                  std::optional<std::size_t> open) {
  const std::uint64_t insn = distance(line, entry);
  if (insn > line.branch->insns) return open;
  if (open) finish(open_[*open], analyze::CallEnd::returned, *line.clock, false);
  if (!open) open = open_.size();
  const InlinedCallBegun begun{.function = (*line.file)[number].function,
                               .entry = entry + line.delta,
                               .at = {.insn = insn, .clock = *line.clock},
                               .who = *line.who};
  Open one{.file = line.file, .call = number, .begin = entry, .depth = frames_.size()};
  one.number = watcher_.began(begun);
  open_.resize(std::max(open_.size(), *open + 1));
  open_[*open] = one;
  return open;
}

std::uint64_t InlinedFollower::distance(const Line& line, std::uint64_t to) {
  return code_.distance(line.who->space, line.begin + line.delta, to + line.delta,
                        line.branch->time, std::uint64_t{line.branch->insns} + 1);
}

}  // namespace hodo::ask
