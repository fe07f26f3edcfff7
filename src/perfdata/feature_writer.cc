#include "feature_writer.h"

#include <array>

#include "file_format.h"

namespace hodo::perfdata {
namespace {

constexpr std::size_t kNameAlign = 64;

// A string with its padded length in front.
void put_string(ByteWriter& out, std::string_view text) {
  out.u32(static_cast<std::uint32_t>((text.size() / kNameAlign + 1) * kNameAlign));
  out.string(text, kNameAlign);
}

std::uint8_t bit_of(Feature feature) { return static_cast<std::uint8_t>(feature); }

}  // namespace

void FeatureWriter::string(Feature feature, std::string_view text) {
  put_string(sections_[bit_of(feature)], text);
}

void FeatureWriter::word(Feature feature, std::uint64_t value) {
  sections_[bit_of(feature)].u64(value);
}

void FeatureWriter::bytes(Feature feature, std::span<const std::uint8_t> bytes) {
  sections_[bit_of(feature)].raw(bytes);
}

void FeatureWriter::cpus(std::uint32_t available, std::uint32_t online) {
  sections_[bit_of(Feature::nrcpus)].u32(available).u32(online);
}

void FeatureWriter::cmdline(const std::vector<std::string>& words) {
  auto& out = sections_[bit_of(Feature::cmdline)];
  out.u32(static_cast<std::uint32_t>(words.size()));
  for (const auto& word : words) put_string(out, word);
}

void FeatureWriter::events(const std::vector<Attr>& attrs) {
  auto& out = sections_[bit_of(Feature::event_desc)];
  out.u32(static_cast<std::uint32_t>(attrs.size())).u32(sizeof(perf_event_attr));
  for (const auto& attr : attrs) {
    out.put(attr.attr).u32(static_cast<std::uint32_t>(attr.ids.size()));
    put_string(out, attr.name);
    for (const auto id : attr.ids) out.u64(id);
  }
}

void FeatureWriter::pmus(const std::map<std::uint32_t, std::string>& names) {
  auto& out = sections_[bit_of(Feature::pmu_mappings)];
  out.u32(static_cast<std::uint32_t>(names.size()));
  for (const auto& [type, pmu] : names) {
    out.u32(type);
    put_string(out, pmu);
  }
}

void FeatureWriter::sample_time(SampleTime time) {
  sections_[bit_of(Feature::sample_time)].u64(time.first).u64(time.last);
}

void FeatureWriter::clock(const ClockData& clock) {
  constexpr std::uint32_t kVersion = 1;
  auto& out = sections_[bit_of(Feature::clock_data)];
  out.u32(kVersion).u32(clock.clockid).u64(clock.wall_clock_ns).u64(clock.clockid_ns);
}

void FeatureWriter::build_ids(const std::map<std::string, BuildId>& ids) {
  auto& out = sections_[bit_of(Feature::build_id)];
  for (const auto& [path, id] : ids) {
    const std::size_t size =
        sizeof(RecordHeader) + 28 + (path.size() / kNameAlign + 1) * kNameAlign;
    out.put(RecordHeader{static_cast<std::uint32_t>(RecordType::header_build_id),
                         PERF_RECORD_MISC_USER | kMiscBuildIdSize,
                         static_cast<std::uint16_t>(size)});
    out.i32(-1).put(id.bytes).u32(id.size).string(path, kNameAlign);
  }
}

void FeatureWriter::auxtrace_index(const std::vector<AuxtraceIndexEntry>& index) {
  auto& out = sections_[bit_of(Feature::auxtrace)];
  out.u64(index.size());
  for (const auto& entry : index) out.put(entry);
}

ByteWriter FeatureWriter::image(std::uint64_t file_offset) const {
  ByteWriter out;
  std::uint64_t at = file_offset + sections_.size() * sizeof(FileSection);
  for (const auto& [bit, section] : sections_) {
    out.put(FileSection{at, section.size()});
    at += section.size();
  }
  for (const auto& [bit, section] : sections_) out.raw(section.bytes());
  return out;
}

std::array<std::uint64_t, 4> FeatureWriter::mask() const {
  std::array<std::uint64_t, 4> out{};
  for (const auto& [bit, section] : sections_) out[bit / 64] |= std::uint64_t{1} << (bit % 64);
  return out;
}

}  // namespace hodo::perfdata
