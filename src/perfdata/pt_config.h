// PtConfig as AUXTRACE_INFO words and back.
#pragma once

#include "byte_writer.h"
#include "hodo/perfdata/model.h"

namespace hodo::perfdata {

// The payload of an Intel PT AUXTRACE_INFO record: type, reserved, words, filter.
ByteWriter auxtrace_info_payload(const PtConfig& config);

// That of an Intel BTS one.
ByteWriter bts_info_payload(const PtConfig& config);

// Words that an old perf did not write keep PtConfig's "the PMU does not have it". attr.config is
// not in here. malformed: too few words, or a filter longer than the record.
Result<PtConfig> pt_config_of(const AuxtraceInfo& info);

// Only the time conversion and the modes, which is all that Intel BTS has.
Result<PtConfig> bts_config_of(const AuxtraceInfo& info);

}  // namespace hodo::perfdata
