#include "parallel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "hodo/pt/reader.h"

namespace hodo::flow {
namespace {

constexpr std::size_t kEnd = std::numeric_limits<std::size_t>::max();
// What a log may hold before its stretch is told: a thread that is far ahead waits.
constexpr std::size_t kMostLogged = 4 << 20;
constexpr std::size_t kMostSpare = 1 << 8;
constexpr std::size_t kTextAtOnce = 1 << 16;
// What is said of a stretch is handed on when so much has come together: to wake the asking thread
// for every word would take a thread that decodes off its processor.
constexpr std::size_t kWorthTelling = 1 << 19;
// Where the clock never is as a PSB+ lets assume, every stretch would be decoded twice.
constexpr int kMostWrong = 4;
// Where code changes all the time, a thread that decodes ahead mostly waits for who reads its
// passages: so many times in a stretch are too many.
constexpr int kMostWaits = 8;

}  // namespace

void Log::add(Entry entry) {
  bytes_ += sizeof entry;
  if (const auto* branches = std::get_if<std::vector<Branch>>(&entry)) {
    bytes_ += branches->size() * sizeof(Branch);
  } else if (const auto* text = std::get_if<std::string>(&entry)) {
    bytes_ += text->size();
  } else if (const auto* batch = std::get_if<LeavingOut>(&entry)) {
    bytes_ +=
        batch->walked.size() * sizeof(Branch) + batch->list.size() * sizeof(Transfer) +
        batch->lines.size() * sizeof(CodeLine) + batch->spans.size() * sizeof(CallSpan) +
        batch->returned.size() * sizeof(ReturnedCall) + batch->opened.size() * sizeof(OpenedCall) +
        batch->singles.size() * sizeof(SingleCall) + batch->passed.size() * sizeof(PassedCalls) +
        batch->summed.size() * sizeof(SummedSpan) + batch->paths.size() * sizeof(CalledPath) +
        batch->left_open.size() * sizeof(LeftOpen) + batch->noted.size() * sizeof(std::uint64_t);
  } else if (const auto* judged = std::get_if<Passing>(&entry)) {
    bytes_ += judged->walked.size() * sizeof(Branch) + judged->list.size() * sizeof(Passage) +
              judged->entries.size() * sizeof(Passages::Entry) +
              judged->returns.size() * sizeof(Link) +
              judged->addresses.size() * sizeof(std::uint64_t);
  } else if (const auto* repeating = std::get_if<Repeating>(&entry)) {
    bytes_ += repeating->walked.size() * sizeof(Branch) + repeating->list.size() * sizeof(Repeat);
  } else if (const auto* edges = std::get_if<std::vector<EdgeCount>>(&entry)) {
    bytes_ += edges->size() * sizeof(EdgeCount);
  } else if (const auto* runs = std::get_if<std::vector<RunCount>>(&entry)) {
    bytes_ += runs->size() * sizeof(RunCount);
  }
  entries_.push_back(std::move(entry));
}

std::vector<Log::Entry> Log::take() {
  bytes_ = 0;
  return std::exchange(entries_, {});
}

struct Crew::Stretch {
  std::size_t begin = 0;  // a PSB, in the piece
  std::size_t limit = kEnd;
  // Under the crew's mutex:
  enum class Status : std::uint8_t { waiting, taken, assumed, finished } status = Status::waiting;
  bool cancelled = false;  // nobody wants it any more
  bool told = false;       // its log is being handed on
  bool written = false;    // as text, as far as that goes
  bool waits = false;      // until it is
  int waited = 0;          // times
  Log log;
  PathDecoder::State assumed;
  PathDecoder::State end;
  bool reached_limit = false;
  Stats stats;
};

void Crew::add(Stretch& stretch, std::span<const Branch> batch) {
  std::vector<Branch> copy;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      copy = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  copy.assign(batch.begin(), batch.end());
  add(stretch, Log::Entry(std::move(copy)));
}

void Crew::add(Stretch& stretch, Log::Entry entry) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return over_ || stretch.cancelled || stretch.log.bytes() < kMostLogged; });
  if (over_ || stretch.cancelled) return;
  stretch.log.add(std::move(entry));
  if (stretch.told && stretch.log.bytes() >= kWorthTelling) news_.notify_all();
}

// What was logged names steps or paths of this knowledge, which are about to change.
void Crew::wait_for_readers(Stretch& stretch, const Knowledge& knowledge) {
  std::unique_lock lock(mutex_);
  const auto all_read = [&] {
    return over_ || stretch.cancelled || knowledge.unread.use_count() == 1;
  };
  if (all_read()) return;
  ++stretch.waited;
  stretch.waits = true;
  news_.notify_all();
  room_.wait(lock, all_read);
  stretch.waits = false;
}

void Crew::recycle(std::vector<Log::Entry>& entries) {
  for (Log::Entry& entry : entries) {
    auto* branches = std::get_if<std::vector<Branch>>(&entry);
    if (branches != nullptr && spare_.size() < kMostSpare) spare_.push_back(std::move(*branches));
    auto* text = std::get_if<std::string>(&entry);
    if (text != nullptr && spare_texts_.size() < kMostSpare)
      spare_texts_.push_back(std::move(*text));
  }
}

std::string Crew::spare_text() {
  std::string out;
  const std::lock_guard lock(mutex_);
  if (!spare_texts_.empty()) {
    out = std::move(spare_texts_.back());
    spare_texts_.pop_back();
    out.clear();
  }
  return out;
}

// Puts what a thread's decoder says into the log of its stretch.
class Crew::Recorder final : public BranchSink, private Receivers::Readers {
 public:
  // `writer` may be null.
  Recorder(Crew& crew, Stretch& stretch, const Knowledge& knowledge, BranchWriter* writer)
      : crew_(crew),
        stretch_(stretch),
        knowledge_(knowledge),
        writer_(writer),
        edges_(*this),
        runs_(*this) {}

  void listen() { listening_ = true; }
  Receivers receivers(const Receivers& like) {
    return {.listener = *this,
            .branches = like.branches != nullptr ? this : nullptr,
            .edges = like.edges != nullptr ? &edges_ : nullptr,
            .runs = like.runs != nullptr ? &runs_ : nullptr,
            .leave_out_jumps = like.leave_out_jumps,
            .passages = like.passages,
            .readers = like.passages || wants_repeats() ? this : nullptr};
  }

  void on_branches(std::span<const Branch> batch) override {
    if (!listening_) return;
    if (writer_ == nullptr) return crew_.add(stretch_, batch);
    if (text_.empty()) text_ = crew_.spare_text();
    writer_->write(batch, text_);
    if (text_.size() >= kTextAtOnce) hand_on_text();
  }
  bool wants_lines() const override { return crew_.to_.branches->wants_lines(); }
  const CallJudge* call_judge() const override { return crew_.to_.branches->call_judge(); }
  void on_transfers(const Transfers& batch) override {
    add(Log::LeavingOut{.walked = {batch.walked.begin(), batch.walked.end()},
                        .rows = {batch.rows.begin(), batch.rows.end()},
                        .list = {batch.list.begin(), batch.list.end()},
                        .book = batch.book,
                        .last = batch.last,
                        .lines = {batch.lines.begin(), batch.lines.end()},
                        .spans = {batch.spans.begin(), batch.spans.end()},
                        .returned = {batch.returned.begin(), batch.returned.end()},
                        .opened = {batch.opened.begin(), batch.opened.end()},
                        .singles = {batch.singles.begin(), batch.singles.end()},
                        .passed = {batch.passed.begin(), batch.passed.end()},
                        .noted = {batch.noted.begin(), batch.noted.end()},
                        .summed = {batch.summed.begin(), batch.summed.end()},
                        .paths = {batch.paths.begin(), batch.paths.end()},
                        .left_open = {batch.left_open.begin(), batch.left_open.end()}});
  }
  Judged judged(const Branch& branch, std::uint64_t next) override {
    return crew_.to_.branches->judged(branch, next);
  }
  std::uint64_t judged_by(std::uint64_t time) override {
    return crew_.to_.branches->judged_by(time);
  }
  void on_passages(const Passages& batch) override {
    add(Log::Passing{.walked = {batch.walked.begin(), batch.walked.end()},
                     .list = {batch.list.begin(), batch.list.end()},
                     .entries = {batch.entries.begin(), batch.entries.end()},
                     .returns = {batch.returns.begin(), batch.returns.end()},
                     .addresses = {batch.addresses.begin(), batch.addresses.end()},
                     .reader = batch.reader,
                     .unread = knowledge_.unread});
  }
  bool wants_repeats() const override { return crew_.to_.wants_repeats(); }
  void on_repeats(const Repeats& batch) override {
    add(Log::Repeating{.walked = {batch.walked.begin(), batch.walked.end()},
                       .list = {batch.list.begin(), batch.list.end()},
                       .memory = batch.memory,
                       .numbers = batch.numbers,
                       .edges = batch.edges,
                       .unread = knowledge_.unread});
  }
  bool may_leave_out(std::uint64_t line, const Branch& jump) const override {
    return crew_.to_.branches->may_leave_out(line, jump);
  }
  void on_loss(const Loss& loss) override { add(loss); }
  void on_event(const Event& event) override {
    add(event);
    if (event.kind == EventKind::paging) writer_ = nullptr;
  }
  void hand_on_text() {
    if (!text_.empty()) crew_.add(stretch_, std::exchange(text_, {}));
  }
  bool on_progress(std::uint64_t offset) override {
    add(Log::Progress{offset});
    return !cancelled();
  }

 private:
  // These have their own on_loss, which is not what is meant.
  struct Edges final : EdgeSink {
    explicit Edges(Recorder& to) : recorder(to) {}
    void on_edges(std::span<const EdgeCount> edges) override {
      recorder.add(std::vector<EdgeCount>(edges.begin(), edges.end()));
    }
    Recorder& recorder;
  };
  struct Runs final : RunSink {
    explicit Runs(Recorder& to) : recorder(to) {}
    void on_runs(std::span<const RunCount> runs) override {
      recorder.add(std::vector<RunCount>(runs.begin(), runs.end()));
    }
    Recorder& recorder;
  };

  void wait_for_all() override { crew_.wait_for_readers(stretch_, knowledge_); }
  void add(Log::Entry entry) {
    if (!listening_) return;
    hand_on_text();
    crew_.add(stretch_, std::move(entry));
  }
  bool cancelled() {
    const std::lock_guard lock(crew_.mutex_);
    return stretch_.cancelled;
  }

  Crew& crew_;
  Stretch& stretch_;
  const Knowledge& knowledge_;
  BranchWriter* writer_;
  std::string text_;
  Edges edges_;
  Runs runs_;
  bool listening_ = false;
};

Crew::Crew(const Piece& piece, std::size_t limit, const Config& config, const Receivers& to,
           bool by_steps, PathDecoder& head, Output& out,
           std::span<const std::unique_ptr<Knowledge>> knowledge, int& wrong)
    : piece_(piece),
      limit_(limit < piece.bytes.size() ? limit : kEnd),
      config_(config),
      to_(to),
      by_steps_(by_steps),
      head_(head),
      out_(out),
      state_(head.state()),
      wrong_(wrong),
      known_(state_),
      most_ahead_(2 * knowledge.size() + 1) {
  writes_ = to.written && to.branches->writes();
  next_begin_ = head.paused() ? state_.psb : next_begin(state_.offset + config.thread_bytes);
  start(knowledge);
}

// As many threads as can be had.
void Crew::start(std::span<const std::unique_ptr<Knowledge>> knowledge) {
  threads_.reserve(knowledge.size());
  try {
    for (const auto& one : knowledge) threads_.emplace_back([this, &one] { work_safely(*one); });
  } catch (const std::exception&) {  // of the system, or of memory
    if (threads_.empty()) wrong_ = kMostWrong;
  }
}

Crew::~Crew() { cancel_all(); }

bool Crew::decode(const AtStretch& at_stretch) {
  marked_ = at_stretch != nullptr;
  extend();
  // What is known there is known of a PSB only.
  bool more = head_.paused() || go_on_by_itself();
  while (more && state_.psb < limit_) {
    if (marked_) {
      out_.flush();
      at_stretch(state_);
    }
    extend();
    // Stretches that a damaged segment before them reached into.
    while (!stretches_.empty() && stretches_.front()->begin < state_.psb) drop_front();
    const bool next = !stretches_.empty() && stretches_.front()->begin == state_.psb;
    more = next && wrong_ < kMostWrong ? pass_on(*stretches_.front()) : go_on_by_itself();
  }
  cancel_all();
  return more;
}

// Cuts the next stretches off.
void Crew::extend() {
  const std::lock_guard lock(mutex_);
  while (stretches_.size() < most_ahead_ && next_begin_ < limit_ && wrong_ < kMostWrong) {
    const std::size_t begin = next_begin_;
    next_begin_ = next_begin(begin + config_.thread_bytes);
    auto stretch = std::make_shared<Stretch>();
    stretch->begin = begin;
    stretch->limit = next_begin_;
    stretches_.push_back(std::move(stretch));
    work_.notify_one();
  }
}

// The first PSB from there on, if it lies before the limit.
std::size_t Crew::next_begin(std::size_t from) const {
  if (from >= std::min(limit_, piece_.bytes.size())) return limit_;
  pt::PacketReader reader(piece_.bytes, from);
  return reader.sync_forward() ? std::min(reader.offset(), limit_) : limit_;
}

// The next stretch, by its log if it began as was assumed. False: the piece is at its end.
bool Crew::pass_on(Stretch& stretch) {
  using enum Stretch::Status;
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return stretch.status >= assumed || thrown_; });
  if (thrown_) std::rethrow_exception(thrown_);
  writes_ = to_.written && to_.branches->writes();
  const bool alike = PathDecoder::alike(stretch.assumed, state_);
  if (!alike || (stretch.written && !writes_)) {
    if (!alike) ++wrong_;
    lock.unlock();
    return go_on_by_itself();
  }
  wrong_ = 0;
  out_.flush();
  carry_ = true;
  stretch.told = true;
  room_.notify_all();
  for (bool finished_before = false; !finished_before;) {
    news_.wait(lock, [&] {
      return stretch.status == finished || stretch.waits || stretch.log.bytes() >= kWorthTelling ||
             thrown_;
    });
    if (thrown_) std::rethrow_exception(thrown_);
    finished_before = stretch.status == finished;
    std::vector<Log::Entry> entries = stretch.log.take();
    room_.notify_all();
    lock.unlock();
    for (Log::Entry& entry : entries) {
      if (!tell(entry)) return false;
    }
    lock.lock();
    recycle(entries);
    entries.clear();
    if (stretch.waits) room_.notify_all();
  }
  if (stretch.waited > kMostWaits) wrong_ = kMostWrong;
  const std::uint64_t line = state_.line;
  const bool same_line = to_.runs != nullptr ? stretch.end.line == kLineFromBefore : carry_;
  const std::uint64_t before = same_line ? state_.pending_insns : 0;
  state_ = stretch.end;
  state_.pending_insns += before;
  if (state_.line == kLineFromBefore) state_.line = line;
  known_ = state_;
  out_.stats() += stretch.stats;
  const bool more = stretch.reached_limit;
  lock.unlock();
  head_.resume(piece_, state_);
  if (more) drop_front();
  return more;
}

// Where the stretch begins, instructions are missing that came before it.
void Crew::tell(Log::LeavingOut& batch) {
  const bool tells = !batch.walked.empty() || !batch.rows.empty();
  if (tells && std::exchange(carry_, false)) {
    const auto added = [&](std::uint32_t insns) {
      return saturate_insns(insns + state_.pending_insns);
    };
    if (batch.rows.empty() || batch.rows.front().begin != 0) {
      batch.walked.front().insns = added(batch.walked.front().insns);
    } else {
      Transfer& first = batch.list.front();
      first.insns = added(first.insns);
      if (first.branches == 0) first.since = added(first.since);
    }
  }
  to_.branches->on_transfers({.walked = batch.walked,
                              .rows = batch.rows,
                              .list = batch.list,
                              .book = batch.book,
                              .last = batch.last,
                              .lines = batch.lines,
                              .spans = batch.spans,
                              .returned = batch.returned,
                              .opened = batch.opened,
                              .singles = batch.singles,
                              .passed = batch.passed,
                              .noted = batch.noted,
                              .summed = batch.summed,
                              .paths = batch.paths,
                              .left_open = batch.left_open});
}

void Crew::tell(Log::Passing& batch) {
  const bool tells = !batch.walked.empty() || !batch.list.empty();
  if (tells && std::exchange(carry_, false)) {
    if (!batch.list.empty() && batch.list.front().begin == 0) {
      batch.list.front().insns += state_.pending_insns;
    } else {
      Branch& first = batch.walked.front();
      first.insns = saturate_insns(first.insns + state_.pending_insns);
    }
  }
  to_.branches->on_passages({.walked = batch.walked,
                             .list = batch.list,
                             .entries = batch.entries,
                             .returns = batch.returns,
                             .addresses = batch.addresses,
                             .reader = batch.reader});
}

void Crew::tell(Log::Repeating& batch) {
  if (std::exchange(carry_, false)) {
    std::uint32_t& insns = !batch.list.empty() && batch.list.front().begin == 0
                               ? batch.list.front().insns
                               : batch.walked.front().insns;
    insns = saturate_insns(insns + state_.pending_insns);
  }
  to_.branches->on_repeats({.walked = batch.walked,
                            .list = batch.list,
                            .memory = batch.memory,
                            .numbers = batch.numbers,
                            .edges = batch.edges});
}

bool Crew::tell(Log::Entry& entry) {
  if (auto* branches = std::get_if<std::vector<Branch>>(&entry)) {
    if (std::exchange(carry_, false)) {
      branches->front().insns = saturate_insns(branches->front().insns + state_.pending_insns);
    }
    to_.branches->on_branches(*branches);
  } else if (auto* batch = std::get_if<Log::LeavingOut>(&entry)) {
    tell(*batch);
  } else if (const auto* text = std::get_if<std::string>(&entry)) {
    carry_ = false;
    to_.branches->on_written(*text);
  } else if (auto* judged = std::get_if<Log::Passing>(&entry)) {
    tell(*judged);
  } else if (auto* repeating = std::get_if<Log::Repeating>(&entry)) {
    tell(*repeating);
  } else if (const auto* edges = std::get_if<std::vector<EdgeCount>>(&entry)) {
    to_.edges->on_edges(*edges);
  } else if (auto* runs = std::get_if<std::vector<RunCount>>(&entry)) {
    for (RunCount& run : *runs) {
      if (run.begin != kLineFromBefore) continue;
      run.begin = state_.line;
      run.insns = saturate_insns(std::uint64_t{run.insns} + state_.pending_insns);
    }
    to_.runs->on_runs(*runs);
  } else if (const auto* loss = std::get_if<Loss>(&entry)) {
    to_.listener.on_loss(*loss);
  } else if (const auto* event = std::get_if<Event>(&entry)) {
    to_.listener.on_event(*event);
  } else {
    return to_.listener.on_progress(std::get<Log::Progress>(entry).offset);
  }
  return true;
}

// The asking thread decodes to where the next stretch begins. False: the piece is at its end.
bool Crew::go_on_by_itself() {
  if (!head_.advance(limit_by_itself())) {
    head_.end();
    return false;
  }
  state_ = head_.state();
  const std::lock_guard lock(mutex_);
  known_ = state_;
  return true;
}

std::size_t Crew::limit_by_itself() const {
  if (wrong_ < kMostWrong) {
    const auto next = std::ranges::find_if(
        stretches_, [&](const auto& stretch) { return stretch->begin > state_.psb; });
    return next == stretches_.end() ? next_begin_ : (*next)->begin;
  }
  return marked_ ? std::min(state_.psb + config_.thread_bytes, limit_) : limit_;
}

void Crew::drop_front() {
  const std::lock_guard lock(mutex_);
  stretches_.front()->cancelled = true;
  stretches_.pop_front();
  room_.notify_all();
}

void Crew::cancel_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& stretch : stretches_) stretch->cancelled = true;
  over_ = true;
  work_.notify_all();
  room_.notify_all();
}

// What it was at is not finished by anybody else.
void Crew::work_safely(Knowledge& knowledge) {
  try {
    work(knowledge);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    thrown_ = std::current_exception();
    news_.notify_all();
  }
}

void Crew::work(Knowledge& knowledge) {
  using enum Stretch::Status;
  if (to_.passages) knowledge.graph.keep_in_place();
  if (to_.wants_repeats()) knowledge.memo.keep_in_place();
  const std::unique_ptr<BranchWriter> writer = to_.written ? to_.branches->writer() : nullptr;
  for (;;) {
    std::unique_lock lock(mutex_);
    auto next = stretches_.end();
    work_.wait(lock, [&] {
      next = std::ranges::find(stretches_, waiting, [](const auto& s) { return s->status; });
      return over_ || next != stretches_.end();
    });
    if (over_) return;
    const std::shared_ptr<Stretch> stretch = *next;  // may be dropped meanwhile
    stretch->status = taken;
    stretch->written = writes_;
    const PathDecoder::State known = known_;
    lock.unlock();
    decode(*stretch, known, knowledge, stretch->written ? writer.get() : nullptr);
  }
}

void Crew::decode(Stretch& stretch, const PathDecoder::State& known, Knowledge& knowledge,
                  BranchWriter* writer) {
  using enum Stretch::Status;
  Recorder recorder(*this, stretch, knowledge, writer);
  Output out(config_, recorder.receivers(to_));
  PathDecoder decoder(knowledge.blocks, &knowledge.memo, &knowledge.graph, by_steps_, config_, out);
  decoder.assume(piece_, stretch.begin, known);
  out.start_over();
  knowledge.graph.forget_ran();
  recorder.listen();
  {
    const std::lock_guard lock(mutex_);
    stretch.assumed = decoder.state();
    stretch.status = assumed;
    news_.notify_all();
  }
  const bool reached_limit = decoder.advance(stretch.limit);
  if (!reached_limit) decoder.end();
  out.settle(knowledge.memo);
  out.settle(knowledge.graph);
  out.flush();
  recorder.hand_on_text();
  const std::lock_guard lock(mutex_);
  stretch.end = decoder.state();
  stretch.reached_limit = reached_limit;
  stretch.stats = out.stats();
  stretch.status = finished;
  news_.notify_all();
}

}  // namespace hodo::flow
