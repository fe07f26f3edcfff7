// One virtual processor's share of an attached recording: the trace of the thread that runs it, the
// guest's part of that, and its way into the file.
#pragma once

#include <cstdint>
#include <vector>

#include "attached_guest.h"
#include "guest_part.h"
#include "hodo/perfdata/writer.h"
#include "perf/perf_event_stream.h"

namespace hodo::capture {

class GuestStream {
 public:
  // `time`: how the file counts the guest's TSC. `guest`: shared by all processors; must outlive
  // the stream.
  GuestStream(PerfEventStream stream, std::uint32_t cpu, const flow::Config& timing,
              const perfdata::TimeConversion& time, AttachedGuest& guest)
      : stream_(std::move(stream)), cpu_(cpu), part_(timing), time_(time), guest_(guest) {}

  // Moves what there is to the file: everything with `last`, else where it is worth a record.
  Status drain(perfdata::Writer& writer, bool last);

  PerfEventStream& stream() { return stream_; }
  const PerfEventStream& stream() const { return stream_; }
  const GuestPart::Counts& counts() const { return part_.counts(); }
  std::uint64_t now() const { return time_.to_ns(part_.now()); }  // of the trace, in ns
  std::uint64_t bytes() const { return offset_; }  // of the guest's part that are in the file

 private:
  Status note_gaps(std::span<const std::uint8_t> records);
  void take(const AuxData& data);
  Status write_switches(perfdata::Writer& writer);
  Status write_trace(perfdata::Writer& writer);

  PerfEventStream stream_;
  std::uint32_t cpu_;
  GuestPart part_;
  perfdata::TimeConversion time_;
  AttachedGuest& guest_;
  std::vector<std::uint64_t> gaps_;   // offsets in the host's stream where bytes are missing
  std::vector<std::uint8_t> guests_;  // whole packets that are not in the file yet
  std::uint64_t offset_ = 0;
};

}  // namespace hodo::capture
