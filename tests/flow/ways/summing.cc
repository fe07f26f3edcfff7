#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "by_kind.h"
#include "each_way.h"

namespace hodo::flow::ways {
namespace {

// What ran on which path of calls, where each return leaves one call. Nothing that the first call
// has below it is known.
class PathsOfCalls {
 public:
  void branch(const Branch& b, const ByKind& judge) {
    nodes_[here_].insns += b.insns;
    const CallOp op = judge.op(b);
    const bool jumps = op.kind == CallOp::Kind::tail && may_jump_to(op.callee);
    if (op.kind == CallOp::Kind::call || jumps) {
      open(child(here_, op.callee, 1), {op.callee, b.from, op.noted, jumps});
    }
    if (op.kind == CallOp::Kind::ret) close(b.to);
  }
  void count(std::uint64_t insns) { nodes_[here_].insns += insns; }
  struct Call {
    std::uint32_t callee = 0;
    std::uint64_t from = 0;  // of the branch
    bool noted = false;
    bool jumped = false;  // to the callee
    bool operator==(const Call&) const = default;
  };
  void open(std::size_t node, const Call& call) {
    below_.push_back({here_, call});
    here_ = node;
  }
  // By a return that leads there.
  void close(std::uint64_t to) {
    for (; !below_.empty() && below_.back().call.jumped; below_.pop_back()) {
      here_ = below_.back().node;
    }
    if (below_.empty()) return;
    const Below& below = below_.back();
    here_ = below.node;
    returned_.emplace(below.call.from, to);
    if (below.call.noted) note(to);
    below_.pop_back();
  }
  void note(std::uint64_t to) { noted_.insert(to); }
  std::size_t here() const { return here_; }
  std::size_t child(std::size_t parent, std::uint32_t callee, std::uint64_t calls) {
    const auto [it, fresh] = numbers_.try_emplace({parent, callee}, nodes_.size());
    if (fresh) nodes_.emplace_back();
    nodes_[it->second].calls += calls;
    return it->second;
  }
  void count(std::size_t node, std::uint64_t insns) { nodes_[node].insns += insns; }
  // Whether it says the same as one that was made of all branches, which knows of each return from
  // which call it was.
  bool fits(const PathsOfCalls& all) const {
    return nodes_ == all.nodes_ && numbers_ == all.numbers_ && below_ == all.below_ &&
           noted_ == all.noted_ && here_ == all.here_ &&
           std::ranges::includes(all.returned_, returned_);
  }

 private:
  struct Node {
    std::uint64_t calls = 0;
    std::uint64_t insns = 0;
    bool operator==(const Node&) const = default;
  };
  bool may_jump_to(std::uint32_t callee) const {
    for (std::size_t i = below_.size(); i-- > 0;) {
      if (below_[i].call.callee == callee) return false;
      if (!below_[i].call.jumped) return true;
    }
    return false;
  }

  std::vector<Node> nodes_{1};  // in the order in which they began
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> numbers_;
  struct Below {
    std::size_t node = 0;
    Call call;  // above it
    bool operator==(const Below&) const = default;
  };
  std::vector<Below> below_;
  std::set<std::uint64_t> noted_;
  std::set<std::pair<std::uint64_t, std::uint64_t>>
      returned_;  // where calls were made, and to where
  std::size_t here_ = 0;
};

struct Summing final : Told {
  PathsOfCalls calls;
  std::string wrong;
  const ByKind by_kind{true};

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
    if (!rest.summed.empty() || !rest.paths.empty() || !rest.left_open.empty() ||
        !rest.noted.empty()) {
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
        calls.close(take(rest.returned, 1).front().to);
      }
      if (!before && path.parent >= nodes.size()) wrong = "a path before its parent";
      nodes.push_back(before ? calls.here()
                             : calls.child(nodes.at(path.parent), path.callee, path.calls));
      calls.count(nodes.back(), path.insns);
      // None has left the one below before.
      if (nodes.size() == 1 && path.insns < span.insns) wrong = "instructions before the first";
    }
    for (const LeftOpen& call : take(rest.left_open, span.open)) {
      const Branch& made = (*rest.book)[call.at];
      if (ByKind::callee(made.to) != call.callee && made.to != 0)
        wrong = "another call is left open";
      calls.open(nodes.at(call.path),
                 {call.callee, made.from, call.is_noted(), call.was_jumped_to()});
    }
    for (const std::uint64_t to : take(rest.noted, span.noted)) calls.note(to);
  }
  template <class T>
  static std::span<const T> take(std::span<const T>& all, std::size_t count) {
    const auto out = all.first(count);
    all = all.subspan(count);
    return out;
  }
  Transfers rest;
};

}  // namespace

std::string summing_differs(PieceSource& stream, Decoder& decoder, const Told& expected) {
  Summing told;
  told.stats = decoder.decode(stream, told);
  if (!told.wrong.empty()) return "summing up calls: " + told.wrong;
  const std::string found = difference(told.stats, expected.stats);
  if (!found.empty()) return "summing up calls: " + found;
  PathsOfCalls meant;
  for (const Branch& branch : expected.branches) meant.branch(branch, told.by_kind);
  return told.calls.fits(meant) ? "" : "summing up calls: other paths";
}

}  // namespace hodo::flow::ways
