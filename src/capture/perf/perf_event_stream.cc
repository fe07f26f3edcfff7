#include "perf_event_stream.h"

#include <unistd.h>
#include <x86intrin.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "perf_event_refusal.h"

namespace hodo::capture {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

// Memory is what the kernel refused, and less of it may do.
bool is_shortage(int reason) { return reason == EPERM || reason == EAGAIN || reason == ENOMEM; }

Status switched(const KernelResult<void>& done, std::string_view trace) {
  if (done) return {};
  return fail(ErrorCode::io, "cannot switch the event of " + std::string(trace) +
                                 " on or off: " + std::strerror(done.error()));
}

}  // namespace

Mapping::Mapping(Mapping&& other) noexcept
    : kernel_(other.kernel_), memory_(std::exchange(other.memory_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    reset();
    kernel_ = other.kernel_;
    memory_ = std::exchange(other.memory_, {});
  }
  return *this;
}

void Mapping::reset() {
  if (!memory_.empty()) kernel_->unmap(memory_);
  memory_ = {};
}

Result<PerfEventStream> PerfEventStream::open(Kernel& kernel, const SystemPaths& paths,
                                              const StreamSpec& spec, pid_t pid, int cpu,
                                              std::uint32_t index, std::span<const pid_t> others) {
  PerfEventStream stream;
  stream.kernel_ = &kernel;
  stream.cpu_ = cpu;
  stream.index_ = index;
  stream.snapshot_ = spec.snapshot;
  stream.has_aux_ = spec.aux;
  stream.trace_ = spec.trace;
  if (!spec.aux && spec.snapshot) stream.samples_ = SampleRing(spec.buffers.aux);

  // The trace event comes first: the AUX area belongs to the event that owns the ring.
  auto event = kernel.open_event(spec.event, pid, cpu);
  if (!event) return std::unexpected(open_refused(event.error(), paths, spec.trace));
  stream.event_ = std::move(*event);
  auto tracking = kernel.open_event(spec.tracking, pid, cpu);
  if (!tracking) return std::unexpected(open_refused(tracking.error(), paths, spec.trace));
  stream.tracking_ = std::move(*tracking);

  const auto event_id = kernel.event_id(stream.event_.get());
  const auto tracking_id = kernel.event_id(stream.tracking_.get());
  if (!event_id) return std::unexpected(open_refused(event_id.error(), paths, spec.trace));
  if (!tracking_id) return std::unexpected(open_refused(tracking_id.error(), paths, spec.trace));
  stream.event_id_ = *event_id;
  stream.tracking_id_ = *tracking_id;

  if (auto mapped = stream.map_buffers(paths, spec); !mapped) {
    return std::unexpected(mapped.error());
  }
  if (auto joined = kernel.set_output(stream.tracking_.get(), stream.event_.get()); !joined) {
    return std::unexpected(open_refused(joined.error(), paths, spec.trace));
  }
  if (!spec.filter.empty()) {
    if (auto set = kernel.set_filter(stream.event_.get(), spec.filter.c_str()); !set) {
      return std::unexpected(filter_refused(set.error(), spec.filter));
    }
  }
  for (const pid_t other : others) {
    if (Status joined = stream.join(paths, spec, other); !joined) {
      return std::unexpected(joined.error());
    }
  }
  const auto aux = stream.aux_memory_.memory();
  if (!spec.aux) return stream;
  if (spec.snapshot) {
    stream.newest_ = AuxSnapshot(stream.page_, aux, spec.reference_size);
  } else {
    stream.aux_ = AuxRing(stream.page_, aux);
  }
  return stream;
}

// Events of another thread on the same processor may share a ring with an AUX area: kernel/events/
// core.c, perf_event_set_output().
Status PerfEventStream::join(const SystemPaths& paths, const StreamSpec& spec, pid_t other) {
  OtherEvents made;
  for (const auto& [attr, fd, id] :
       {std::tuple{&spec.event, &made.event, &made.event_id},
        std::tuple{&spec.tracking, &made.tracking, &made.tracking_id}}) {
    auto event = kernel_->open_event(*attr, other, cpu_);
    if (!event && event.error() == ESRCH) return {};
    if (!event) return std::unexpected(open_refused(event.error(), paths, trace_));
    *fd = std::move(*event);
    const auto got = kernel_->event_id(fd->get());
    if (!got) return std::unexpected(open_refused(got.error(), paths, trace_));
    *id = *got;
    if (auto joined = kernel_->set_output(fd->get(), event_.get()); !joined) {
      return std::unexpected(open_refused(joined.error(), paths, trace_));
    }
  }
  if (!spec.filter.empty()) {
    if (auto set = kernel_->set_filter(made.event.get(), spec.filter.c_str()); !set) {
      return std::unexpected(filter_refused(set.error(), spec.filter));
    }
  }
  others_.push_back(std::move(made));
  return {};
}

Status PerfEventStream::map_buffers(const SystemPaths& paths, const StreamSpec& spec) {
  BufferPlan plan = spec.buffers;
  for (;;) {
    // Mapping the area read-only is what asks the kernel to overwrite it.
    const auto mapped = try_map(plan, !spec.snapshot);
    if (mapped) return {};
    if (!spec.shrink || !is_shortage(mapped.error()) || plan.aux / 2 < kMinAux) {
      return std::unexpected(map_refused(mapped.error(), paths));
    }
    plan.aux /= 2;
    if (plan.data > 8 * page_size()) plan.data /= 2;
  }
}

KernelResult<void> PerfEventStream::try_map(const BufferPlan& plan, bool writable) {
  const std::size_t page = page_size();
  aux_memory_ = {};
  auto ring = kernel_->map(event_.get(), page + plan.data, 0, true);
  if (!ring) return std::unexpected(ring.error());
  ring_memory_ = Mapping(*kernel_, *ring);
  page_ = reinterpret_cast<perf_event_mmap_page*>(ring->data());
  ring_ = DataRing(page_, ring->subspan(page, plan.data));
  if (!has_aux_) return {};
  page_->aux_offset = page + plan.data;
  page_->aux_size = plan.aux;
  auto aux = kernel_->map(event_.get(), plan.aux, page_->aux_offset, writable);
  if (!aux) {
    ring_memory_ = {};
    return std::unexpected(aux.error());
  }
  aux_memory_ = Mapping(*kernel_, *aux);
  return {};
}

// The kernel updates these fields under a sequence lock (perf_event_mmap_page::lock).
perfdata::TimeConversion PerfEventStream::time() const {
  perfdata::TimeConversion time;
  std::atomic_ref<__u32> lock(page_->lock);
  std::uint32_t sequence = 0;
  do {
    sequence = lock.load(std::memory_order_acquire);
    time.shift = page_->time_shift;
    time.mult = page_->time_mult;
    time.zero = page_->time_zero;
    time.valid = page_->cap_user_time_zero && page_->time_mult != 0;
    std::atomic_thread_fence(std::memory_order_acquire);
  } while ((sequence & 1) != 0 || lock.load(std::memory_order_relaxed) != sequence);
  return time;
}

Result<bool> PerfEventStream::drain(perfdata::Writer& writer, bool last) {
  return drain(
      [&](std::span<const std::uint8_t> bytes) {
        return has_aux_ ? writer.raw(bytes) : write_samples(writer, bytes);
      },
      [&](const AuxData& data) { return write(writer, data, __rdtsc()); }, last);
}

Result<bool> PerfEventStream::drain(const DataRing::Sink& records, const TraceSink& trace,
                                    bool last) {
  const std::uint64_t before = ring_.counts().bytes;
  const Status taken = ring_.drain(records);
  if (!taken) return std::unexpected(taken.error());
  const bool any = ring_.counts().bytes != before;
  if (snapshot_ || !has_aux_) return any;

  const AuxData data = aux_.peek(!last);
  if (data.size() != 0) {
    if (auto written = trace(data); !written) return std::unexpected(written.error());
    aux_.release(data);
  }
  // Where the area was full the kernel disables the event and waits to be told that there is room
  // again. It does so a moment after it said that the area is full (ring_buffer.c,
  // perf_aux_output_end: pending_disable), when all may have been taken already: from then on it
  // is told in every round. Elsewhere this changes nothing.
  if (!last && (data.size() != 0 || ring_.counts().aux_truncated != 0)) {
    if (auto enabled = enable(); !enabled) return std::unexpected(enabled.error());
  }
  return any || data.size() != 0;
}

// Samples are the trace of what has no AUX area: a snapshot keeps the newest.
Status PerfEventStream::write_samples(perfdata::Writer& writer,
                                      std::span<const std::uint8_t> records) {
  trace_bytes_ += sample_bytes(records);
  return snapshot_ ? samples_.take(records, writer) : writer.raw(records);
}

Status PerfEventStream::snapshot(perfdata::Writer& writer, std::uint64_t reference) {
  if (!has_aux_) return samples_.write(writer);
  const AuxData data = newest_.take();
  return data.size() == 0 ? Status() : write(writer, data, reference);
}

Status PerfEventStream::write(perfdata::Writer& writer, const AuxData& data,
                              std::uint64_t reference) {
  perfdata::Auxtrace where;
  where.offset = data.offset;
  where.reference = reference;
  where.idx = index_;
  where.cpu = cpu_;
  if (auto written = writer.auxtrace(where, data.parts); !written) return written;
  trace_bytes_ += data.size();
  return {};
}

Status PerfEventStream::each_event(KernelResult<void> (Kernel::*change)(int), bool tracking) {
  Status done = switched((kernel_->*change)(tracking ? tracking_.get() : event_.get()), trace_);
  for (const OtherEvents& other : others_) {
    const Status one =
        switched((kernel_->*change)((tracking ? other.tracking : other.event).get()), trace_);
    if (done) done = one;
  }
  return done;
}

Status PerfEventStream::enable() { return each_event(&Kernel::enable, false); }
Status PerfEventStream::disable() { return each_event(&Kernel::disable, false); }
Status PerfEventStream::disable_tracking() { return each_event(&Kernel::disable, true); }

}  // namespace hodo::capture
