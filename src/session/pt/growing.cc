#include "hodo/session/growing.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hodo/flow/growing.h"
#include "pt_session.h"
#include "stream/queue_sink.h"

namespace hodo::session {
namespace {

// Records that say nothing about processes and what they have mapped.
bool is_trace(perfdata::RecordType type) {
  using enum perfdata::RecordType;
  return type == aux || type == auxtrace || type == finished_round;
}

std::map<perfdata::RecordType, std::uint64_t> sideband(const PtSession& recording) {
  auto counts = recording.model().counts();
  std::erase_if(counts, [](const auto& entry) { return is_trace(entry.first); });
  return counts;
}

std::uint64_t end_of(const std::vector<Part>& parts) {
  return parts.empty() ? 0 : parts.back().offset + parts.back().size;
}

class GrowingRecording final : public Growing {
 public:
  GrowingRecording(std::string path, std::shared_ptr<PtSession> first)
      : path_(std::move(path)), known_(first), latest_(std::move(first)) {}

  Result<bool> refresh() override;
  Session& session() override { return *known_; }
  Result<bool> decode(BranchSink& sink) override { return each_queue(sink, false); }
  Result<bool> finish(BranchSink& sink) override { return each_queue(sink, true); }
  std::vector<LossLine> losses() const override;

 private:
  struct Stream {
    std::uint64_t taken = 0;  // bytes of the stream that the decoder has
    std::uint64_t ready = 0;  // what was there at the refresh before the last one
    std::uint64_t seen = 0;   // at the last one
    Occupancy occupancy;
    std::unique_ptr<image::CodeSource> code;
    std::optional<flow::GrowingDecoder> decoder;
  };

  Result<bool> each_queue(BranchSink& sink, bool all);
  // Of a queue of the latest recording.
  Stream& stream_of(std::size_t queue) { return streams_[latest_->model().queues()[queue].idx]; }
  void prepare(std::size_t queue, Stream& stream);
  Result<bool> feed(Stream& stream, const std::vector<Part>& parts, bool all, QueueSink& sink);

  std::string path_;
  std::shared_ptr<PtSession> known_;   // whose processes and mappings count
  std::shared_ptr<PtSession> latest_;  // whose trace counts: the same, or with more of it
  // By AuxQueue::idx. A queue's place among the others changes when an earlier thread's first piece
  // comes later.
  std::map<std::uint32_t, Stream> streams_;
  LossTally losses_;
};

Result<bool> GrowingRecording::refresh() {
  auto opened = OpenedFile::open(path_);
  if (!opened) return std::unexpected(opened.error());
  latest_ = std::make_shared<PtSession>(std::move(*opened));
  // A queue is there when its first piece is, which may be later than what else tells of its
  // thread.
  const bool news = sideband(*latest_) != sideband(*known_) ||
                    latest_->queues().size() != known_->queues().size();
  for (std::size_t i = 0; i < latest_->queues().size(); ++i) {
    Stream& stream = stream_of(i);
    stream.ready = std::exchange(stream.seen, end_of(latest_->aux_parts(i)));
  }
  if (!news) return false;
  const std::shared_ptr<PtSession> before = std::exchange(known_, latest_);
  for (std::size_t i = 0; i < latest_->queues().size(); ++i) prepare(i, stream_of(i));
  return true;
}

std::vector<LossLine> GrowingRecording::losses() const {
  LossTally all;
  for (LossLine& line : latest_->input_losses()) all.take(std::move(line));
  for (LossLine& line : losses_.lines()) all.take(std::move(line));
  return all.lines();
}

// With the code that is known now.
void GrowingRecording::prepare(std::size_t queue, Stream& stream) {
  Occupancy occupancy = known_->occupancy(queue);
  std::unique_ptr<image::CodeSource> before = std::move(stream.code);
  stream.occupancy = std::move(occupancy);
  stream.code = known_->code(queue, stream.occupancy);
  flow::Config config = known_->config(queue, stream.occupancy);
  if (stream.decoder) {
    stream.decoder->replace(*stream.code, config);
  } else {
    stream.decoder.emplace(*stream.code, config);
  }
}

Result<bool> GrowingRecording::each_queue(BranchSink& sink, bool all) {
  for (std::size_t i = 0; i < latest_->queues().size(); ++i) {
    Stream& stream = stream_of(i);
    if (!all && stream.ready == stream.taken) continue;
    if (!stream.decoder) prepare(i, stream);
    Context who{.queue = static_cast<std::uint32_t>(i)};
    if (const auto& turns = stream.occupancy.turns(); turns.size() == 1) {
      who.pid = turns[0].pid;
      who.tid = turns[0].tid;
      who.space = turns[0].space;
    }
    const auto explain = [this](const Context& whose, const flow::Loss& loss) {
      return known_->explain(whose, loss);
    };
    QueueSink between(
        {who, stream.occupancy, {}, losses_, explain, [](std::uint64_t) { return true; }}, sink);
    auto more = feed(stream, latest_->aux_parts(i), all, between);
    if (!more || !*more) return more;
  }
  return true;
}

Result<bool> GrowingRecording::feed(Stream& stream, const std::vector<Part>& parts, bool all,
                                    QueueSink& sink) {
  const std::uint64_t limit = all ? end_of(parts) : stream.ready;
  std::vector<std::uint8_t> bytes;
  for (const Part& part : parts) {
    const std::uint64_t from = std::max(part.offset, stream.taken);
    const std::uint64_t end = std::min(part.offset + part.size, limit);
    if (from >= end) continue;
    bytes.resize(static_cast<std::size_t>(end - from));
    Status status = latest_->read_aux(part.file_offset + (from - part.offset), bytes);
    if (!status) return std::unexpected(status.error());
    const bool after_loss = part.gap_before && from == part.offset;
    stream.decoder->add(
        {.bytes = bytes, .offset = from, .lost_before = after_loss ? part.lost_before : 0},
        after_loss, sink);
    stream.taken = end;
  }
  if (all) {
    stream.decoder->end(sink);
  } else {
    stream.decoder->decode(sink);
  }
  return !sink.stopped();
}

}  // namespace

Result<std::unique_ptr<Growing>> Growing::open(const std::string& path) {
  auto file = OpenedFile::open(path);
  if (!file) return std::unexpected(file.error());
  auto recording = std::make_shared<PtSession>(std::move(*file));
  const auto queues = recording->queues();
  const bool of_threads = std::ranges::all_of(queues, [](const Queue& q) { return q.cpu < 0; });
  if (recording->trace() != TraceKind::pt || !of_threads) {
    return fail(ErrorCode::unsupported, "only Intel PT of threads can be decoded as it grows");
  }
  return std::make_unique<GrowingRecording>(path, std::move(recording));
}

}  // namespace hodo::session
