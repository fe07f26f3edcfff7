#include "guest_stream.h"

#include <algorithm>
#include <array>

#include "hodo/base/byte_reader.h"

namespace hodo::capture {
namespace {

// Less than this waits for more.
constexpr std::size_t kWorthARecord = 64 * 1024;

}  // namespace

Status GuestStream::drain(perfdata::Writer& writer, bool last) {
  const auto drained = stream_.drain([&](auto records) { return note_gaps(records); },
                                     [&](const AuxData& data) {
                                       take(data);
                                       return Status();
                                     },
                                     last);
  if (!drained) return std::unexpected(drained.error());
  if (auto written = write_switches(writer); !written) return written;
  if (guests_.empty() || (!last && guests_.size() < kWorthARecord)) return {};
  return write_trace(writer);
}

// Of the kernel's records only those count that say where trace was lost: offsets in the others are
// those of the host's stream, which is not what the file has.
Status GuestStream::note_gaps(std::span<const std::uint8_t> records) {
  ByteReader in(records);
  while (const auto header = in.read<perf_event_header>()) {
    if (header->size < sizeof(*header)) break;
    const auto body = in.take(header->size - sizeof(*header));
    if (!body) break;
    if (header->type != PERF_RECORD_AUX) continue;
    const auto aux = ByteReader(*body).read<std::array<std::uint64_t, 3>>();
    if (!aux) continue;
    const auto [offset, size, flags] = *aux;
    if ((flags & PERF_AUX_FLAG_TRUNCATED) != 0) gaps_.push_back(offset + size);
  }
  return {};
}

void GuestStream::take(const AuxData& data) {
  std::uint64_t at = data.offset;
  for (std::span<const std::uint8_t> bytes : data.parts) {
    for (;;) {
      const auto gap = std::ranges::find_if(
          gaps_, [&](std::uint64_t offset) { return offset - at <= bytes.size(); });
      if (gap == gaps_.end()) break;
      const auto before = static_cast<std::size_t>(*gap - at);
      gaps_.erase(gap);
      part_.feed(bytes.first(before), guests_);
      part_.gap(guests_);
      at += before;
      bytes = bytes.subspan(before);
    }
    part_.feed(bytes, guests_);
    at += bytes.size();
  }
  std::erase_if(gaps_, [&](std::uint64_t offset) { return offset < at; });
}

Status GuestStream::write_switches(perfdata::Writer& writer) {
  for (const auto& [time, cr3] : part_.take_switches()) {
    perfdata::Stamp stamp{.time = time_.to_ns(time), .cpu = cpu_};
    const auto process = guest_.process_of(cr3, stamp, writer);
    if (!process) return std::unexpected(process.error());
    stamp.pid = stamp.tid = *process;
    if (auto written = writer.switch_({.out = false}, stamp); !written) return written;
  }
  return {};
}

Status GuestStream::write_trace(perfdata::Writer& writer) {
  const std::uint64_t padded = writer.auxtrace_size(guests_.size());
  const perfdata::Stamp stamp{.pid = -1, .tid = -1, .time = now(), .cpu = cpu_};
  auto status = writer.aux({.offset = offset_, .size = padded, .flags = 0}, stamp);
  if (!status) return status;
  const std::array<std::span<const std::uint8_t>, 1> pieces = {guests_};
  const perfdata::Auxtrace where{.offset = offset_,
                                 .reference = std::max<std::uint64_t>(part_.now(), 1),
                                 .idx = cpu_,
                                 .tid = -1,
                                 .cpu = static_cast<std::int32_t>(cpu_)};
  status = writer.auxtrace(where, pieces);
  offset_ += padded;
  guests_.clear();
  return status;
}

}  // namespace hodo::capture
