// Packet lists in the formats of `hodo packets`.
#pragma once

#include <memory>

#include "hodo/session/session.h"
#include "hodo/view/output.h"
#include "hodo/view/style.h"

namespace hodo::view {

// text: "offset  bytes  packet" under a heading per queue; json: an object per line.
std::unique_ptr<session::PacketSink> make_packet_list(bool json, Output& out, const Style& style);

// Counts nothing and shows nothing, for those who only want the totals.
std::unique_ptr<session::PacketSink> make_packet_counter();

// "thread 12/34", "cpu 3", "raw trace".
std::string queue_label(const session::Queue& queue);

// The branch stacks of a recording's samples, which are all that files without a trace have: a line
// per sample, a line per entry, newest first. The number of stacks written.
std::uint64_t list_branch_stacks(const perfdata::Model& recording, bool json, Output& out);

// The BTS records of a recording as they lie in its buffers, a line each; null ones are padding and
// left out. Gives their number; with `out` null that is all. Errors: as perfdata::Model::bytes.
Result<std::uint64_t> list_bts_records(const perfdata::Model& recording, bool json, Output* out);

}  // namespace hodo::view
