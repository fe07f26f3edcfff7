#include "ways.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "hodo/flow/growing.h"
#include "hodo/flow/slices.h"
#include "hodo/flow/transfers.h"
#include "hodo/pt/reader.h"

namespace hodo::flow {
namespace {

// The branches of the paths that a decoder said come again. `wrong`: what was said and is not so.
struct Paths {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Branch>> known;
  std::string wrong;

  // Gives the batch's branches.
  std::vector<Branch> hear(const Repeats& batch) {
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
};

// Half of the jumps, for a sink that leaves them out.
bool is_left_out(const Branch& b) {
  const bool jumps = b.kind == BranchKind::cond || b.kind == BranchKind::jmp;
  return jumps && b.flags == 0 && ((b.from * 0x9e3779b97f4a7c15u ^ b.to) >> 3 & 1) != 0;
}

// Calls and returns are what they are, and nothing else is.
struct ByKind final : CallJudge {
  static std::uint32_t callee(std::uint64_t to) { return static_cast<std::uint32_t>(to >> 4 & 63); }
  std::uint64_t judged_by(std::uint64_t time) const override { return 1 + time / 16 % 3; }
  CallOp op(const Branch& b) const override {
    // Where a return leads is not asked.
    if (b.flags != 0 || (b.to == 0 && b.kind != BranchKind::ret)) return {};
    switch (b.kind) {
      case BranchKind::ret:
        return {.kind = CallOp::Kind::ret};
      case BranchKind::call:
      case BranchKind::icall:
        return {.kind = CallOp::Kind::call, .callee = callee(b.to), .function = callee(b.to)};
      case BranchKind::cond:
      case BranchKind::jmp:
      case BranchKind::ijmp:
        return {.kind = CallOp::Kind::stays};
      default:
        return {};
    }
  }
};

// Everything that a sink is told, in one order.
struct Told : BranchSink {
  Told() = default;
  explicit Told(Paths& to) : paths(&to) {}

  Paths* paths = nullptr;
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
  void on_transfers(const Transfers& batch) override {
    std::size_t walked = 0;
    std::size_t transfer = 0;
    std::size_t span = 0;
    opened_before = 0;
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
  void take_span(const Transfers& batch, const CallSpan& span, std::uint64_t time) {
    const std::size_t begin = branches.size() + left_branches;
    returns_below += span.returned;
    for (const OpenedCall& call : batch.opened.subspan(opened_before, span.opened)) {
      opened.push_back({begin, (*batch.book)[call.at].from, call});
    }
    opened_before += span.opened;
    left_branches += span.branches;
    left_insns += span.insns;
    std::uint32_t at = span.last;
    std::uint32_t since = span.since;
    for (; ((*batch.book)[at].flags & TransferBook::kLast) == 0; ++at) since = 0;
    last_told = branch_of((*batch.book)[at], span.to, time);
    last_told.insns += since;
  }
  // Calls that the decoder followed: those that ended, by callee, and those that were left open,
  // each with the number of branches before its span.
  struct Opened {
    std::size_t begin;
    std::uint64_t from;
    OpenedCall call;
  };
  const ByKind* judge = nullptr;
  const CallJudge* call_judge() const override { return judge; }
  std::map<std::uint32_t, std::uint64_t> passed;
  std::vector<Opened> opened;
  std::size_t opened_before = 0;    // of the batch
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

  bool wants_repeats() const override { return paths != nullptr; }
  void on_repeats(const Repeats& batch) override { on_branches(paths->hear(batch)); }
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
  void tell(const std::array<std::string, 2>& words, const std::vector<std::uint64_t>& numbers) {
    std::string text = words[0];
    // A PSB has no place among the branches: they may be delivered later.
    places.push_back(words[0] != "PSB" ? branches.size() : 0);
    for (const std::uint64_t number : numbers) text += " " + std::to_string(number);
    others.push_back(text + " " + words[1]);
  }
};

auto fields(const Branch& b) { return std::tie(b.from, b.to, b.time, b.insns, b.kind, b.flags); }

std::string text_of(const Branch& b) {
  return std::string(name(b.kind)) + " " + std::to_string(b.from) + ">" + std::to_string(b.to) +
         " time " + std::to_string(b.time) + " insns " + std::to_string(b.insns) + " flags " +
         std::to_string(b.flags);
}

// Sums up edges, to be compared with branches.
struct Edges final : EdgeSink {
  std::vector<EdgeCount> edges;
  void on_edges(std::span<const EdgeCount> batch) override {
    edges.insert(edges.end(), batch.begin(), batch.end());
  }
  std::array<std::uint64_t, 2> sums() const {
    std::array<std::uint64_t, 2> out{};
    for (const EdgeCount& e : edges) {
      out[0] += e.count;
      out[1] += e.count * (e.from * 31 + e.to + static_cast<unsigned>(e.kind) * 7u + e.flags);
    }
    return out;
  }
};

// The same for the code between them.
struct Runs final : RunSink {
  std::vector<RunCount> runs;
  void on_runs(std::span<const RunCount> batch) override {
    runs.insert(runs.end(), batch.begin(), batch.end());
  }
  std::array<std::uint64_t, 3> sums() const {
    std::array<std::uint64_t, 3> out{};
    for (const RunCount& r : runs) {
      out[2] += r.edge.count * r.insns * (r.edge.from + 1);
      out[0] += r.edge.count;
      out[1] += r.edge.count * (r.begin * 37 + r.edge.from * 31 + r.edge.to +
                                static_cast<unsigned>(r.edge.kind) * 7u + r.edge.flags);
    }
    return out;
  }
};

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

std::string difference(const Told& told, const Told& expected) {
  if (told.paths != nullptr && !told.paths->wrong.empty()) return told.paths->wrong;
  const auto same = [](const Branch& a, const Branch& b) { return fields(a) == fields(b); };
  const auto [mine, other] = std::ranges::mismatch(told.branches, expected.branches, same);
  if (mine != told.branches.end() || other != expected.branches.end()) {
    const auto word = [](auto at, const auto& all) {
      return at == all.end() ? std::string("nothing") : text_of(*at);
    };
    return "branch " + std::to_string(mine - told.branches.begin()) + " is " +
           word(mine, told.branches) + ", not " + word(other, expected.branches);
  }
  const auto [said, meant] = std::ranges::mismatch(told.others, expected.others);
  if (said != told.others.end() || meant != expected.others.end()) {
    return "says " + (said == told.others.end() ? "nothing" : *said) + ", not " +
           (meant == expected.others.end() ? "nothing" : *meant);
  }
  if (told.places != expected.places) return "says something between other branches";
  return difference(told.stats, expected.stats);
}

Told walk(std::span<const Piece> pieces, const image::CodeSource& code, Config config) {
  config.want_instructions = true;
  Told told;
  told.stats = Decoder(code, config).decode(pieces, told);
  return told;
}

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

// Where a sink wants to know exactly what was left out, and what ran.
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

// Half of the jumps are nothing to the sink.
std::string leaving_out_differs(std::span<const Piece> pieces, Decoder& decoder,
                                const Told& expected, bool exactly) {
  Told told;
  told.leaves_out = true;
  told.exactly = exactly;
  told.stats = decoder.decode(pieces, told);
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

// The decoder follows calls.
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

// What ran on which path of calls, where each return leaves one call. Nothing that the first call
// has below it is known.
class PathsOfCalls {
 public:
  void branch(const Branch& b, const ByKind& judge) {
    nodes_[here_].insns += b.insns;
    const CallOp op = judge.op(b);
    if (op.kind == CallOp::Kind::call) open(child(here_, op.callee, 1));
    if (op.kind == CallOp::Kind::ret) close();
  }
  void count(std::uint64_t insns) { nodes_[here_].insns += insns; }
  void open(std::size_t node) {
    below_.push_back(here_);
    here_ = node;
  }
  void close() {
    if (below_.empty()) return;
    here_ = below_.back();
    below_.pop_back();
  }
  std::size_t here() const { return here_; }
  std::size_t child(std::size_t parent, std::uint32_t callee, std::uint64_t calls) {
    const auto [it, fresh] = numbers_.try_emplace({parent, callee}, nodes_.size());
    if (fresh) nodes_.emplace_back();
    nodes_[it->second].calls += calls;
    return it->second;
  }
  void count(std::size_t node, std::uint64_t insns) { nodes_[node].insns += insns; }
  bool operator==(const PathsOfCalls&) const = default;

 private:
  struct Node {
    std::uint64_t calls = 0;
    std::uint64_t insns = 0;
    bool operator==(const Node&) const = default;
  };
  std::vector<Node> nodes_{1};  // in the order in which they began
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> numbers_;
  std::vector<std::size_t> below_;
  std::size_t here_ = 0;
};

struct Summing final : Told {
  PathsOfCalls calls;
  std::string wrong;
  const ByKind by_kind;

  Summing() {
    leaves_out = true;
    judge = &by_kind;
  }
  void on_transfers(const Transfers& batch) override {
    std::size_t walked = 0;
    std::size_t told = 0;
    rest = batch;
    for (const Transfers::Row& row : batch.rows) {
      while (walked < row.begin) calls.branch(batch.walked[walked++], by_kind);
      for (const Transfer& t : batch.list.subspan(told, row.count)) {
        calls.count(t.insns);
        if (t.what == TransferBook::kSpan) {
          take_summed();
          continue;
        }
        for (std::uint32_t at = t.what; at != 0;) {
          const Branch& written = (*batch.book)[at];
          calls.branch(branch_of(written, t.to, row.time), by_kind);
          at = (written.flags & TransferBook::kLast) != 0 ? 0 : at + 1;
        }
      }
      told += row.count;
    }
    while (walked < batch.walked.size()) calls.branch(batch.walked[walked++], by_kind);
    if (!rest.summed.empty() || !rest.paths.empty() || !rest.left_open.empty()) {
      wrong = "more spans than transfers say";
    }
  }

 private:
  void take_summed() {
    const SummedSpan span = take(rest.summed, 1).front();
    std::vector<std::size_t> nodes;
    for (const CalledPath& path : take(rest.paths, span.paths)) {
      const bool before = path.callee == CalledPath::kOpenBefore;
      if (before && !nodes.empty()) {
        take(rest.returned, 1);
        calls.close();
      }
      if (!before && path.parent >= nodes.size()) wrong = "a path before its parent";
      nodes.push_back(before ? calls.here()
                             : calls.child(nodes.at(path.parent), path.callee, path.calls));
      calls.count(nodes.back(), path.insns);
      // None has left the one below before.
      if (nodes.size() == 1 && path.insns < span.insns) wrong = "instructions before the first";
    }
    for (const LeftOpen& call : take(rest.left_open, span.open)) {
      if (ByKind::callee(rest.book->operator[](call.at).to) != call.callee &&
          rest.book->operator[](call.at).to != 0) {
        wrong = "another call is left open";
      }
      calls.open(nodes.at(call.path));
    }
  }
  template <class T>
  static std::span<const T> take(std::span<const T>& all, std::size_t count) {
    const auto out = all.first(count);
    all = all.subspan(count);
    return out;
  }
  Transfers rest;
};

// The decoder sums calls up by their paths.
std::string summing_differs(std::span<const Piece> pieces, Decoder& decoder, const Told& expected) {
  Summing told;
  told.stats = decoder.decode(pieces, told);
  if (!told.wrong.empty()) return "summing up calls: " + told.wrong;
  const std::string found = difference(told.stats, expected.stats);
  if (!found.empty()) return "summing up calls: " + found;
  PathsOfCalls meant;
  for (const Branch& branch : expected.branches) meant.branch(branch, told.by_kind);
  return meant == told.calls ? "" : "summing up calls: other paths";
}

// Judges branches by themselves: some always come, the others pass when they have come once. What
// it goes by changes with time.
struct Judging final : Told {
  using Key = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, BranchKind>;
  std::map<Key, std::uint64_t> came;  // and what is behind it, if it may pass
  std::string wrong;
  std::size_t passed = 0;

  static Key key(const Branch& b, std::uint64_t by) { return {by, b.from, b.to, b.kind}; }

  bool wants_passages() const override { return true; }
  std::uint64_t judged_by(std::uint64_t time) override { return time / 16 % 3; }
  Judged judged(const Branch& b, std::uint64_t next) override {
    if (b.flags != 0) wrong = "asks about flags";
    if (((b.from * 0x9e3779b97f4a7c15u ^ b.to) >> 5 & 7) == 0) return Judged::comes;
    const auto it = came.find(key(b, judged_by(b.time)));
    if (it == came.end()) return Judged::later;
    it->second = next;
    return Judged::passes;
  }
  void on_branches(std::span<const Branch>) override { wrong = "branches without passages"; }
  void on_passages(const Passages& batch) override {
    std::size_t entry = 0;
    std::size_t address = 0;
    const std::size_t before = branches.size();
    Passages::Position at;
    const auto walk_to = [&](std::size_t end) {
      if (end < at.walked || end > batch.walked.size()) wrong = "a passage out of its place";
      for (; at.walked < end; ++at.walked) {
        const Branch& b = batch.walked[at.walked];
        branches.push_back(b);
        came.try_emplace(key(b, judged_by(b.time)), 0);
      }
    };
    for (const Passage& passage : batch.list) {
      walk_to(passage.begin);
      const std::size_t first = branches.size();
      batch.append(passage, entry, branches);
      const std::span row = std::span(branches).subspan(first);
      if (row.empty() || row.size() != passage.branches) wrong = "other branches than it says";
      const auto addresses = batch.addresses.subspan(address);
      follow(row, addresses.first(passage.returned),
             addresses.subspan(passage.returned, passage.called));
      entry += passage.entries;
      address += passage.returned + passage.called;
      passed += row.size();
      ++at.passages;
      const auto last = batch.last(5, at);
      const std::span told = std::span(branches).subspan(before);
      const auto end = told.last(std::min<std::size_t>(5, told.size()));
      const auto same = [](const Branch& a, const Branch& b) {
        return a.from == b.from && a.to == b.to && a.insns == b.insns && a.time == b.time;
      };
      if (!std::ranges::equal(last, end, same)) wrong = "other branches are last";
    }
    walk_to(batch.walked.size());
  }
  void follow(std::span<const Branch> row, std::span<const std::uint64_t> returned,
              std::span<const std::uint64_t> called) {
    std::vector<std::uint64_t> below;
    std::vector<std::uint64_t> open;
    for (const Branch& b : row) {
      const auto it = came.find(key(b, judged_by(b.time)));
      if (it == came.end()) wrong = "a branch passes that never came";
      if (it == came.end()) return;
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
};

std::string judging_differs(std::span<const Piece> pieces, Decoder& decoder, const Told& expected) {
  for (int i = 0; i < 2; ++i) {
    Judging told;
    told.stats = decoder.decode(pieces, told);
    if (!told.wrong.empty()) return "passages: " + told.wrong;
    const std::string found = difference(told, expected);
    if (!found.empty()) return "passages: " + found;
  }
  return "";
}

// What covering has to come to.
struct Covered {
  explicit Covered(std::span<const Piece> of, const image::CodeSource& code, const Config& config)
      : pieces(of) {
    const Told told = walk(of, code, config);
    std::uint64_t begin = 0;
    for (const Branch& b : told.branches) {
      all.edges.push_back({b.from, b.to, 1, b.kind, b.flags});
      runs.runs.push_back({all.edges.back(), begin, b.time, b.insns});
      begin = line_behind(b);
    }
    stats = told.stats;
  }
  std::string difference_of(Decoder& decoder) const {
    Edges edges;
    if (auto found = difference(decoder.cover(pieces, edges), stats); !found.empty()) return found;
    if (std::ranges::any_of(edges.edges, [](const EdgeCount& e) { return e.count == 0; })) {
      return "an edge that did not run";
    }
    if (edges.sums() != all.sums()) return "edges";
    return runs_differ(decoder);
  }
  std::string runs_differ(Decoder& decoder) const {
    Runs ran;
    if (auto found = difference(decoder.cover(pieces, ran), stats); !found.empty()) return found;
    return ran.sums() == runs.sums() ? "" : "code between edges";
  }

  std::span<const Piece> pieces;
  Edges all;
  Runs runs;
  Stats stats;
};

// Another trace comes between, so that edges are executed less often, and more often again.
std::string covering_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                             Config config) {
  config.want_not_taken = true;
  Piece half = pieces.front();
  half.bytes = half.bytes.first(half.bytes.size() / 2);
  const Covered whole(pieces, code, config);
  const Covered less(std::span(&half, 1), code, config);
  // Of a decoder that knows nothing yet.
  Decoder first(code, config);
  if (auto found = whole.runs_differ(first); !found.empty()) return "covering first: " + found;
  Decoder decoder(code, config);
  for (const auto& [what, covered] : {std::pair{"covering: ", &whole},
                                      {"covering again: ", &whole},
                                      {"covering half: ", &less},
                                      {"covering all again: ", &whole}}) {
    if (auto found = covered->difference_of(decoder); !found.empty()) return what + found;
  }
  config.threads = 3;
  config.thread_bytes = 1;
  Decoder several(code, config);
  const std::string found = whole.difference_of(several);
  return found.empty() ? "" : "threads covering: " + found;
}

bool has_several_psbs(std::span<const Piece> pieces) {
  return std::ranges::any_of(pieces, [](const Piece& piece) {
    pt::PacketReader reader(piece.bytes);
    if (!reader.sync_forward()) return false;
    reader.seek(reader.offset() + 1);
    return reader.sync_forward();
  });
}

// With every PSB the beginning of another thread's part.
std::string threads_differ(std::span<const Piece> pieces, const image::CodeSource& code,
                           Config config, const Told& expected) {
  config.threads = 3;
  config.thread_bytes = 1;
  Decoder decoder(code, config);
  for (const char* what : {"threads: ", "threads again: "}) {
    Told told;
    told.stats = decoder.decode(pieces, told);
    if (const std::string found = difference(told, expected); !found.empty()) return what + found;
  }
  Told unread;
  const std::string counted = difference(decoder.count(pieces, unread), expected.stats);
  if (!counted.empty()) return "threads counting: " + counted;
  if (config.want_not_taken) return "";
  for (const bool exactly : {false, true}) {
    const std::string left = leaving_out_differs(pieces, decoder, expected, exactly);
    if (!left.empty()) return "threads " + left;
  }
  const std::string followed = following_differs(pieces, decoder, expected);
  if (!followed.empty()) return "threads " + followed;
  const std::string summed = summing_differs(pieces, decoder, expected);
  return summed.empty() ? "" : "threads " + summed;
}

// Two streams take turns at every PSB, one of them with more bytes at a time.
std::string slices_differ(std::span<const Piece> pieces, const image::CodeSource& code,
                          const Config& config, const Told& expected) {
  SharedCode shared(code);
  Told one;
  Told other;
  Slices first(shared, config, pieces, one);
  Slices second(shared, config, pieces, other);
  for (bool more = true; more;) {
    more = first.advance(1);
    more = second.advance(64) || more;
  }
  one.stats = first.stats();
  other.stats = second.stats();
  const std::string found = difference(one, expected);
  return found.empty() ? difference(other, expected) : found;
}

// Without what only the whole trace tells: where its PSBs are, and what else there is to say of a
// loss than its cause.
struct Path final : BranchSink {
  std::vector<Branch> branches;
  std::vector<std::string> others;
  Paths paths;

  bool wants_repeats() const override { return true; }
  void on_repeats(const Repeats& batch) override { on_branches(paths.hear(batch)); }

  void on_branches(std::span<const Branch> batch) override {
    branches.insert(branches.end(), batch.begin(), batch.end());
  }
  void on_loss(const Loss& loss) override {
    others.push_back(std::to_string(branches.size()) + " " + std::string(name(loss.cause)));
  }
  void on_event(const Event& event) override {
    others.push_back(std::to_string(branches.size()) + " " + std::string(name(event.kind)) + " " +
                     std::to_string(event.offset));
  }
};

// The bytes come in `parts` parts each, and what is there is decoded at once.
std::string growing_differs(std::span<const Piece> pieces, const image::CodeSource& code,
                            const Config& config, std::size_t parts) {
  Path expected;
  Decoder(code, config).decode(pieces, expected);
  Path grown;
  GrowingDecoder decoder(code, config);
  for (const Piece& piece : pieces) {
    const std::size_t step = std::max<std::size_t>(1, piece.bytes.size() / parts);
    for (std::size_t at = 0; at == 0 || at < piece.bytes.size(); at += step) {
      const std::size_t size = std::min(step, piece.bytes.size() - at);
      decoder.add({.bytes = piece.bytes.subspan(at, size),
                   .offset = piece.offset + at,
                   .lost_before = piece.lost_before},
                  at == 0 && &piece != pieces.data(), grown);
      decoder.decode(grown);
    }
  }
  decoder.end(grown);
  if (!grown.paths.wrong.empty()) return "growing: " + grown.paths.wrong;
  const auto same = [](const Branch& a, const Branch& b) { return fields(a) == fields(b); };
  const auto [mine, other] = std::ranges::mismatch(grown.branches, expected.branches, same);
  if (mine != grown.branches.end() || other != expected.branches.end()) {
    const auto word = [](auto at, const auto& all) {
      return at == all.end() ? std::string("nothing") : text_of(*at);
    };
    return "growing: branch " + std::to_string(mine - grown.branches.begin()) + " is " +
           word(mine, grown.branches) + ", not " + word(other, expected.branches);
  }
  const auto [said, meant] = std::ranges::mismatch(grown.others, expected.others);
  if (said == grown.others.end() && meant == expected.others.end()) return "";
  return "growing: says " + (said == grown.others.end() ? "nothing" : *said) + ", not " +
         (meant == expected.others.end() ? "nothing" : *meant);
}

}  // namespace

std::string difference_between_ways(std::span<const Piece> pieces, const image::CodeSource& code,
                                    const Config& config) {
  const Told expected = walk(pieces, code, config);
  Config quick = config;
  quick.want_instructions = false;
  Decoder decoder(code, quick);
  Paths paths;
  for (const char* what : {"first pass: ", "remembering: ", "remembering again: "}) {
    Told told(paths);
    told.stats = decoder.decode(pieces, told);
    if (const std::string found = difference(told, expected); !found.empty()) return what + found;
  }
  Told unread;
  const std::string counted = difference(decoder.count(pieces, unread), expected.stats);
  if (!counted.empty()) return "counting: " + counted;
  if (!config.want_not_taken) {
    for (const bool exactly : {false, false, true, true}) {
      const std::string left = leaving_out_differs(pieces, decoder, expected, exactly);
      if (!left.empty()) return left;
    }
    for (int i = 0; i < 2; ++i) {
      const std::string followed = following_differs(pieces, decoder, expected);
      if (!followed.empty()) return followed;
      const std::string summed = summing_differs(pieces, decoder, expected);
      if (!summed.empty()) return summed;
    }
    const std::string judged = judging_differs(pieces, decoder, expected);
    if (!judged.empty()) return judged;
    const std::string counted_again = difference(decoder.count(pieces, unread), expected.stats);
    if (!counted_again.empty()) return "counting behind leaving out: " + counted_again;
  }
  const std::string counted_first =
      difference(Decoder(code, quick).count(pieces, unread), expected.stats);
  if (!counted_first.empty()) return "counting first: " + counted_first;
  const std::string sliced = slices_differ(pieces, code, quick, expected);
  if (!sliced.empty()) return "slices: " + sliced;
  for (const std::size_t parts : {std::size_t{7}, std::size_t{100}}) {
    const std::string grown = growing_differs(pieces, code, quick, parts);
    if (!grown.empty()) return grown;
  }
  const std::string covered = covering_differs(pieces, code, config);
  if (!covered.empty() || !has_several_psbs(pieces)) return covered;
  return threads_differ(pieces, code, quick, expected);
}

}  // namespace hodo::flow
