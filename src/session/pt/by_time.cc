#include "by_time.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "hodo/flow/clock.h"
#include "hodo/flow/slices.h"
#include "hodo/pt/reader.h"
#include "queue_bytes.h"
#include "queue_stream.h"

namespace hodo::session {
namespace {

// Decoded at once, up to the next PSB: some hundred KiB of branches.
constexpr std::size_t kSlice = 16 << 10;
// Of all queues' bytes together, before the longer ones go to files.
constexpr std::uint64_t kInMemory = 64 << 20;
// Where a queue's first time is looked for.
constexpr std::uint64_t kHead = 4 << 10;

// Of the first packets, before which no branch is; 0: they do not tell.
std::uint64_t time_of(std::span<const std::uint8_t> head, const flow::Config& config) {
  flow::Clock clock(config);
  pt::PacketReader reader(head, 0, config.errata);
  if (!reader.sync_forward()) return 0;
  pt::Packet packet;
  while (!reader.at_end() && reader.read(packet) == pt::ReadStatus::packet) {
    clock.apply(packet);
    if (packet.type == pt::PacketType::tsc) return clock.now();
    if (packet.type == pt::PacketType::psbend) break;
  }
  return 0;
}

}  // namespace

// Code that ran, with what is learned of it.
struct ByTime::Code {
  explicit Code(Occupancy who) : occupancy(std::move(who)) {}

  const Occupancy occupancy;
  std::unique_ptr<image::CodeSource> source;
  std::optional<flow::SharedCode> known;
};

// When a queue's next branch is: its time, or that of the branch before if it has none.
struct ByTime::Turn {
  std::uint64_t time = 0;
  std::size_t stream = 0;
  auto operator<=>(const Turn&) const = default;
};

// One queue, with the branches that wait for their turn.
struct ByTime::Stream final : BranchSink {
  Stream(std::size_t at, Occupancy who) : index(at), occupancy(std::move(who)) {}

  bool branches(const Context& context, std::span<const Branch> batch) override;
  Turn turn(std::size_t number) const { return {std::max(time, waiting[next].time), number}; }
  bool tell(BranchSink& sink, const Turn& own, const Turn& other);

  const std::size_t index;
  const Occupancy occupancy;
  flow::Stats stats;
  LossTally losses;
  std::uint64_t done = 0;  // bytes

  // While it is in work:
  std::optional<QueueStream> bytes;
  std::shared_ptr<Code> code;
  std::optional<QueueJob> job;
  std::optional<QueueSink> between;
  std::optional<flow::Slices> slices;

  // Rows of waiting branches with the same context.
  struct Row {
    Context context;
    std::size_t end = 0;  // in `waiting`
  };
  std::vector<Branch> waiting;
  std::vector<Row> rows;
  std::size_t next = 0;    // of `waiting`
  std::size_t row = 0;     // its row
  std::uint64_t time = 0;  // the latest so far
};

bool ByTime::Stream::branches(const Context& context, std::span<const Branch> batch) {
  if (rows.empty() || !(rows.back().context == context)) rows.push_back({.context = context});
  waiting.insert(waiting.end(), batch.begin(), batch.end());
  rows.back().end = waiting.size();
  return true;
}

// All that are before the other's turn. False: the sink wants no more.
bool ByTime::Stream::tell(BranchSink& sink, const Turn& own, const Turn& other) {
  while (next != waiting.size()) {
    const Row& here = rows[row];
    std::size_t end = next;
    for (; end != here.end; ++end) {
      const std::uint64_t latest = std::max(time, waiting[end].time);
      if (!(Turn{latest, own.stream} < other)) break;
      time = latest;
    }
    const auto batch = std::span(waiting).subspan(next, end - next);
    if (!batch.empty() && !sink.branches(here.context, batch)) return false;
    next = end;
    if (end != here.end) return true;
    ++row;
  }
  waiting.clear();
  rows.clear();
  next = row = 0;
  return true;
}

ByTime::ByTime(const Session& session, PtInput& input, const DecodeOptions& options)
    : session_(session), input_(input), options_(options) {
  for (std::size_t i = 0; i < session.queues().size(); ++i) {
    Occupancy occupancy = input.occupancy(i);
    total_ += session.queues()[i].bytes;
    if (is_wanted(occupancy, options.selection)) {
      streams_.push_back(std::make_unique<Stream>(i, std::move(occupancy)));
    } else {
      done_ += session.queues()[i].bytes;
    }
  }
}

ByTime::~ByTime() = default;

Result<Outcome> ByTime::decode(BranchSink& sink) {
  constexpr Turn kLast{std::numeric_limits<std::uint64_t>::max(),
                       std::numeric_limits<std::size_t>::max()};
  if (Status status = input_.decodable(); !status) return std::unexpected(status.error());
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  for (std::size_t i = 0; i < streams_.size(); ++i) turns.push({first_time(*streams_[i]), i});
  while (!turns.empty()) {
    const Turn now = turns.top();
    turns.pop();
    Stream& stream = *streams_[now.stream];
    if (!stream.slices) {
      open(stream);
    } else if (!stream.tell(sink, now, turns.empty() ? kLast : turns.top())) {
      break;
    }
    const bool more = refill(stream);
    if (!status_) return std::unexpected(status_.error());
    if (stopped_) return was_stopped();
    if (more) turns.push(stream.turn(now.stream));
  }
  if (turns.empty() && !options_.progress(total_, total_)) return was_stopped();
  return outcome();
}

// Threads of one process share what is learned of its code.
std::shared_ptr<ByTime::Code> ByTime::code_for(const Stream& stream) {
  const auto& turns = stream.occupancy.turns();
  const bool shared = turns.size() == 1 && turns[0].space != kNoSpace;
  if (shared) {
    if (auto known = codes_[turns[0].space].lock()) return known;
  }
  auto code = std::make_shared<Code>(stream.occupancy);
  code->source = input_.code(stream.index, code->occupancy);
  code->known.emplace(*code->source);
  if (shared) codes_[turns[0].space] = code;
  return code;
}

std::uint64_t ByTime::first_time(const Stream& stream) {
  const std::unique_ptr<TraceReader> whole = input_.trace_of(stream.index, {});
  if (whole->parts().empty()) return 0;
  const std::uint64_t begin = whole->parts().front().offset;
  const auto head = input_.trace_of(stream.index, {.begin = begin, .end = begin + kHead});
  // What is wrong with the file comes up when the queue is opened.
  const auto bytes = QueueBytes::make(*head);
  if (!bytes || bytes->pieces().empty()) return 0;
  return time_of(bytes->pieces().front().bytes, input_.config(stream.index, stream.occupancy));
}

void ByTime::open(Stream& stream) {
  const Queue& queue = session_.queues()[stream.index];
  stream.bytes.emplace(input_, stream.index,
                       std::min(QueueStream::kRound, kInMemory / streams_.size()));
  stream.code = code_for(stream);
  stream.job.emplace(QueueJob{
      .index = stream.index,
      .who = context_of(stream.index, queue, stream.occupancy),
      .occupancy = stream.occupancy,
      .stream = *stream.bytes,
      .extent = stream.bytes->extent(),
      .stats = stream.stats,
      .losses = stream.losses,
      .progress = [this, &stream](std::uint64_t offset) { return progress(stream, offset); }});
  stream.between.emplace(listener_of(input_, *stream.job, options_.selection), stream);
  flow::Config how = input_.config(stream.index, stream.occupancy);
  how.want_not_taken = options_.not_taken;
  stream.slices.emplace(*stream.code->known, how, stream.job->stream, *stream.between);
}

// Until there is a branch that waits. False: the queue has come to its end.
bool ByTime::refill(Stream& stream) {
  bool more = true;
  while (stream.waiting.empty() && more) more = stream.slices->advance(kSlice);
  if (!stream.waiting.empty()) return true;
  status_ = stream.bytes->status();
  done_ += session_.queues()[stream.index].bytes - std::exchange(stream.done, 0);
  stream.stats = stream.slices->stats();
  stream.slices.reset();
  stream.between.reset();
  stream.job.reset();
  stream.code.reset();
  stream.bytes.reset();
  return false;
}

bool ByTime::progress(Stream& stream, std::uint64_t offset) {
  stream.bytes->done(offset);
  const std::uint64_t done =
      done_of(session_.queues()[stream.index], stream.bytes->extent(), offset);
  done_ += done - std::exchange(stream.done, done);
  stopped_ = stopped_ || !options_.progress(done_, total_);
  return !stopped_;
}

// What it is when queue after queue is decoded.
Outcome ByTime::outcome() const {
  Outcome out;
  out.queue_stats.resize(session_.queues().size());
  LossTally losses;
  for (LossLine& line : session_.input_losses()) losses.take(std::move(line));
  for (const auto& stream : streams_) {
    out.queue_stats[stream->index] = stream->slices ? stream->slices->stats() : stream->stats;
    out.stats += out.queue_stats[stream->index];
    for (LossLine& line : stream->losses.lines()) losses.take(std::move(line));
  }
  out.losses = losses.lines();
  return out;
}

}  // namespace hodo::session
