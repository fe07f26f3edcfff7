// Records the perf tool writes: tools/lib/perf/include/perf/event.h.
#include "file_format.h"
#include "parse_common.h"

namespace hodo::perfdata {
namespace {

AuxtraceInfo parse_auxtrace_info(FieldReader& in) {
  AuxtraceInfo out;
  out.type = in.u32();
  in.u32();
  out.bytes = in.rest();
  out.words = PackedArray<std::uint64_t>(out.bytes.first(out.bytes.size() / 8 * 8));
  return out;
}

Auxtrace parse_auxtrace(FieldReader& in, const RawRecord& raw) {
  const auto body = in.get<AuxtraceBody>();
  Auxtrace out;
  out.size = body.size;
  out.offset = body.offset;
  out.reference = body.reference;
  out.idx = body.idx;
  out.tid = body.tid;
  out.cpu = body.cpu;
  out.data_size = raw.trailing;
  out.data_offset = raw.offset + raw.bytes.size();
  out.sum_block = body.sum_block;
  out.sums_offset = raw.offset + sizeof(RecordHeader) + sizeof(AuxtraceBody);
  return out;
}

AuxtraceError parse_auxtrace_error(FieldReader& in) {
  AuxtraceError out;
  out.type = in.u32();
  out.code = in.u32();
  out.cpu = in.u32();
  out.pid = in.u32();
  out.tid = in.u32();
  const auto format = in.u32();
  out.ip = in.u64();
  if (format != 0) out.time = in.u64();  // format 0 (before Linux 5.1) had none
  out.message = FieldReader::c_string(in.take(std::min<std::size_t>(in.remaining(), 64)));
  return out;
}

TimeConv parse_time_conv(FieldReader& in) {
  TimeConv out;
  out.shift = in.u64();
  out.mult = in.u64();
  out.zero = in.u64();
  if (in.remaining() < 24) return out;  // before Linux 5.9
  out.cycles = in.u64();
  out.mask = in.u64();
  out.cap_user_time_zero = in.get<std::uint8_t>();
  out.cap_user_time_short = in.get<std::uint8_t>();
  return out;
}

HeaderAttr parse_header_attr(FieldReader& in) {
  // The attribute says its own size; the ids are what is left.
  FieldReader ahead = in;
  ahead.u32();
  const std::uint32_t size = ahead.u32();
  HeaderAttr out;
  out.attr = parse_attr(in.take(size == 0 ? std::uint32_t{PERF_ATTR_SIZE_VER0} : size));
  out.ids = in.array_rest<std::uint64_t>();
  return out;
}

HeaderBuildId parse_build_id(FieldReader& in, std::uint16_t misc) {
  HeaderBuildId out;
  out.pid = in.i32();
  out.build_id.bytes = in.get<std::array<std::uint8_t, 20>>();
  const auto size = in.get<std::uint8_t>();
  out.build_id.size = misc & kMiscBuildIdSize ? std::min<std::uint8_t>(size, 20) : 20;
  in.take(3);
  out.path = in.string_rest();
  return out;
}

}  // namespace

perf_event_attr parse_attr(std::span<const std::uint8_t> bytes) {
  perf_event_attr attr{};
  const auto known = bytes.first(std::min(bytes.size(), sizeof(attr)));
  if (!known.empty()) std::memcpy(&attr, known.data(), known.size());
  return attr;
}

Body parse_tool_body(const RawRecord& raw, FieldReader& in) {
  switch (raw.type) {
    case RecordType::auxtrace_info:
      return parse_auxtrace_info(in);
    case RecordType::auxtrace:
      return parse_auxtrace(in, raw);
    case RecordType::auxtrace_error:
      return parse_auxtrace_error(in);
    case RecordType::time_conv:
      return parse_time_conv(in);
    case RecordType::thread_map:
      return ThreadMap{in.array<ThreadMapEntry>(in.u64())};
    case RecordType::cpu_map: {
      const auto type = in.get<std::uint16_t>();
      return CpuMap{type, in.rest()};
    }
    case RecordType::id_index:
      return IdIndex{in.array<IdIndexEntry>(in.u64())};
    case RecordType::event_update: {
      const auto type = in.u64();
      const auto id = in.u64();
      return EventUpdate{type, id, in.rest()};
    }
    case RecordType::header_attr:
      return parse_header_attr(in);
    case RecordType::header_build_id:
      return parse_build_id(in, raw.misc);
    case RecordType::header_feature: {
      const auto feature = in.u64();
      return HeaderFeature{feature, in.rest()};
    }
    case RecordType::compressed:
      return Compressed{in.rest()};
    case RecordType::finished_round:
      return FinishedRound{};
    case RecordType::finished_init:
      return FinishedInit{};
    default:
      return Other{in.rest()};
  }
}

}  // namespace hodo::perfdata
