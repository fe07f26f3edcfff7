// The feature sections (tools/perf/util/header.c, the process_* functions). A section that breaks
// off gives what it has up to there.
#include <string>

#include "parse_common.h"
#include "reader_impl.h"

namespace hodo::perfdata {
namespace {

// A length, then that many bytes: a NUL-terminated string and its padding.
std::string string_field(FieldReader& in) {
  return std::string(FieldReader::c_string(in.take(in.u32())));
}

std::vector<std::string> cmdline(FieldReader& in) {
  std::vector<std::string> out;
  const auto count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    auto word = string_field(in);
    if (in.ok()) out.push_back(std::move(word));
  }
  return out;
}

// Records of their own: a header, pid, build-id, file name.
std::vector<FileBuildId> build_ids(FieldReader& in) {
  std::vector<FileBuildId> out;
  while (in.remaining() >= sizeof(RecordHeader)) {
    FieldReader ahead = in;
    const auto header = ahead.get<RecordHeader>();
    if (header.size < sizeof(header)) break;
    RawRecord raw{.type = RecordType::header_build_id, .misc = header.misc};
    raw.bytes = in.take(header.size);
    const auto record = parse(raw, {});
    if (!in.ok() || !record) break;
    const auto& entry = std::get<HeaderBuildId>(record->body);
    out.push_back({std::string(entry.path), entry.build_id, entry.pid, header.misc});
  }
  return out;
}

// Only the names are wanted; the attributes are known from the header. Events are matched by their
// ids, by their place where they have none.
void event_desc(FieldReader& in, AttrTable& attrs) {
  const auto events = in.u32();
  const auto attr_size = in.u32();
  for (std::uint32_t i = 0; i < events && in.ok(); ++i) {
    in.take(attr_size);
    const auto ids = in.u32();
    auto event_name = string_field(in);
    const auto list = in.array<std::uint64_t>(ids);
    if (!in.ok()) return;
    if (list.empty()) {
      attrs.set_name_at(i, std::move(event_name));
    } else {
      attrs.set_name(list[0], std::move(event_name));
    }
  }
}

std::map<std::uint32_t, std::string> pmu_mappings(FieldReader& in) {
  std::map<std::uint32_t, std::string> out;
  const auto count = in.u32();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const auto type = in.u32();
    auto pmu = string_field(in);
    if (in.ok()) out.emplace(type, std::move(pmu));
  }
  return out;
}

std::optional<ClockData> clock_data(FieldReader& in) {
  const auto version = in.u32();
  ClockData out;
  out.clockid = in.u32();
  out.wall_clock_ns = in.u64();
  out.clockid_ns = in.u64();
  if (!in.ok() || version != 1) return std::nullopt;
  return out;
}

std::optional<std::uint64_t> word(FieldReader& in) {
  const auto value = in.u64();
  return in.ok() ? std::optional(value) : std::nullopt;
}

}  // namespace

void read_feature(std::uint8_t feature, std::span<const std::uint8_t> section, FileFacts& facts,
                  AttrTable& attrs) {
  facts.sections[feature] = section;
  FieldReader in(section);
  switch (static_cast<Feature>(feature)) {
    case Feature::build_id:
      facts.build_ids = build_ids(in);
      break;
    case Feature::hostname:
      facts.hostname = string_field(in);
      break;
    case Feature::osrelease:
      facts.osrelease = string_field(in);
      break;
    case Feature::version:
      facts.version = string_field(in);
      break;
    case Feature::arch:
      facts.arch = string_field(in);
      break;
    case Feature::cpudesc:
      facts.cpudesc = string_field(in);
      break;
    case Feature::cpuid:
      facts.cpuid = string_field(in);
      break;
    case Feature::nrcpus: {
      const auto available = in.u32();
      const auto online = in.u32();
      if (!in.ok()) break;
      facts.cpus_available = available;
      facts.cpus_online = online;
      break;
    }
    case Feature::total_mem:
      facts.total_mem_kib = word(in);
      break;
    case Feature::cmdline:
      facts.cmdline = cmdline(in);
      break;
    case Feature::event_desc:
      event_desc(in, attrs);
      break;
    case Feature::pmu_mappings:
      facts.pmus = pmu_mappings(in);
      break;
    case Feature::sample_time: {
      const auto first = in.u64();
      const auto last = in.u64();
      if (in.ok()) facts.sample_time = SampleTime{first, last};
      break;
    }
    case Feature::records_sum:
      if (in.remaining() >= sizeof(std::uint32_t)) facts.records_sum = in.u32();
      break;
    case Feature::clockid:
      facts.clock_resolution_ns = word(in);
      break;
    case Feature::clock_data:
      facts.clock = clock_data(in);
      break;
    default:
      break;
  }
}

}  // namespace hodo::perfdata
