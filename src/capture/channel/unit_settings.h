// What a user asked for, in the terms of the trace unit and of the file that describes it.
#pragma once

#include <string_view>

#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "hodo/capture/qemu_source.h"
#include "hodo/perfdata/model.h"
#include "hodo/relay/protocol.h"

namespace hodo::capture {

// IA32_RTIT_CTL for these options.
std::uint64_t rtit_ctl(const PtOptions& pt);

// The part of the trace unit that records, and its name in the plugin's options.
relay::Recording recording_of(SourceKind source);
std::string_view unit_name(relay::Recording recording);

// Errors: usage (too many filters, a path that is too long).
Result<relay::Settings> make_settings(const RecordOptions& options, const QemuInstallation& qemu);

// How a decoder has to read the trace: the unit's clock and registers.
perfdata::PtConfig make_pt_config(const RecordOptions& options);

}  // namespace hodo::capture
