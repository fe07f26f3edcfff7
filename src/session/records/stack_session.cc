#include "stack_session.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <array>
#include <utility>

namespace hodo::session {
namespace {

using perfdata::BranchEntry;

// Samples that wait for their turn, at most. A recorder that ends no round makes a file in order.
constexpr std::size_t kMaxWaiting = 1 << 18;

// enum perf_branch_entry's types (PERF_BR_*, include/uapi/linux/perf_event.h).
constexpr std::array<BranchKind, 13> kKinds = {
    BranchKind::unknown,  // PERF_BR_UNKNOWN
    BranchKind::cond,     // COND
    BranchKind::jmp,      // UNCOND
    BranchKind::ijmp,     // IND
    BranchKind::call,     // CALL
    BranchKind::icall,    // IND_CALL
    BranchKind::ret,      // RET
    BranchKind::syscall,  // SYSCALL
    BranchKind::sysret,   // SYSRET
    BranchKind::call,     // COND_CALL
    BranchKind::ret,      // COND_RET
    BranchKind::iret,     // ERET
    BranchKind::irq,      // IRQ
};

RecordedBranch recorded(const BranchEntry& entry) {
  RecordedBranch out{.from = entry.from, .to = entry.to, .cycles = entry.cycles()};
  if (entry.type() < kKinds.size()) out.kind = kKinds[entry.type()];
  if (entry.abort()) out.kind = BranchKind::abort;
  if (entry.mispredicted()) out.flags |= kMispredicted;
  if (entry.in_tx()) out.flags |= kInTx;
  return out;
}

bool records_kernel(const perf_event_attr& attr) {
  constexpr std::uint64_t kLevels =
      PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV;
  if ((attr.branch_sample_type & kLevels) == 0) return attr.exclude_kernel == 0;
  return (attr.branch_sample_type & PERF_SAMPLE_BRANCH_KERNEL) != 0;
}

// All taken branches are in the stack, not only those of some kind.
bool records_all(const perf_event_attr& attr) {
  return (attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY) != 0 &&
         (attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK) == 0;
}

struct Window {
  std::uint64_t time = 0;
  std::uint64_t offset = 0;  // of the record in the file
  perfdata::SampleId id;
  perfdata::PackedArray<BranchEntry> entries;
  std::unique_ptr<std::vector<std::uint8_t>> copy;  // what `entries` points to
  bool joins = false;
  Unrecorded unrecorded = Unrecorded::nothing;
};

}  // namespace

// Puts samples in order of time as perf does (ordered-events.c): what a finished round says to be
// complete is delivered.
class StackSession::Windows {
 public:
  Windows(StackSession& session, const DecodeOptions& options, RecordPath& path, flow::Stats& stats)
      : session_(session), options_(options), path_(path), stats_(stats) {}

  void add(const perfdata::Record& record, const perfdata::Sample& sample) {
    if (!selected(options_.selection, sample.id.pid, sample.id.tid)) return;
    Window& window = waiting_.emplace_back();
    window.time = sample.id.time.value_or(newest_);
    window.offset = record.raw.offset;
    window.id = sample.id;
    window.entries = sample.branches;
    copy_entries(window);
    if (const perfdata::Attr* attr = session_.model().reader().attr_of(sample.id)) {
      window.joins = records_all(attr->attr);
      if (!records_kernel(attr->attr)) window.unrecorded = Unrecorded::system_calls;
    }
    newest_ = std::max(newest_, window.time);
    if (waiting_.size() == kMaxWaiting) deliver_until(newest_);
  }

  // FINISHED_ROUND: no record from here on is older than those before the last one.
  void finish_round() { deliver_until(std::exchange(complete_until_, newest_)); }
  void finish() { deliver_until(~std::uint64_t{0}); }

 private:
  void copy_entries(Window& window) {
    std::vector<std::uint8_t> bytes(window.entries.size() * sizeof(BranchEntry));
    for (std::size_t i = 0; i < window.entries.size(); ++i) {
      const BranchEntry entry = window.entries[i];
      std::memcpy(bytes.data() + i * sizeof(entry), &entry, sizeof(entry));
    }
    window.copy = std::make_unique<std::vector<std::uint8_t>>(std::move(bytes));
    window.entries = perfdata::PackedArray<BranchEntry>(*window.copy);
  }

  void deliver_until(std::uint64_t time) {
    if (!std::ranges::is_sorted(waiting_, {}, &Window::time)) {
      std::ranges::stable_sort(waiting_, {}, &Window::time);
    }
    const auto end = std::ranges::upper_bound(waiting_, time, {}, &Window::time);
    for (auto at = waiting_.begin(); at != end && !path_.stopped(); ++at) deliver(*at);
    waiting_.erase(waiting_.begin(), end);
  }

  void deliver(const Window& window) {
    const bool same = window.id.pid == pid_ && window.id.tid == tid_ && window.id.cpu == cpu_;
    if (!entered_ || !same || window.time >= until_) change_to(window);
    path_.set_time(window.time);
    path_.set_offset(window.offset);
    stats_.bytes += window.entries.size() * sizeof(BranchEntry);
    bool first = true;
    for (std::size_t i = window.entries.size(); i-- > 0;) {
      const BranchEntry entry = window.entries[i];
      if (entry.from == 0 && entry.to == 0) continue;
      if (entry.wrong_path()) {
        ++stats_.wrong_path;
        continue;
      }
      if (std::exchange(first, false)) path_.restart(entry.from);
      path_.add(recorded(entry));
    }
  }

  void change_to(const Window& window) {
    entered_ = true;
    pid_ = window.id.pid;
    tid_ = window.id.tid;
    cpu_ = window.id.cpu;
    Executing who = session_.executing(0, pid_, tid_, cpu_, window.time);
    who.joins = window.joins;
    who.unrecorded = window.unrecorded;
    until_ = who.until;
    path_.enter(who);
  }

  StackSession& session_;
  const DecodeOptions& options_;
  RecordPath& path_;
  flow::Stats& stats_;
  std::vector<Window> waiting_;
  std::uint64_t newest_ = 0;
  std::uint64_t complete_until_ = 0;
  bool entered_ = false;
  std::uint64_t until_ = 0;  // when the current task's process is over
  std::int32_t pid_ = -1;
  std::int32_t tid_ = -1;
  std::int32_t cpu_ = -1;
};

StackSession::StackSession(OpenedFile file) : RecordSession(std::move(file)) {
  queue_.bytes = model().reader().size();
}

Result<Outcome> StackSession::decode(const DecodeOptions& options, BranchSink& sink) {
  Outcome outcome;
  outcome.queue_stats.resize(1);
  flow::Stats& stats = outcome.queue_stats[0];
  LossTally losses = known_losses();
  RecordPath path(sink, stats, losses, explain(), options.not_taken);
  Windows windows(*this, options, path, stats);
  auto cursor = model().reader().records();
  while (auto record = cursor.next()) {
    if (const auto* sample = std::get_if<perfdata::Sample>(&record->body)) {
      if (!sample->branches.empty()) windows.add(*record, *sample);
    } else if (record->raw.type == perfdata::RecordType::finished_round) {
      windows.finish_round();
      if (!options.progress(record->raw.offset, queue_.bytes)) return was_stopped();
    }
    if (path.stopped()) break;
  }
  windows.finish();
  path.finish();
  // What the pass over the records for the processes has not met: the file has changed since.
  const auto& known = model().damages();
  for (const perfdata::Damage& damage : cursor.damages()) {
    const auto same = [&](const perfdata::Damage& other) {
      return other.offset == damage.offset && other.what == damage.what;
    };
    if (std::ranges::any_of(known, same)) continue;
    losses.add(causes::kDamaged, {.offset = damage.offset, .reason = damage.what});
  }
  outcome.stats = stats;
  outcome.losses = losses.lines();
  return outcome;
}

Result<std::vector<LossLine>> StackSession::records(RecordSink& sink) const {
  perfdata::BranchStacks stacks(model().reader());
  std::vector<StackEntry> entries;
  while (const auto sample = stacks.next()) {
    entries.clear();
    for (std::size_t i = 0; i < sample->branches.size(); ++i) {
      const BranchEntry entry = sample->branches[i];
      entries.push_back({.from = entry.from,
                         .to = entry.to,
                         .cycles = entry.cycles(),
                         .mispredicted = entry.mispredicted(),
                         .in_tx = entry.in_tx(),
                         .abort = entry.abort(),
                         .wrong_path = entry.wrong_path()});
    }
    if (!sink.stack({.pid = sample->id.pid,
                     .tid = sample->id.tid,
                     .cpu = sample->id.cpu,
                     .time = sample->id.time,
                     .entries = entries})) {
      break;
    }
  }
  return input_losses();
}

}  // namespace hodo::session
