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

// The branch records of a recording. Text: a line for each BTS record under a heading per queue;
// for a branch stack one for the sample and one for each entry, the newest first. json: an object
// for each record or stack.
std::unique_ptr<session::RecordSink> make_record_list(bool json, Output& out);

}  // namespace hodo::view
