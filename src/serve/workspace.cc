#include "hodo/serve/workspace.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "hodo/ask/walk.h"
#include "hodo/serve/judging.h"
#include "hodo/serve/recording_index.h"
#include "hodo/text/module_cache.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kBetweenTellings = 100'000'000;  // nanoseconds

std::uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

// Adds up each thread's path.
class Adding final : public ask::ThreadSink {
 public:
  explicit Adding(session::Clock clock) : clock_(clock) {}

  bool branches(const session::Context& who, std::uint64_t first,
                std::span<const Branch> batch) override {
    ThreadTotal& total = of(who);
    total.branches = std::max(total.branches, first - 1 + batch.size());
    for (const Branch& branch : batch) {
      total.instructions += branch.insns;
      if (branch.time == 0) continue;
      if (total.first_time == 0) total.first_time = clock_.nanoseconds(branch.time);
      total.last_time = clock_.nanoseconds(branch.time);
    }
    return true;
  }
  std::vector<ThreadTotal> take() { return std::move(threads_); }

 private:
  ThreadTotal& of(const session::Context& who) {
    const ask::ThreadId thread = ask::thread_of(who);
    if (!threads_.empty() && threads_.back().thread == thread) return threads_.back();
    const auto it = std::ranges::find(threads_, thread, &ThreadTotal::thread);
    if (it != threads_.end()) return *it;
    threads_.push_back({.thread = thread, .pid = who.pid});
    return threads_.back();
  }

  session::Clock clock_;
  std::vector<ThreadTotal> threads_;
};

}  // namespace

Result<std::unique_ptr<Workspace>> Workspace::open(const OpenOptions& options) {
  std::unique_ptr<Workspace> out(new Workspace);
  out->options_ = options;
  out->opened_ = state_of(options.input.path);
  auto session = session::Session::open(options.input);
  if (!session) return std::unexpected(session.error());
  out->session_ = std::move(*session);
  return out;
}

std::uint64_t Workspace::start() const {
  const session::Facts* facts = session_->facts();
  if (facts != nullptr && facts->first_time != 0) return facts->first_time;
  std::uint64_t first = 0;
  if (!totals_) return 0;
  for (const ThreadTotal& total : totals_->threads) {
    if (total.first_time != 0 && (first == 0 || total.first_time < first)) first = total.first_time;
  }
  return first;
}

const ask::IndexedRecording* Workspace::index() {
  if (!indexed_ && options_.index) {
    begin("making an index");
    index_ =
        index_of(*session_, [this](std::uint64_t done, std::uint64_t all) { update(done, all); });
  }
  indexed_ = true;
  return index_.get();
}

ask::WalkOptions Workspace::walk(const session::Selection& selection) {
  begin("decoding");
  return {.selection = selection,
          .progress = [this](std::uint64_t done, std::uint64_t all) { update(done, all); }};
}

ask::FindOptions Workspace::find(const session::Selection& selection) {
  const ask::IndexedRecording* known = index();
  ask::FindOptions out = find_options(*session_, walk(selection));
  out.index = known;
  out.finding = [this](std::uint64_t number) -> Result<ask::FoundBranch> {
    auto all = checked();
    if (!all) return std::unexpected(all.error());
    return finding_of(**all, number);
  };
  return out;
}

Result<const Totals*> Workspace::totals() {
  if (totals_) return &*totals_;
  Adding adding(session_->clock());
  auto outcome = ask::walk(*session_, walk(), adding);
  if (!outcome) return std::unexpected(outcome.error());
  totals_ = Totals{.threads = adding.take(), .losses = std::move(outcome->losses)};
  return &*totals_;
}

Result<const view::Checked*> Workspace::checked() {
  if (checked_) return &*checked_;
  const auto cache = text::ModuleCache::of_user();
  const ask::WalkOptions how = walk();
  begin("checking");
  auto checked = judge(*session_, {.cache = cache ? &*cache : nullptr}, how);
  if (!checked) return std::unexpected(checked.error());
  hide_explained(*checked);
  checked_ = std::move(*checked);
  return &*checked_;
}

Result<const Covered*> Workspace::covered() {
  if (covered_) return &*covered_;
  analyze::CoverageCounts counts(session_->names());
  auto outcome = session_->cover(walk(), counts);
  if (!outcome) return std::unexpected(outcome.error());
  begin("looking for source lines");
  covered_ = Covered{.coverage = analyze::coverage_of(counts, *session_, true),
                     .outcome = std::move(*outcome)};
  return &*covered_;
}

void Workspace::begin(std::string what) {
  const std::scoped_lock lock(telling_);
  progress_.what = std::move(what);
  progress_.done = 0;
  progress_.total = 0;
}

void Workspace::name_question(std::string question) {
  const std::scoped_lock lock(telling_);
  progress_ = {.question = std::move(question), .what = {}};
  told_at_ = now();
}

void Workspace::update(std::uint64_t done, std::uint64_t total) {
  Progress told;
  std::function<void(const Progress&)> hear;
  {
    const std::scoped_lock lock(telling_);
    progress_.done = done;
    progress_.total = total;
    const std::uint64_t time = now();
    if (!hear_ || time - told_at_ < kBetweenTellings) return;
    told_at_ = time;
    told = progress_;
    hear = hear_;
  }
  hear(told);
}

Progress Workspace::progress() const {
  const std::scoped_lock lock(telling_);
  return progress_;
}

void Workspace::on_progress(std::function<void(const Progress&)> hear) {
  const std::scoped_lock lock(telling_);
  hear_ = std::move(hear);
}

std::optional<Workspace::FileState> Workspace::state_of(const std::string& path) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return std::nullopt;
  return FileState{.size = static_cast<std::uint64_t>(st.st_size),
                   .seconds = st.st_mtim.tv_sec,
                   .nanoseconds = st.st_mtim.tv_nsec,
                   .inode = st.st_ino};
}

bool Workspace::changed() const { return state_of(options_.input.path) != opened_; }

}  // namespace hodo::serve
