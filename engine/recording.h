// What a thread has of its recorder: a channel (hodo/relay/protocol.h), and what goes into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "clock.h"
#include "hodo/relay/protocol.h"
#include "thread_area.h"

namespace hodo::engine {

// Of a thread that begins: says who it is on `connection` (channel.h), closes that, and takes its
// channel. A thread without one runs untraced. Who makes a process makes its connection, so that
// the recorder knows of it before it runs.
void begin_recording(ThreadArea& area, long connection, relay::Start how, std::int32_t parent_pid,
                     std::int32_t parent_tid);
bool is_recorded(const ThreadArea& area);

// Sideband records, of that time.
void send_record(ThreadArea& area, std::uint64_t time, relay::RecordType type, const void* fixed,
                 std::size_t fixed_bytes, const void* payload, std::size_t payload_bytes);
template <class Fixed>
void send(ThreadArea& area, relay::RecordType type, const Fixed& fixed,
          const void* payload = nullptr, std::size_t bytes = 0, std::uint64_t time = now()) {
  send_record(area, time, type, &fixed, sizeof(fixed), payload, bytes);
}
// `who` runs, or will, without being recorded.
void send_native(ThreadArea& area, std::string_view who, std::string_view why);
// Why, after connect_recorder() has failed.
const char* why_unreachable(long error);
// Its name has changed.
void send_name(ThreadArea& area);

// The thread ends; with `end` its process does.
void end_recording(ThreadArea& area, const relay::EndRecord* end);

}  // namespace hodo::engine
