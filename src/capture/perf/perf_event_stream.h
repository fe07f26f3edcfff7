// One processor's share of a recording: its two events, its ring and, where it has one, its AUX
// area.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/capture/fd.h"
#include "hodo/capture/kernel.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/writer.h"
#include "perf_event_limits.h"
#include "ring.h"
#include "sample_ring.h"

namespace hodo::capture {

// Memory shared with the kernel, unmapped at the end.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Kernel& kernel, std::span<std::uint8_t> memory) : kernel_(&kernel), memory_(memory) {}
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping() { reset(); }
  std::span<std::uint8_t> memory() const { return memory_; }

 private:
  void reset();
  Kernel* kernel_ = nullptr;
  std::span<std::uint8_t> memory_;
};

struct StreamSpec {
  std::string_view trace = "Intel PT";  // for messages
  perf_event_attr event = {};           // the trace
  perf_event_attr tracking = {};
  std::string filter;
  BufferPlan buffers;
  bool shrink = false;  // smaller buffers are acceptable where memory is short
  bool aux = true;      // false: samples in the ring are all there is
  bool snapshot = false;
  std::size_t reference_size = 0;  // see AuxSnapshot
};

class PerfEventStream {
 public:
  // Opens the events of process `pid` on `cpu` (-1: of that thread, wherever it runs) and maps the
  // buffers; tracing begins as spec.event says. Events of `others` go into the same buffers; those
  // that have ended meanwhile are left out. Errors as open_refused, map_refused and
  // filter_refused give them.
  static Result<PerfEventStream> open(Kernel& kernel, const SystemPaths& paths,
                                      const StreamSpec& spec, pid_t pid, int cpu,
                                      std::uint32_t index, std::span<const pid_t> others = {});

  int poll_fd() const { return event_.get(); }
  std::uint64_t event_id() const { return event_id_; }
  std::uint64_t tracking_id() const { return tracking_id_; }
  // Of `others`.
  struct OtherEvents {
    Fd event, tracking;
    std::uint64_t event_id = 0, tracking_id = 0;
  };
  std::span<const OtherEvents> others() const { return others_; }
  perfdata::TimeConversion time() const;

  // Moves what is in the ring, and in full-trace mode in the AUX area, to the file. True if there
  // was anything. `last`: the events are disabled; take even what does not fill a word.
  Result<bool> drain(perfdata::Writer& writer, bool last);
  // The same to those who write the file themselves: first all records, then the trace.
  using TraceSink = std::function<Status(const AuxData&)>;
  Result<bool> drain(const DataRing::Sink& records, const TraceSink& trace, bool last);
  // Snapshot mode: writes the newest part of the trace. The events must be disabled. `reference`:
  // the TSC now, the same for all processors.
  Status snapshot(perfdata::Writer& writer, std::uint64_t reference);

  // Tracing itself; the tracking event is on until disable_tracking().
  // Errors: io.
  Status enable();
  Status disable();
  Status disable_tracking();

  const RingCounts& counts() const { return ring_.counts(); }
  std::uint64_t trace_bytes() const { return trace_bytes_; }
  std::size_t aux_size() const { return aux_memory_.memory().size(); }

 private:
  Status join(const SystemPaths& paths, const StreamSpec& spec, pid_t other);
  Status each_event(KernelResult<void> (Kernel::*change)(int), bool tracking);
  Status map_buffers(const SystemPaths& paths, const StreamSpec& spec);
  KernelResult<void> try_map(const BufferPlan& plan, bool writable);
  Status write(perfdata::Writer& writer, const AuxData& data, std::uint64_t reference);
  Status write_samples(perfdata::Writer& writer, std::span<const std::uint8_t> records);

  Kernel* kernel_ = nullptr;
  int cpu_ = -1;
  std::uint32_t index_ = 0;
  std::string_view trace_;
  Fd event_;
  Fd tracking_;
  std::uint64_t event_id_ = 0;
  std::uint64_t tracking_id_ = 0;
  std::vector<OtherEvents> others_;
  Mapping ring_memory_;
  Mapping aux_memory_;
  perf_event_mmap_page* page_ = nullptr;
  DataRing ring_;
  AuxRing aux_;
  AuxSnapshot newest_;
  SampleRing samples_;  // snapshots of what has no AUX area
  bool has_aux_ = true;
  bool snapshot_ = false;
  std::uint64_t trace_bytes_ = 0;
};

}  // namespace hodo::capture
