#include "decoding.h"

#include <memory>
#include <optional>

#include "packet_walk.h"
#include "records/runs_from_branches.h"

namespace hodo::session {

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
      if (options.progress) options.progress(done, total);
      const std::vector<Part> found = input_.parts(i);
      auto joined = QueueBytes::make(
          found, [this](std::uint64_t offset, auto out) { return input_.read_trace(offset, out); });
      if (!joined) return std::unexpected(joined.error());
      const Context who = context_of(i, queue, occupants);
      std::span<const flow::Piece> pieces = joined->pieces();
      auto progress = [&](std::uint64_t offset) {
        joined->done(offset);
        if (options.progress) options.progress(done + done_of(queue, pieces, offset), total);
      };
      QueueJob job{i, who, occupants, pieces, outcome.queue_stats[i], losses, progress};
      bool more = work(job);
      if (!pieces.empty()) joined->done(pieces.back().offset + pieces.back().bytes.size());
      outcome.stats += outcome.queue_stats[i];
      if (!more) break;
    }
    done += queue.bytes;
  }
  if (options.progress) options.progress(done, total);
  outcome.losses = losses.lines();
  return outcome;
}

// What was made for a queue: the next may be another thread of the same process, and its decoder
// then knows the code already.
struct PtDecoding::Prepared {
  Occupancy occupancy;
  std::unique_ptr<image::CodeSource> source;
  std::unique_ptr<flow::Decoder> decoder;

  bool serves(const Occupancy& other) const {
    const std::uint32_t space = occupancy.turns()[0].space;
    return occupancy.turns().size() == 1 && other.turns().size() == 1 && space != kNoSpace &&
           space == other.turns()[0].space;
  }
};

flow::Decoder& PtDecoding::prepare(std::optional<Prepared>& last, const QueueJob& job,
                                   const DecodeOptions& options) {
  if (last && last->serves(job.occupancy)) return *last->decoder;
  last.emplace(job.occupancy);
  last->source = input_.code(job.index, last->occupancy);
  flow::Config how = input_.config(job.index, last->occupancy);
  how.want_not_taken = options.not_taken;
  how.threads = options.threads;
  last->decoder = std::make_unique<flow::Decoder>(*last->source, how);
  return *last->decoder;
}

Result<Outcome> PtDecoding::decode(const DecodeOptions& options, BranchSink& sink) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](QueueJob& job) {
    QueueSink between(listener_of(input_, job, options.selection), sink);
    job.stats = prepare(prepared, job, options).decode(job.pieces, between);
    return !between.stopped();
  });
}

Result<Outcome> PtDecoding::cover(const DecodeOptions& options, RunSink& sink) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](QueueJob& job) {
    if (job.occupancy.turns().size() == 1) {
      QueueRuns between(listener_of(input_, job, options.selection), sink);
      job.stats = prepare(prepared, job, options).cover(job.pieces, between);
      return !between.stopped();
    }
    // Whose code it is the time tells.
    DecodeOptions how = options;
    how.not_taken = true;
    RunsFromBranches runs(sink);
    QueueSink between(listener_of(input_, job, options.selection), runs);
    prepared.reset();
    job.stats = prepare(prepared, job, how).decode(job.pieces, between);
    prepared.reset();
    return !between.stopped();
  });
}

Result<Outcome> PtDecoding::count(const DecodeOptions& options) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](QueueJob& job) {
    QueueListener between = listener_of(input_, job, options.selection);
    job.stats = prepare(prepared, job, options).count(job.pieces, between);
    return true;
  });
}

Result<Outcome> PtDecoding::packets(const DecodeOptions& options, PacketSink& sink) {
  return each_queue(options, [&](QueueJob& job) {
    sink.queue(job.who.queue, session_.queues()[job.index]);
    const pt::Errata errata = input_.config(job.index, job.occupancy).errata;
    return walk_packets(job.pieces, errata, job.who, sink, job.stats, job.losses);
  });
}

}  // namespace hodo::session
