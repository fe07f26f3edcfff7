#include "bts_session.h"

#include <linux/perf_event.h>

#include <algorithm>

#include "bts_records.h"
#include "hodo/base/byte_reader.h"

namespace hodo::session {
namespace {

// Between two reports of progress, and two questions whether the user has enough.
constexpr std::size_t kStep = 1 << 20;

const perf_event_attr* traced_event(const perfdata::Model& model) {
  for (const perfdata::Attr& attr : model.reader().attrs()) {
    if (attr.attr.type == model.pt().pmu_type) return &attr.attr;
  }
  return nullptr;
}

struct Gap {
  flow::LossCause cause;
  const char* reason;
};

Gap gap_before(const Part& part) {
  if (part.altered_before) {
    return {flow::LossCause::altered,
            "records before this offset are not those that were recorded"};
  }
  return {flow::LossCause::recorder_lost, "records are missing before this offset"};
}

}  // namespace

// One queue in work: its bytes in order, each stretch with the task and time of the AUX record that
// covers it.
class BtsSession::QueueReader {
 public:
  QueueReader(BtsSession& session, std::uint32_t index, const DecodeOptions& options,
              RecordPath& path, LossTally& losses, flow::Stats& stats)
      : session_(session),
        index_(index),
        queue_(session.model().queues()[index]),
        options_(options),
        path_(path),
        losses_(losses),
        stats_(stats),
        records_(hw::DsLayout::bits64, path) {
    const perf_event_attr* attr = traced_event(session.model());
    if (attr != nullptr) unrecorded_ = session.unrecorded(*attr);
  }

  // `progress` gets the bytes done. Errors: io, truncated.
  Status read(std::span<const Part> parts, const std::function<bool(std::uint64_t)>& progress) {
    std::uint64_t done = 0;
    std::vector<std::uint8_t> bytes;
    for (const Part& part : parts) {
      begin(part);
      for (std::uint64_t at = 0; at < part.size && !path_.stopped();) {
        const std::uint64_t offset = part.offset + at;
        const std::uint64_t size = std::min<std::uint64_t>({part.size - at, enter(offset), kStep});
        bytes.resize(static_cast<std::size_t>(size));
        Status status = session_.read_aux(part.file_offset + at, bytes);
        if (!status) return status;
        stats_.bytes += size;
        if (wanted_) records_.add(bytes, offset);
        at += size;
        done += size;
        if (!progress(done)) return was_stopped();
      }
    }
    end_of_stream();
    return {};
  }

 private:
  void begin(const Part& part) {
    if (!part.gap_before) return;
    end_of_stream();
    path_.gap();
    const auto [cause, reason] = gap_before(part);
    lose(cause, part.offset, part.lost_before, reason);
  }

  void end_of_stream() {
    const std::size_t rest = records_.cut();
    if (rest == 0) return;
    stats_.skipped_bytes += rest;
    lose(flow::LossCause::truncated, 0, rest, "the records end inside of one");
  }

  void lose(flow::LossCause cause, std::uint64_t offset, std::uint64_t bytes, const char* reason) {
    ++stats_.losses[static_cast<std::size_t>(cause)];
    const Context who{.queue = index_, .pid = queue_.pid, .tid = queue_.tid, .cpu = queue_.cpu};
    losses_.add(flow::name(cause), {.who = who, .offset = offset, .reason = reason}, bytes);
  }

  // Prepares for what lies at `offset`, and says how many bytes that holds for.
  std::uint64_t enter(std::uint64_t offset) {
    const auto& handovers = queue_.handovers;
    while (next_ < handovers.size() &&
           handovers[next_].aux_offset + handovers[next_].aux_size <= offset) {
      ++next_;
    }
    perfdata::AuxEvent here{.time = time_, .pid = queue_.pid, .tid = queue_.tid};
    std::uint64_t holds = kStep;
    if (next_ < handovers.size() && handovers[next_].aux_offset > offset) {
      holds = handovers[next_].aux_offset - offset;
    } else if (next_ < handovers.size()) {
      here = handovers[next_];
      holds = here.aux_offset + here.aux_size - offset;
    }
    if (here.pid < 0) here.pid = queue_.pid;
    if (here.tid < 0) here.tid = queue_.tid;
    change_to(here);
    return holds;
  }

  void change_to(const perfdata::AuxEvent& here) {
    // Never backwards within a queue, whatever the file says.
    time_ = std::max(time_, here.time);
    path_.set_time(time_);
    if (entered_ && here.pid == pid_ && here.tid == tid_ && time_ < until_) return;
    Executing next = session_.executing(index_, here.pid, here.tid, queue_.cpu, time_);
    until_ = next.until;
    // The last bytes of a process are handed over when it has exited already.
    if (entered_ && next.who == who_ && next.mode == mode_) return;
    // On a processor one task's records follow another's.
    if (entered_ && !(next.who == who_)) path_.restart();
    entered_ = true;
    pid_ = here.pid;
    tid_ = here.tid;
    who_ = next.who;
    mode_ = next.mode;
    next.unrecorded = unrecorded_;
    wanted_ = selected(options_.selection, pid_, tid_);
    path_.enter(next);
  }

  BtsSession& session_;
  std::uint32_t index_;
  const perfdata::AuxQueue& queue_;
  const DecodeOptions& options_;
  RecordPath& path_;
  LossTally& losses_;
  flow::Stats& stats_;
  BtsRecords records_;
  Unrecorded unrecorded_ = Unrecorded::nothing;
  std::size_t next_ = 0;  // in handovers
  std::uint64_t time_ = 0;
  std::uint64_t until_ = 0;  // of Executing
  isa::Mode mode_ = isa::Mode::bits64;
  std::int32_t pid_ = -1;
  std::int32_t tid_ = -1;
  Context who_;
  bool entered_ = false;
  bool wanted_ = false;
};

Result<Outcome> BtsSession::decode(const DecodeOptions& options, BranchSink& sink) {
  Outcome outcome;
  outcome.queue_stats.resize(queues().size());
  LossTally losses = known_losses();
  std::uint64_t total = 0;
  for (const Queue& queue : queues()) total += queue.bytes;
  std::uint64_t done = 0;
  bool stopped = false;
  for (std::uint32_t i = 0; i < queues().size() && !stopped; ++i) {
    flow::Stats& stats = outcome.queue_stats[i];
    const auto parts = unaltered_parts(i);
    if (!parts) return std::unexpected(parts.error());
    RecordPath path(sink, stats, losses, explain(), options.not_taken);
    QueueReader reader(*this, i, options, path, losses, stats);
    const Status status = reader.read(
        *parts, [&](std::uint64_t in_queue) { return options.progress(done + in_queue, total); });
    path.finish();
    if (!status) return std::unexpected(status.error());
    stopped = path.stopped();
    done += queues()[i].bytes;
    outcome.stats += stats;
  }
  outcome.losses = losses.lines();
  return outcome;
}

namespace {

// Hands on the records of a stretch. False: the sink wants no more.
bool hand_on(std::span<const std::uint8_t> bytes, std::uint64_t offset, RecordSink& sink) {
  ByteReader in(bytes);
  for (std::uint64_t at = 0;; at = in.offset()) {
    const auto record = hw::read_bts_record(in, hw::DsLayout::bits64);
    if (!record) return true;
    if (record->from == 0 && record->to == 0) continue;
    if (!sink.record(offset + at, *record)) return false;
  }
}

}  // namespace

Result<std::vector<LossLine>> BtsSession::records(RecordSink& sink) const {
  const std::uint64_t step = 32768 * hw::bts_record_bytes(hw::DsLayout::bits64);
  LossTally losses = known_losses();
  std::vector<std::uint8_t> bytes;
  for (std::uint32_t i = 0; i < queues().size(); ++i) {
    const Queue& queue = queues()[i];
    const Context who{.queue = i, .pid = queue.pid, .tid = queue.tid, .cpu = queue.cpu};
    sink.queue(i, queue);
    const auto parts = unaltered_parts(i);
    if (!parts) return std::unexpected(parts.error());
    for (const Part& part : *parts) {
      if (part.gap_before) {
        const auto [cause, reason] = gap_before(part);
        losses.add(flow::name(cause), {.who = who, .offset = part.offset, .reason = reason},
                   part.lost_before);
      }
      for (std::uint64_t at = 0; at < part.size; at += bytes.size()) {
        bytes.resize(static_cast<std::size_t>(std::min(step, part.size - at)));
        const Status status = read_aux(part.file_offset + at, bytes);
        if (!status) return std::unexpected(status.error());
        if (!hand_on(bytes, part.offset + at, sink)) return losses.lines();
      }
    }
  }
  return losses.lines();
}

}  // namespace hodo::session
