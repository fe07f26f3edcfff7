#include "hodo/serve/workspace.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "details.h"
#include "finding_places.h"
#include "hodo/ask/walk.h"
#include "hodo/serve/judging.h"
#include "hodo/serve/recording_index.h"
#include "hodo/text/module_cache.h"
#include "kept.h"
#include "overview.h"

namespace hodo::serve {
namespace {

constexpr std::uint64_t kBetweenTellings = 100'000'000;  // nanoseconds

std::uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

}  // namespace

Workspace::Workspace() = default;
Workspace::~Workspace() = default;

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
  if (!overview_) return 0;
  for (const Lane& lane : overview_->lanes) {
    const std::uint64_t time = lane.total.first_time;
    if (time != 0 && (first == 0 || time < first)) first = time;
  }
  return first;
}

const ask::IndexedRecording* Workspace::index() {
  if (!indexed_ && options_.index) {
    begin("making an index");
    index_ = index_of(*session_,
                      [this](std::uint64_t done, std::uint64_t all) { return update(done, all); });
  }
  indexed_ = index_ != nullptr || !given_up();
  return index_.get();
}

ask::WalkOptions Workspace::walk(const session::Selection& selection) {
  begin("decoding");
  return {.selection = selection,
          .progress = [this](std::uint64_t done, std::uint64_t all) { return update(done, all); }};
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

Result<const Overview*> Workspace::overview() {
  if (overview_) return overview_.get();
  const auto place = kept_place(*session_, "overview");
  if (place) {
    if (const auto kept = place->load()) {
      if (auto known = read_overview(*kept))
        overview_ = std::make_unique<Overview>(std::move(*known));
    }
  }
  if (overview_) return overview_.get();
  OverviewBuilder builder(*session_);
  auto outcome = ask::walk(*session_, walk(), builder);
  if (!outcome) return std::unexpected(outcome.error());
  overview_ = std::make_unique<Overview>(builder.take());
  overview_->losses = std::move(outcome->losses);
  // What is kept says nothing of losses.
  if (place && overview_->losses.empty()) place->store(write_overview(*overview_));
  return overview_.get();
}

Result<std::vector<session::LossLine>> Workspace::losses() {
  auto all = overview();
  if (!all) return std::unexpected(all.error());
  return (*all)->losses;
}

Details& Workspace::details() {
  if (!details_) details_ = std::make_unique<Details>(*session_);
  return *details_;
}

Result<const view::Checked*> Workspace::checked() {
  if (checked_) return &*checked_;
  const auto cache = text::ModuleCache::of_user();
  const ask::WalkOptions how = walk();
  begin("checking");
  auto checked = judge(*session_, {.cache = cache ? &*cache : nullptr}, how);
  if (!checked) return std::unexpected(checked.error());
  hide_explained(*checked);
  auto places = places_of(*session_, walk(), *checked);
  if (!places) return std::unexpected(places.error());
  places_ = std::move(*places);
  checked_ = std::move(*checked);
  return &*checked_;
}

Result<const Counted*> Workspace::counted() {
  if (counted_) return &*counted_;
  Counted out{.counts = std::make_unique<analyze::CoverageCounts>(session_->names())};
  auto outcome = session_->cover(walk(), *out.counts);
  if (!outcome) return std::unexpected(outcome.error());
  out.outcome = std::move(*outcome);
  counted_ = std::move(out);
  return &*counted_;
}

Result<const analyze::Coverage*> Workspace::covered() {
  if (covered_) return &*covered_;
  auto all = counted();
  if (!all) return std::unexpected(all.error());
  begin("looking for source lines");
  covered_ = analyze::coverage_of(*(*all)->counts, *session_, {});
  return &*covered_;
}

Status Workspace::may_open(const std::string& path) const {
  if (options_.any_other || std::ranges::find(options_.others, path) != options_.others.end()) {
    return {};
  }
  return fail(ErrorCode::not_permitted,
              path + " may not be opened from here; remedy: name it when starting");
}

Result<std::unique_ptr<session::Session>> Workspace::open_other(const std::string& path) const {
  if (Status allowed = may_open(path); !allowed) return std::unexpected(allowed.error());
  session::Options input = options_.input;
  input.path = path;
  return session::Session::open(input);
}

Result<Workspace*> Workspace::other(const std::string& path) {
  if (Status allowed = may_open(path); !allowed) return std::unexpected(allowed.error());
  if (!other_ || other_->options_.input.path != path || other_->changed()) {
    OpenOptions how{.input = options_.input, .version = options_.version, .index = options_.index};
    how.input.path = path;
    auto opened = open(how);
    if (!opened) return std::unexpected(opened.error());
    other_ = std::move(*opened);
  }
  other_->name_question("other", {.hear =
                                      [this](const Progress& now) {
                                        begin(now.what);
                                        update(now.done, now.total);
                                      },
                                  .gave_up = [this] { return asks_whether_given_up(); }});
  return other_.get();
}

void Workspace::begin(std::string what) {
  const std::scoped_lock lock(telling_);
  progress_.what = std::move(what);
  progress_.done = 0;
  progress_.total = 0;
}

void Workspace::name_question(std::string question, Listener listener) {
  const std::scoped_lock lock(telling_);
  given_up_ = false;
  progress_ = {.question = std::move(question), .what = {}};
  told_at_ = now();
  listener_ = std::move(listener);
}

bool Workspace::given_up() const {
  const std::scoped_lock lock(telling_);
  return given_up_;
}

void Workspace::give_up() {
  const std::scoped_lock lock(telling_);
  given_up_ = true;
}

bool Workspace::asks_whether_given_up() {
  std::function<bool()> gave_up;
  {
    const std::scoped_lock lock(telling_);
    if (given_up_) return true;
    gave_up = listener_.gave_up;
  }
  if (!gave_up || !gave_up()) return false;
  give_up();
  return true;
}

bool Workspace::update(std::uint64_t done, std::uint64_t total) {
  if (asks_whether_given_up()) return false;
  Progress told;
  std::function<void(const Progress&)> hear;
  {
    const std::scoped_lock lock(telling_);
    progress_.done = done;
    progress_.total = total;
    const std::uint64_t time = now();
    if (!listener_.hear || time - told_at_ < kBetweenTellings) return true;
    told_at_ = time;
    told = progress_;
    hear = listener_.hear;
  }
  hear(told);
  return true;
}

Progress Workspace::progress() const {
  const std::scoped_lock lock(telling_);
  return progress_;
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

bool Workspace::grown() const {
  const auto now = state_of(options_.input.path);
  return now && opened_ && now->inode == opened_->inode && now->size >= opened_->size &&
         *now != *opened_;
}

// All of what refers to the session.
void Workspace::forget() {
  details_.reset();
  overview_.reset();
  index_.reset();
  indexed_ = false;
  checked_.reset();
  places_.clear();
  covered_.reset();
  counted_.reset();
}

Status Workspace::reopen() {
  const auto state = state_of(options_.input.path);
  auto fresh = session::Session::open(options_.input);
  if (!fresh) return std::unexpected(fresh.error());
  forget();
  session_ = std::move(*fresh);
  opened_ = state;
  return {};
}

Status Workspace::recover() {
  if (!distrusted_) return {};
  // First of all there is to be room.
  forget();
  other_.reset();
  session_.reset();
  if (Status opened = reopen(); !opened) return opened;
  distrusted_ = false;
  return {};
}

}  // namespace hodo::serve
