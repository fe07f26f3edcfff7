#include "decoding.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "packet_walk.h"
#include "records/runs_from_branches.h"

namespace hodo::session {
namespace {

bool wanted(const Occupancy& occupancy, const Selection& selection) {
  // The stream itself may tell.
  if (occupancy.turns().size() == 1 && occupancy.turns()[0].pid < 0) return true;
  for (const Occupant& who : occupancy.turns()) {
    if (selected(selection, who.pid, who.tid)) return true;
  }
  return false;
}

}  // namespace

// One queue in work.
struct PtDecoding::Job {
  std::size_t index;
  Context who;
  const Occupancy& occupancy;
  std::span<const flow::Piece> pieces;
  flow::Stats& stats;
  LossTally& losses;
  // Tells the user that the queue is done up to an offset of its stream.
  std::function<void(std::uint64_t)> progress;
};

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
    if (wanted(occupants, options.selection)) {
      if (options.progress) options.progress(done, total);
      const std::vector<Part> found = input_.parts(i);
      auto joined = QueueBytes::make(
          found, [this](std::uint64_t offset, auto out) { return input_.read_trace(offset, out); });
      if (!joined) return std::unexpected(joined.error());
      Context who{.queue = static_cast<std::uint32_t>(i), .cpu = queue.cpu};
      if (occupants.turns().size() == 1) {
        who.pid = occupants.turns()[0].pid;
        who.tid = occupants.turns()[0].tid;
        who.space = occupants.turns()[0].space;
      }
      std::span<const flow::Piece> pieces = joined->pieces();
      auto progress = [&](std::uint64_t offset) {
        joined->done(offset);
        std::uint64_t first = pieces.empty() ? 0 : pieces.front().offset;
        std::uint64_t in_queue = std::min(offset - std::min(offset, first), queue.bytes);
        if (options.progress) options.progress(done + in_queue, total);
      };
      Job job{i, who, occupants, pieces, outcome.queue_stats[i], losses, progress};
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

flow::Decoder& PtDecoding::prepare(std::optional<Prepared>& last, const Job& job,
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

QueueListener PtDecoding::listener(const Job& job, const DecodeOptions& options) {
  const auto begins_with = [this, &job](const flow::Loss& loss) {
    return loss.cause == flow::LossCause::head_cut && input_.snapshot() &&
           loss.skipped < job.pieces.front().bytes.size();
  };
  auto explanation = [this, begins_with](const Context& who, const flow::Loss& loss) {
    return begins_with(loss) ? std::optional(Explanation{}) : input_.explain(who, loss);
  };
  return {job.who, job.occupancy, options.selection, job.losses, explanation, job.progress};
}

Result<Outcome> PtDecoding::decode(const DecodeOptions& options, BranchSink& sink) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](Job& job) {
    QueueSink between(listener(job, options), sink);
    job.stats = prepare(prepared, job, options).decode(job.pieces, between);
    return !between.stopped();
  });
}

Result<Outcome> PtDecoding::cover(const DecodeOptions& options, RunSink& sink) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](Job& job) {
    if (job.occupancy.turns().size() == 1) {
      QueueRuns between(listener(job, options), sink);
      job.stats = prepare(prepared, job, options).cover(job.pieces, between);
      return !between.stopped();
    }
    // Whose code it is the time tells.
    DecodeOptions how = options;
    how.not_taken = true;
    RunsFromBranches runs(sink);
    QueueSink between(listener(job, options), runs);
    prepared.reset();
    job.stats = prepare(prepared, job, how).decode(job.pieces, between);
    prepared.reset();
    return !between.stopped();
  });
}

Result<Outcome> PtDecoding::count(const DecodeOptions& options) {
  std::optional<Prepared> prepared;
  return each_queue(options, [&](Job& job) {
    QueueListener between = listener(job, options);
    job.stats = prepare(prepared, job, options).count(job.pieces, between);
    return true;
  });
}

Result<Outcome> PtDecoding::packets(const DecodeOptions& options, PacketSink& sink) {
  return each_queue(options, [&](Job& job) {
    sink.queue(job.who.queue, session_.queues()[job.index]);
    const pt::Errata errata = input_.config(job.index, job.occupancy).errata;
    return walk_packets(job.pieces, errata, job.who, sink, job.stats, job.losses);
  });
}

}  // namespace hodo::session
