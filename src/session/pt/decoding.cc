#include "decoding.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "hodo/flow/checkpoint.h"
#include "marked_sink.h"
#include "packet_walk.h"
#include "queue_bytes.h"
#include "queue_stream.h"
#include "stream/runs_from_branches.h"

namespace hodo::session {
namespace {

std::unexpected<Error> no_part() {
  return fail(ErrorCode::malformed, "a checkpoint that is not of this recording");
}

// What of a queue's stream has to be read for a part of it.
StreamRange range_of(const StreamPart& part) {
  constexpr std::uint64_t kBehind = flow::PartDecoder::kBehind;
  return {.begin = part.from ? part.from->offset : 0,
          .end = part.until > ~std::uint64_t{0} - kBehind ? part.until : part.until + kBehind};
}

}  // namespace

// Runs `work` on every selected queue; it returns false to stop.
template <class Work>
Result<Outcome> PtDecoding::each_queue(const DecodeOptions& options, Work work) {
  if (Status status = input_.decodable(); !status) return std::unexpected(status.error());
  Outcome outcome;
  outcome.queue_stats.resize(session_.queues().size());
  LossTally losses;
  for (LossLine& line : session_.input_losses()) losses.take(std::move(line));
  std::uint64_t total = 0;
  for (const Queue& queue : session_.queues()) total += queue.bytes;
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < session_.queues().size(); ++i) {
    const Queue& queue = session_.queues()[i];
    Occupancy occupants = input_.occupancy(i);
    if (is_wanted(occupants, options.selection)) {
      bool go_on = options.progress(done, total);
      if (!go_on) return was_stopped();
      QueueStream stream(input_, i);
      const Context who = context_of(i, queue, occupants);
      const Extent& extent = stream.extent();
      auto progress = [&](std::uint64_t offset) {
        stream.done(offset);
        go_on = go_on && options.progress(done + done_of(queue, extent, offset), total);
        return go_on;
      };
      QueueJob job{i, who, occupants, stream, extent, outcome.queue_stats[i], losses, progress};
      bool more = work(job);
      if (!stream.status()) return std::unexpected(stream.status().error());
      if (!go_on) return was_stopped();
      outcome.stats += outcome.queue_stats[i];
      if (!more) break;
    }
    done += queue.bytes;
  }
  if (!options.progress(done, total)) return was_stopped();
  outcome.losses = losses.lines();
  return outcome;
}

namespace {

// What was made for a queue may serve another thread of the same process.
bool same_code(const Occupancy& a, const Occupancy& b) {
  const std::uint32_t space = a.turns()[0].space;
  return a.turns().size() == 1 && b.turns().size() == 1 && space != kNoSpace &&
         space == b.turns()[0].space;
}

}  // namespace

// What was made for a queue: the next may be another thread of the same process, and its decoder
// then knows the code already.
struct PtDecoding::Prepared {
  Occupancy occupancy;
  std::unique_ptr<image::CodeSource> source;
  std::unique_ptr<flow::Decoder> decoder;
};

flow::Decoder& PtDecoding::prepare(std::optional<Prepared>& last, const QueueJob& job,
                                   const DecodeOptions& options) {
  if (last && same_code(last->occupancy, job.occupancy)) return *last->decoder;
  last.emplace(job.occupancy);
  last->source = input_.code(job.index, last->occupancy);
  flow::Config how = input_.config(job.index, last->occupancy);
  how.want_not_taken = options.not_taken;
  how.threads = options.threads;
  last->decoder = std::make_unique<flow::Decoder>(*last->source, how);
  return *last->decoder;
}

flow::PartDecoder& PtDecoding::prepare(std::optional<PreparedPart>& kept, std::size_t queue,
                                       const Occupancy& occupancy, const DecodeOptions& options) {
  const bool same = kept && kept->not_taken == options.not_taken;
  if (same && same_code(kept->occupancy, occupancy)) return *kept->decoder;
  kept.emplace(occupancy);
  kept->not_taken = options.not_taken;
  kept->source = input_.code(queue, kept->occupancy);
  flow::Config how = input_.config(queue, kept->occupancy);
  how.want_not_taken = options.not_taken;
  how.threads = options.threads;
  kept->decoder = std::make_unique<flow::PartDecoder>(*kept->source, how);
  return *kept->decoder;
}

Result<Outcome> PtDecoding::decode(const DecodeOptions& options, BranchSink& sink) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](QueueJob& job) {
    QueueSink between(listener_of(input_, job, options.selection), sink);
    job.stats = prepare(prepared, job, options).decode(job.stream, between);
    return !between.stopped();
  });
}

Result<Outcome> PtDecoding::decode_marked(const DecodeOptions& options, std::size_t spacing,
                                          CheckpointSink& sink) {
  std::optional<PreparedPart> prepared;
  return each_queue(options, [&](QueueJob& job) {
    MarkedSink between(listener_of(input_, job, options.selection), job.who, sink);
    job.stats =
        prepare(prepared, job.index, job.occupancy, options).decode(job.stream, spacing, between);
    return !between.stopped();
  });
}

Result<Outcome> PtDecoding::decode_part(const StreamPart& part, const DecodeOptions& options,
                                        BranchSink& sink, std::optional<PreparedPart>& kept) {
  if (part.queue >= session_.queues().size()) return no_part();
  const Occupancy occupants = input_.occupancy(part.queue);
  const std::unique_ptr<TraceReader> trace = input_.trace_of(part.queue, range_of(part));
  auto joined = QueueBytes::make(*trace);
  if (!joined) return std::unexpected(joined.error());
  Outcome outcome;
  outcome.queue_stats.resize(session_.queues().size());
  LossTally losses;
  if (part.input_losses) {
    for (LossLine& line : session_.input_losses()) losses.take(std::move(line));
  }
  const Context who = context_of(part.queue, session_.queues()[part.queue], occupants);
  flow::Stats& stats = outcome.queue_stats[part.queue];
  flow::WholeStream stream(joined->pieces());
  const QueueJob job{part.queue,
                     who,
                     occupants,
                     stream,
                     extent_of(trace->parts()),
                     stats,
                     losses,
                     [](std::uint64_t) { return true; }};
  QueueSink between(listener_of(input_, job, options.selection), sink);
  flow::PartDecoder& decoder = prepare(kept, part.queue, occupants, options);
  const flow::Checkpoint* const from = part.from ? &*part.from : nullptr;
  if (!decoder.decode_part(from, joined->pieces(), part.until, between, stats)) return no_part();
  outcome.stats = stats;
  outcome.losses = losses.lines();
  return outcome;
}

Result<Outcome> PtDecoding::cover(const DecodeOptions& options, RunSink& sink) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](QueueJob& job) {
    if (job.occupancy.turns().size() == 1) {
      QueueRuns between(listener_of(input_, job, options.selection), sink);
      job.stats = prepare(prepared, job, options).cover(job.stream, between);
      return !between.stopped();
    }
    // Whose code it is the time tells.
    DecodeOptions how = options;
    how.not_taken = true;
    RunsFromBranches runs(sink);
    QueueSink between(listener_of(input_, job, options.selection), runs);
    prepared.reset();
    job.stats = prepare(prepared, job, how).decode(job.stream, between);
    prepared.reset();
    return runs.finish() && !between.stopped();
  });
}

Result<Outcome> PtDecoding::count(const DecodeOptions& options) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](QueueJob& job) {
    QueueListener between = listener_of(input_, job, options.selection);
    job.stats = prepare(prepared, job, options).count(job.stream, between);
    return true;
  });
}

Result<Outcome> PtDecoding::packets(const DecodeOptions& options, PacketSink& sink) {
  return each_queue(options, [&](QueueJob& job) {
    sink.queue(job.who.queue, session_.queues()[job.index]);
    const pt::Errata errata = input_.config(job.index, job.occupancy).errata;
    return walk_packets(job.stream, errata, job.who, sink, job.stats, job.losses);
  });
}

}  // namespace hodo::session
