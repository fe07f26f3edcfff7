// The kinds of trace that a perf event can have, each with all that sets it apart: its event, its
// buffers, and what a file says of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/capture/perf_attr.h"
#include "hodo/perfdata/writer.h"

namespace hodo::capture {

class PerfTrace {
 public:
  virtual ~PerfTrace() = default;
  virtual std::string_view name() const = 0;  // for messages: "Intel PT"
  virtual std::string_view word() const = 0;  // for programs: "pt"
  // Errors: as pt_event.
  virtual Result<TraceEvent> event(const EventScope& scope, std::uint32_t watermark) const = 0;
  // Errors: as filter_text.
  virtual Result<std::string> filter(std::span<const FilterRange> ranges) const {
    return filter_text({}, ranges);
  }
  // False: samples in the ring are all there is.
  virtual bool has_buffer() const { return true; }
  // See AuxSnapshot.
  virtual std::size_t reference_size() const { return 0; }
  // What the file says of the trace, which `event` and `filter` recorded.
  virtual void describe(perfdata::WriterOptions& file, const perf_event_attr& event,
                        const std::string& filter) const = 0;
};

// The processor's own trace of options.source: pt, which automatic means too, bts or lbr. Errors:
// unsupported, with the remedy: this machine has none of that kind, or no processor makes it; io,
// malformed: what the kernel says of it.
Result<std::unique_ptr<PerfTrace>> find_perf_trace(const RecordOptions& options,
                                                   const SystemPaths& paths);

}  // namespace hodo::capture
