#include "sample_ring.h"

#include <linux/perf_event.h>

#include <cstring>

namespace hodo::capture {
namespace {

// Calls use(record, header) for each record until that gives an error.
template <class Use>
Status each_record(std::span<const std::uint8_t> records, Use use) {
  while (records.size() >= sizeof(perf_event_header)) {
    perf_event_header header{};
    std::memcpy(&header, records.data(), sizeof(header));
    if (header.size < sizeof(header) || header.size > records.size()) break;  // DataRing hands none
    if (Status status = use(records.first(header.size), header); !status) return status;
    records = records.subspan(header.size);
  }
  return {};
}

}  // namespace

std::uint64_t sample_bytes(std::span<const std::uint8_t> records) {
  std::uint64_t bytes = 0;
  (void)each_record(records, [&](auto record, const perf_event_header& header) -> Status {
    if (header.type == PERF_RECORD_SAMPLE) bytes += record.size();
    return {};
  });
  return bytes;
}

Status SampleRing::take(std::span<const std::uint8_t> records, perfdata::Writer& writer) {
  return each_record(records, [&](auto record, const perf_event_header& header) -> Status {
    if (header.type != PERF_RECORD_SAMPLE) return writer.raw(record);
    samples_.emplace_back(record.begin(), record.end());
    size_ += record.size();
    while (size_ > capacity_) {
      size_ -= samples_.front().size();
      samples_.pop_front();
    }
    return {};
  });
}

Status SampleRing::write(perfdata::Writer& writer) {
  for (const auto& sample : samples_) {
    if (Status status = writer.raw(sample); !status) return status;
  }
  samples_.clear();
  size_ = 0;
  return {};
}

}  // namespace hodo::capture
