#include "hodo/analyze/jumps.h"

#include <algorithm>
#include <map>
#include <utility>

#include "hodo/analyze/pair_counts.h"
#include "hodo/session/homes.h"

namespace hodo::analyze {
namespace {

constexpr std::uint64_t kLongestBranch = 15;  // bytes

// How far a thread has come.
struct Walk {
  std::uint64_t line = 0;     // where its straight line begins; 0: unknown
  std::uint64_t left_at = 0;  // where tracing stopped; 0: it did not
  std::uint64_t left = 0;     // the line that it stopped in
  bool behind = false;        // it goes on behind that instruction: a system call
};

bool goes_on(const Walk& walk, const Branch& begin) {
  if (begin.kind != BranchKind::begin || (begin.flags & kResync) != 0) return false;
  if (walk.left_at == 0) return false;
  if (!walk.behind) return begin.to == walk.left_at;
  return begin.to != walk.left_at && begin.to - walk.left_at <= kLongestBranch;
}

using Pairs = std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t>;

// What is known of one file.
struct Counts {
  Pairs jumps, missed, lines;
  const symbol::SymbolTable* table = nullptr;
  std::uint64_t executions = 0;
};

std::uint64_t base_of(const image::Elf& elf) {
  return elf.segments.empty() ? 0 : elf.segments.front().vaddr;
}

bool is_stub(const symbol::SymbolTable& table, std::uint64_t address) {
  const symbol::Symbol* symbol = table.at(address);
  return symbol != nullptr && symbol->kind == symbol::SymbolKind::plt;
}

}  // namespace

struct Jumps::State {
  State(const session::Names& n, std::size_t most)
      : names(n), homes(n), jumps(most), missed(most), lines(most) {}

  // What becomes of a batch of branches.
  struct Batch {
    explicit Batch(State& state) : jumps(state.jumps), missed(state.missed), lines(state.lines) {}
    PairCounts::Batch jumps, missed, lines;
  };

  void branch(std::uint32_t space, const Branch& branch, Walk& walk, Batch& batch) {
    const std::uint64_t began = std::exchange(walk.line, 0);
    if (branch.kind == BranchKind::begin || branch.kind == BranchKind::lost) {
      walk.line = goes_on(walk, branch) ? walk.left : branch.to;
      walk.left_at = 0;
      return;
    }
    if (branch.kind == BranchKind::end || (branch.flags & (kTraceEnd | kAsync)) != 0) {
      const bool executed = branch.kind != BranchKind::end && (branch.flags & kAsync) == 0;
      walk = {.line = branch.to, .left_at = branch.from, .left = began, .behind = executed};
      return;
    }
    const PairCount pair = pair_at(space, branch.from, branch.to, branch.time);
    batch.jumps.add(pair);
    if ((branch.flags & kMispredicted) != 0) batch.missed.add(pair);
    walk.line = branch.to;
    if (began == 0 || began > branch.from) return;
    batch.lines.add(pair_at(space, began, branch.from, branch.time));
  }

  PairCount pair_at(std::uint32_t space, std::uint64_t first, std::uint64_t second,
                    std::uint64_t time) {
    return {homes.of(space, first, second, time), 1};
  }

  struct Where {
    std::string file;  // empty: none that could be read
    std::uint64_t address = 0;
    const symbol::SymbolTable* table = nullptr;
  };
  Where locate(const PairCount& pair, std::uint64_t address) const {
    const session::Object object = names.object(pair.space, address, pair.time);
    if (object.table == nullptr) return {};
    const auto vaddr = object.table->elf().vaddr_of(object.offset);
    return vaddr ? Where{object.path, *vaddr, object.table} : Where{};
  }

  void sort(const PairCounts& counts, Pairs Counts::* into,
            std::map<std::string, Counts>& files) const {
    for (const PairCount& pair : sorted(counts)) {
      const Where from = locate(pair, pair.from);
      const Where to = locate(pair, pair.to);
      if (!from.file.empty()) {
        const std::uint64_t second = from.file == to.file ? to.address : Jump::kElsewhere;
        Counts& counted = files[from.file];
        (counted.*into)[{from.address, second}] += pair.count;
        counted.executions += pair.count;
        counted.table = from.table;
      }
      if (!to.file.empty() && from.file != to.file) {
        Counts& counted = files[to.file];
        (counted.*into)[{Jump::kElsewhere, to.address}] += pair.count;
        counted.table = to.table;
      }
    }
  }

  const session::Names& names;
  session::Homes homes;
  PairCounts jumps;
  PairCounts missed;  // mispredicted
  PairCounts lines;
  std::map<std::pair<std::int32_t, std::uint32_t>, Walk> walks;  // by tid and queue
};

Jumps::Jumps(const session::Names& names, std::size_t most)
    : state_(std::make_unique<State>(names, most)) {}
Jumps::~Jumps() = default;

bool Jumps::branches(const session::Context& context, std::span<const Branch> batch) {
  State::Batch counted(*state_);
  Walk& walk = state_->walks[{context.tid, context.queue}];
  for (const Branch& branch : batch) {
    if ((branch.flags & kNotTaken) == 0) state_->branch(context.space, branch, walk, counted);
  }
  return true;
}

std::vector<FileJumps> Jumps::files() const {
  std::map<std::string, Counts> found;
  state_->sort(state_->jumps, &Counts::jumps, found);
  state_->sort(state_->missed, &Counts::missed, found);
  state_->sort(state_->lines, &Counts::lines, found);
  std::vector<std::pair<std::uint64_t, FileJumps>> sorted;
  for (auto& [path, counts] : found) {
    FileJumps file{.path = path,
                   .base = base_of(counts.table->elf()),
                   .dropped = state_->jumps.dropped() + state_->lines.dropped()};
    for (const auto& [pair, count] : counts.jumps) {
      const auto missed = counts.missed.find(pair);
      file.jumps.push_back({.from = pair.first,
                            .to = pair.second,
                            .count = count,
                            .mispredicted = missed == counts.missed.end() ? 0 : missed->second});
    }
    for (const auto& [pair, count] : counts.lines) {
      // A line that leads from one file into another is no line.
      if (pair.first == Jump::kElsewhere || pair.second == Jump::kElsewhere) continue;
      file.lines.push_back({.first = pair.first,
                            .last = pair.second,
                            .count = count,
                            .stub = is_stub(*counts.table, pair.first)});
    }
    sorted.emplace_back(counts.executions, std::move(file));
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           &std::pair<std::uint64_t, FileJumps>::first);
  std::vector<FileJumps> out;
  out.reserve(sorted.size());
  for (auto& [executions, file] : sorted) out.push_back(std::move(file));
  return out;
}

}  // namespace hodo::analyze
