#include "thread_traces.h"

#include <linux/perf_event.h>

#include <algorithm>
#include <utility>

#include "hodo/relay/channel.h"

namespace hodo::capture {

ThreadTrace ThreadTraces::begin(std::int32_t pid, std::int32_t tid, bool left_out) {
  const auto [stream, fresh] = streams_.try_emplace(tid);
  if (fresh) stream->second.idx = static_cast<std::uint32_t>(streams_.size() - 1);
  // That some is missing shows in the offset; how much it is nobody knows.
  constexpr std::uint64_t kSome = 8;
  return {.pid = pid,
          .tid = tid,
          .idx = stream->second.idx,
          .left_out = left_out && stream->second.offset != 0 ? kSome : 0};
}

Status ThreadTraces::take(ThreadTrace& trace, std::span<const std::uint8_t> bytes) {
  if (snapshot_) {
    trace.left_out += trace.tail.add(bytes, most_);
    return {};
  }
  const auto status = write(trace, {&bytes, 1});
  if (status) trace.tail.pass(bytes.size());
  return status;
}

void ThreadTraces::end(ThreadTrace trace) {
  if (!snapshot_ || trace.tail.empty()) return;
  ended_bytes_ += trace.tail.size();
  ended_.push_back(std::move(trace));
  while (ended_.size() > 1 && ended_bytes_ - ended_.front().tail.size() >= most_) {
    ended_bytes_ -= ended_.front().tail.size();
    ended_.pop_front();
  }
}

Status ThreadTraces::write_kept(ThreadTrace& trace) {
  if (trace.tail.empty()) return {};
  const auto status = write(trace, trace.tail.pieces());
  trace.tail.clear();
  return status;
}

Status ThreadTraces::write_ended() {
  Status status;
  for (ThreadTrace& trace : ended_) {
    status = write_kept(trace);
    if (!status) break;
  }
  ended_.clear();
  ended_bytes_ = 0;
  return status;
}

std::uint64_t ThreadTraces::offset_of(std::int32_t tid) const {
  const auto stream = streams_.find(tid);
  return stream == streams_.end() ? 0 : stream->second.offset;
}

// The next bytes of a thread's trace, which lie in one or more places.
Status ThreadTraces::write(ThreadTrace& trace, Pieces pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  bytes_ += bytes;
  if (of_stacks()) {
    for (const auto& piece : pieces) {
      if (const auto status = write_stacks(trace, piece); !status) return status;
    }
    return {};
  }
  Stream& stream = streams_[trace.tid];
  stream.offset += std::exchange(trace.left_out, 0);
  const std::uint64_t size = writer_.auxtrace_size(bytes);
  const auto status = write_handovers(trace, stream.offset, size);
  if (!status) return status;
  const std::uint64_t offset = std::exchange(stream.offset, stream.offset + size);
  return writer_.auxtrace({.offset = offset, .idx = trace.idx, .tid = trace.tid}, pieces);
}

// AUX records for the `size` bytes of the stream at `offset`, which begin where the tail does, one
// up to each mark: the time of a stretch is that of its AUX record, and so is the place where
// records are missing.
Status ThreadTraces::write_handovers(ThreadTrace& trace, std::uint64_t offset, std::uint64_t size) {
  std::uint64_t done = 0;
  std::uint64_t last_mark = 0;
  const std::uint64_t begin = trace.tail.begin();
  while (const AuxTail::Mark* next = trace.tail.next_mark(begin + size)) {
    const AuxTail::Mark mark = *next;
    trace.tail.take_mark();
    last_mark = mark.time;
    const std::uint64_t end = mark.place.position - begin;
    const bool lossy = mark.place.dropped != 0;
    if (end < done || (end == done && !lossy)) continue;
    const auto status = writer_.aux({.offset = offset + done,
                                     .size = end - done,
                                     .flags = lossy ? PERF_AUX_FLAG_TRUNCATED : 0u},
                                    {.pid = trace.pid, .tid = trace.tid, .time = mark.time});
    if (!status) return status;
    done = end;
  }
  // What is behind the last mark, and before the next.
  std::uint64_t time = trace.seen;
  if (const AuxTail::Mark* next = trace.tail.next_mark(~std::uint64_t{0}))
    time = std::min(time, next->time);
  return writer_.aux({.offset = offset + done, .size = size - done, .flags = 0},
                     {.pid = trace.pid, .tid = trace.tid, .time = std::max(last_mark, time)});
}

Status ThreadTraces::write_stacks(const ThreadTrace& trace, std::span<const std::uint8_t> bytes) {
  while (const auto stack = relay::take_stack(bytes)) {
    const perfdata::Stamp stamp{
        .pid = trace.pid, .tid = trace.tid, .time = rounds_.time_of(stack->sample.time)};
    const auto status = writer_.branch_stack(stack->sample.ip, stack->entries, stamp);
    if (!status) return status;
    sampled_ = true;
  }
  return {};
}

}  // namespace hodo::capture
