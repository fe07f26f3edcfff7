#include "hodo/ask/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "bound_calls.h"
#include "compilers_calls.h"
#include "entry.h"
#include "neutral.h"
#include "waits.h"

namespace hodo::ask {
namespace {

constexpr std::size_t kBlock = 1024;
// So many equal branches in a row are no accident at the same depth of calls, or anywhere.
constexpr std::size_t kGram = 12;
constexpr std::size_t kLongGram = 64;
constexpr std::size_t kMostOpen = std::size_t{1} << 20;
constexpr std::size_t kMostWaits = 10'000;

// Gives the branches of a side that count.
class Entries : public ThreadSink {
 public:
  // `renamed`: as Neutral's.
  Entries(const Side& side, const RebuiltFiles& rebuilt, const RenamedFiles* renamed)
      : side_(side),
        rebuilt_(!rebuilt.empty()),
        neutral_(side.session->names(), rebuilt, side.session, renamed),
        waits_(*side.session),
        calls_(neutral_),
        compilers_(neutral_) {}

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    if (thread_of(who) != side_.thread) return true;
    for (const Branch& branch : batch) {
      if ((branch.flags & kNotTaken) != 0) continue;
      const std::uint64_t number = first++;
      if (number <= side_.from) continue;
      if (number > side_.to) {
        behind_ = {.number = number, .insns = branch.insns};
        return false;
      }
      if (!add(who.space, number, branch)) return false;
    }
    return true;
  }
  bool flush() { return (!held_ || give()) && pass(calls_.rest()); }
  bool lost() const { return lost_; }
  // The branch that leads out of a part of a path; number 0: there is none.
  const Entry& behind() const { return behind_; }

 protected:
  virtual bool entry(const Entry& entry) = 0;

 private:
  // An interruption waits for how it goes on.
  bool add(std::uint32_t space, std::uint64_t number, const Branch& branch) {
    if (branch.kind == BranchKind::lost) lost_ = true;
    const bool stops = branch.kind == BranchKind::end && (branch.flags & kAsync) != 0;
    const bool resumes = branch.kind == BranchKind::begin;
    if (held_ && resumes && branch.to == waiting_.branch.from) {
      held_ = false;
      return true;
    }
    if (held_ && !give()) return false;
    const bool picked_up = resumes && (branch.flags & kResync) != 0 && number != 1;
    if (picked_up) return true;
    if (!stops && calls_.passes(branch)) return count(number, space, 0, branch);
    waiting_ = {.number = number, .space = space, .branch = branch};
    if (stops) return held_ = true;
    return pass(calls_.next(waiting_));
  }
  bool give() {
    held_ = false;
    return pass(calls_.next(waiting_));
  }
  bool pass(std::span<const TakenBranch> branches) {
    return std::ranges::all_of(branches, [this](const TakenBranch& b) {
      return count(b.number, b.space, b.folded, b.branch);
    });
  }
  bool count(std::uint64_t number, std::uint32_t space, std::uint32_t folded, Branch branch) {
    if (spins_again(space, branch)) return true;
    const bool tells = !rebuilt_ || returns_tell(space, branch);
    if (rebuilt_ && compilers_.has(space, branch)) return true;
    const auto token = neutral_.token(space, branch);
    if (!token) return true;
    const Entry next{.token = *token,
                     .number = number,
                     .from = branch.from,
                     .to = branch.to,
                     .time = branch.time,
                     .space = space,
                     .insns = branch.insns,
                     .depth = depth_,
                     .folded = folded};
    if (branch.kind == BranchKind::call || branch.kind == BranchKind::icall) ++depth_;
    if (branch.kind == BranchKind::ret) --depth_;
    return !tells || entry(next);
  }
  // How often a thread spins until another one has done something tells nothing.
  bool spins_again(std::uint32_t space, const Branch& branch) {
    const bool again = branch.from == before_.from && branch.to == before_.to;
    before_ = branch;
    return again && waits_.is_spin(space, branch);
  }
  // Whether the other build would return likewise: what it calls last it may call by a jump, and
  // that returns further. So of returns those count that end a call within a file, or a function
  // that is laid out alike.
  bool returns_tell(std::uint32_t space, const Branch& branch) {
    if (branch.kind == BranchKind::call || branch.kind == BranchKind::icall) {
      if (within_.size() == kMostOpen) within_.clear();
      within_.push_back(neutral_.within_one_build(space, branch));
    }
    if (branch.kind != BranchKind::ret || within_.empty()) return branch.kind != BranchKind::ret;
    const bool tells = within_.back() || neutral_.returns_alike(space, branch);
    within_.pop_back();
    return tells;
  }

  Side side_;
  bool rebuilt_;
  Neutral neutral_;
  Waits waits_;
  BoundCalls calls_;
  CompilersCalls compilers_;
  TakenBranch waiting_;
  Branch before_;
  bool held_ = false;
  bool lost_ = false;
  Entry behind_;
  int depth_ = 0;
  std::vector<bool> within_;  // calls, the last one innermost: whether they led to the same file
};

// A number for each block of branches.
class Digests final : public Entries {
 public:
  using Entries::Entries;
  std::vector<std::uint64_t> blocks;
  std::uint64_t count = 0;

 private:
  bool entry(const Entry& entry) override {
    if (count++ % kBlock == 0) blocks.push_back(0xcbf29ce484222325);
    blocks.back() = (blocks.back() ^ entry.token) * 0x9e3779b97f4a7c15;
    blocks.back() ^= blocks.back() >> 29;
    return true;
  }
};

// The branches behind a number of them.
class EntryWindow final : public Entries {
 public:
  EntryWindow(const Side& side, const RebuiltFiles& rebuilt, const RenamedFiles* renamed,
              std::uint64_t skip, std::size_t most)
      : Entries(side, rebuilt, renamed), skip_(skip), most_(most) {}
  std::vector<Entry> entries;

 private:
  bool entry(const Entry& entry) override {
    if (skip_ > 0) {
      --skip_;
      return true;
    }
    entries.push_back(entry);
    return entries.size() < most_;
  }
  std::uint64_t skip_;
  std::size_t most_;
};

template <class Sink>
Status run(const Side& side, const CompareOptions& options, Sink& sink) {
  auto outcome =
      walk(*side.session, {.selection = only(side.thread), .progress = options.progress}, sink);
  if (!outcome) return std::unexpected(outcome.error());
  sink.flush();
  return {};
}

// Where in a row of branches so many of them are alike to others.
class Grams {
 public:
  // `by_depth`: only those that lie at the same depth of calls are alike.
  Grams(const std::vector<Entry>& all, std::size_t size, bool by_depth)
      : size_(size), by_depth_(by_depth) {
    for (std::size_t at = 0; has(all, at); ++at) places_[key(all, at, 0)].push_back(at);
  }

  bool has(const std::vector<Entry>& all, std::size_t at) const {
    return at <= all.size() && all.size() - at >= size_;
  }
  // The first place from `from` on that is alike to `all` from `at` on, which is deeper by so many
  // calls.
  std::optional<std::size_t> find(const std::vector<Entry>& all, std::size_t at, int deeper,
                                  std::size_t from) const {
    const auto found = places_.find(key(all, at, deeper));
    if (found == places_.end()) return std::nullopt;
    const auto place = std::ranges::lower_bound(found->second, from);
    return place == found->second.end() ? std::nullopt : std::optional(*place);
  }

 private:
  std::uint64_t key(const std::vector<Entry>& all, std::size_t at, int deeper) const {
    const int depth = by_depth_ ? all[at].depth - deeper : 0;
    auto h = static_cast<std::uint64_t>(depth);
    for (std::size_t i = 0; i < size_; ++i) h = (h ^ all[at + i].token) * 0x9e3779b97f4a7c15 + 1;
    return h;
  }

  std::size_t size_;
  bool by_depth_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places_;
};

// How the comparison of two windows ended.
enum class Ended : std::uint8_t {
  done,    // with both paths
  window,  // with one of the windows, where both are alike
  apart,   // where the paths do not meet again
  enough   // with as many partings as are wanted
};

// Aligns what lies in two windows.
class Aligner {
 public:
  Aligner(const Side& a, const Side& b, const EntryWindow& in_a, const EntryWindow& in_b)
      : a_(in_a.entries),
        b_(in_b.entries),
        side_a_(a),
        side_b_(b),
        behind_a_(in_a.behind()),
        behind_b_(in_b.behind()),
        waits_a_(*a.session),
        waits_b_(*b.session),
        grams_(b_, kGram, true) {}

  Ended align(std::size_t most, bool a_ends, bool b_ends, Comparison& out) {
    std::size_t i = 0;
    std::size_t j = 0;
    const std::uint64_t before = out.common;
    while (true) {
      while (i < a_.size() && j < b_.size() && a_[i].token == b_[j].token) ++i, ++j;
      if (out.partings.empty()) out.common = before + i;
      a_done_ = i == 0 ? side_a_.from : a_[i - 1].last();
      b_done_ = j == 0 ? side_b_.from : b_[j - 1].last();
      const bool a_done = i == a_.size();
      const bool b_done = j == b_.size();
      // The windows end, not the paths.
      if ((a_done && !a_ends) || (b_done && !b_ends)) return Ended::window;
      if (a_done && b_done) return Ended::done;
      if (out.partings.size() == most) return Ended::enough;
      Parting next = parting(i, j);
      if (out.waits.size() < kMostWaits && leave_wait(i, j, next)) {
        out.waits.push_back(next);
        continue;
      }
      const std::size_t at_a = i;
      const std::size_t at_b = j;
      const bool met = meet(i, j, next) || (a_ends && b_ends && meet_at_end(i, j, next));
      const bool waits =
          met && out.waits.size() < kMostWaits && part_to_wait(next.at, {at_a, i}, {at_b, j});
      (waits ? out.waits : out.partings).push_back(next);
      if (!met) return a_ends && b_ends ? Ended::done : Ended::apart;
    }
  }
  // The last branches that were alike.
  std::uint64_t a_done() const { return a_done_; }
  std::uint64_t b_done() const { return b_done_; }

 private:
  // Behind the branch before, with the instructions that both executed.
  Parting parting(std::size_t i, std::size_t j) const {
    Parting out;
    const auto before = [](const Side& side, const std::vector<Entry>& all, std::size_t at) {
      return Moment{side.thread, at == 0 ? side.from : all[at - 1].last(), 0};
    };
    out.a = i < a_.size() ? Moment{side_a_.thread, a_[i].number - 1, 0} : before(side_a_, a_, i);
    out.b = j < b_.size() ? Moment{side_b_.thread, b_[j].number - 1, 0} : before(side_b_, b_, j);
    if (i < a_.size()) out.a_next = Moment{side_a_.thread, a_[i].number, 0};
    if (j < b_.size()) out.b_next = Moment{side_b_.thread, b_[j].number, 0};
    const auto line = [](const Entry& e) { return e.insns - std::min(e.insns, std::uint32_t{1}); };
    // One that is at its end goes on straight to the branch that leads out of it.
    const Entry& next_a = i < a_.size() ? a_[i] : behind_a_;
    const Entry& next_b = j < b_.size() ? b_[j] : behind_b_;
    if (next_a.number == out.a.branch + 1 && next_b.number == out.b.branch + 1)
      out.a.insn = out.b.insn = std::min(line(next_a), line(next_b));
    const bool in_b = i == a_.size() || (j < b_.size() && line(b_[j]) < line(a_[i]));
    const Entry& leaves = in_b ? b_[j] : a_[i];
    out.at = {.in_b = in_b, .space = leaves.space, .address = leaves.from, .time = leaves.time};
    return out;
  }

  // Moves i and j behind the call of a function that waits in which the paths part, if they go on
  // alike there.
  bool leave_wait(std::size_t& i, std::size_t& j, Parting& parting) {
    if (i == a_.size() || j == b_.size()) return false;
    const auto x = waits_a_.behind_wait(a_, i);
    const auto y = x ? waits_b_.behind_wait(b_, j) : std::nullopt;
    if (!x || !y || a_[*x].token != b_[*y].token) return false;
    i = *x;
    j = *y;
    met(i, j, parting);
    return true;
  }

  // From where the paths part up to where they meet.
  struct Apart {
    std::size_t at = 0;
    std::size_t meet = 0;
  };
  // Whether they part for nothing but waiting, on both sides.
  bool part_to_wait(const Parting::Place& at, const Apart& a, const Apart& b) {
    const std::uint64_t offset =
        (at.in_b ? waits_b_ : waits_a_).offset(at.space, at.address, at.time);
    const auto is_wait = [offset](Waits& waits, const std::vector<Entry>& all, const Apart& way) {
      return way.at == way.meet || waits.is_wait({all, way.at, way.meet, offset});
    };
    return is_wait(waits_a_, a_, a) && is_wait(waits_b_, b_, b);
  }

  // Moves i and j to where the paths go on alike with as few branches in between as there can be.
  // If that is nowhere at the same depth of calls, one of them may have left some without returns,
  // as longjmp and exceptions do.
  bool meet(std::size_t& i, std::size_t& j, Parting& parting) {
    if (!meet_in(grams_, i, j)) {
      if (!long_grams_) long_grams_.emplace(b_, kLongGram, false);
      if (!meet_in(*long_grams_, i, j)) return false;
    }
    met(i, j, parting);
    return true;
  }
  bool meet_in(const Grams& grams, std::size_t& i, std::size_t& j) const {
    std::size_t best = ~std::size_t{0};
    std::size_t best_i = 0;
    std::size_t best_j = 0;
    const int depth_a = i < a_.size() ? a_[i].depth : 0;
    const int depth_b = j < b_.size() ? b_[j].depth : 0;
    for (std::size_t x = i; grams.has(a_, x) && x - i < best; ++x) {
      const auto y = grams.find(a_, x, depth_a - depth_b, j);
      if (!y || (x - i) + (*y - j) >= best) continue;
      best = (x - i) + (*y - j);
      best_i = x;
      best_j = *y;
    }
    if (best == ~std::size_t{0}) return false;
    i = best_i;
    j = best_j;
    return true;
  }

  // What both end with is alike, if it is shorter than what is no accident elsewhere.
  bool meet_at_end(std::size_t& i, std::size_t& j, Parting& parting) {
    std::size_t same = 0;
    while (same < a_.size() - i && same < b_.size() - j &&
           a_[a_.size() - 1 - same].token == b_[b_.size() - 1 - same].token) {
      ++same;
    }
    if (same == 0) return false;
    i = a_.size() - same;
    j = b_.size() - same;
    met(i, j, parting);
    return true;
  }

  void met(std::size_t i, std::size_t j, Parting& parting) const {
    const auto start = [](const Side& side, const Entry& e) {
      return Moment{side.thread, e.number - 1, 0};
    };
    parting.a_meet = start(side_a_, a_[i]);
    parting.b_meet = start(side_b_, b_[j]);
  }

  const std::vector<Entry>& a_;
  const std::vector<Entry>& b_;
  Side side_a_;
  Side side_b_;
  Entry behind_a_, behind_b_;
  Waits waits_a_, waits_b_;
  std::uint64_t a_done_ = 0;
  std::uint64_t b_done_ = 0;
  Grams grams_;
  std::optional<Grams> long_grams_;  // made where they are needed
};

// From the beginning of both sides to the end of a window behind the first parting; moves the sides
// on to there.
Result<Ended> compare_part(Side& a, Side& b, const CompareOptions& options, bool first,
                           Comparison& out) {
  Digests in_a(a, options.rebuilt, nullptr);
  Digests in_b(b, options.rebuilt, &options.renamed);
  if (Status done = run(a, options, in_a); !done) return std::unexpected(done.error());
  if (Status done = run(b, options, in_b); !done) return std::unexpected(done.error());
  out.lost |= in_a.lost() || in_b.lost();
  if (first) {
    out.a_branches = in_a.count;
    out.b_branches = in_b.count;
  }
  if (in_a.count == in_b.count && in_a.blocks == in_b.blocks) {
    if (out.partings.empty()) out.common += in_a.count;
    return Ended::done;
  }
  std::uint64_t same = 0;
  while (same < in_a.blocks.size() && same < in_b.blocks.size() &&
         in_a.blocks[same] == in_b.blocks[same]) {
    ++same;
  }
  // The last equal block may be a part of the other's.
  const std::uint64_t skip = (same == 0 ? 0 : same - 1) * kBlock;
  if (out.partings.empty()) out.common += skip;
  EntryWindow window_a(a, options.rebuilt, nullptr, skip, options.window);
  EntryWindow window_b(b, options.rebuilt, &options.renamed, skip, options.window);
  if (Status done = run(a, options, window_a); !done) return std::unexpected(done.error());
  if (Status done = run(b, options, window_b); !done) return std::unexpected(done.error());
  const bool a_ends = skip + window_a.entries.size() == in_a.count;
  const bool b_ends = skip + window_b.entries.size() == in_b.count;
  Aligner aligner(a, b, window_a, window_b);
  const Ended ended = aligner.align(options.most, a_ends, b_ends, out);
  a.from = aligner.a_done();
  b.from = aligner.b_done();
  return ended;
}

}  // namespace

Result<Comparison> compare(const Side& a, const Side& b, const CompareOptions& options) {
  Comparison out;
  Side rest_a = a;
  Side rest_b = b;
  out.more = true;
  for (std::size_t part = 0; part < options.windows && out.more; ++part) {
    auto ended = compare_part(rest_a, rest_b, options, part == 0, out);
    if (!ended) return std::unexpected(ended.error());
    for (const bool is_a : {true, false}) {
      // A call may have none. Whole paths do.
      if ((is_a ? out.a_branches : out.b_branches) != 0 || (is_a ? a : b).to != Side{}.to) continue;
      return fail(ErrorCode::not_found, fmt::format("thread {} has no branches to compare",
                                                    to_string((is_a ? a : b).thread)));
    }
    out.more = *ended != Ended::done;
    if (*ended == Ended::apart || *ended == Ended::enough) break;
  }
  out.equal = out.partings.empty() && out.waits.empty() && !out.more;
  return out;
}

}  // namespace hodo::ask
