#include <string>

#include "file_format.h"
#include "parse_common.h"

namespace hodo::perfdata {
namespace {

std::unexpected<Error> too_short(const RawRecord& raw) {
  return fail(ErrorCode::malformed,
              "a " + std::string(name(raw.type)) + " record is too short for what it says it holds",
              raw.offset);
}

}  // namespace

Layout layout_of(const perf_event_attr& attr) {
  return {.sample_type = attr.sample_type,
          .read_format = attr.read_format,
          .branch_sample_type = attr.branch_sample_type,
          .sample_regs_user = attr.sample_regs_user,
          .sample_regs_intr = attr.sample_regs_intr,
          .sample_id_all = attr.sample_id_all != 0};
}

Result<Record> parse(const RawRecord& raw, const Layout& layout) {
  Record out{.raw = raw, .id = {}, .body = Other{}};
  if (raw.bytes.size() < sizeof(RecordHeader)) return too_short(raw);
  auto payload = raw.bytes.subspan(sizeof(RecordHeader));
  const bool kernel = raw.type < RecordType::header_attr;
  if (kernel && raw.type != RecordType::sample) {
    const auto trailer = trailer_size(layout);
    if (trailer > payload.size()) return too_short(raw);
    FieldReader id(payload.last(trailer));
    out.id = parse_trailer(id, layout);
    payload = payload.first(payload.size() - trailer);
  }
  FieldReader in(payload);
  if (!kernel) {
    out.body = parse_tool_body(raw, in);
  } else if (raw.type == RecordType::sample) {
    Sample sample = parse_sample(in, layout);
    out.id = sample.id;
    out.body = sample;
  } else {
    out.body = parse_kernel_body(raw.type, raw.misc, in);
  }
  if (!in.ok()) return too_short(raw);
  return out;
}

}  // namespace hodo::perfdata
