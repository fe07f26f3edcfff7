// Where a thread's packets go: into its channel; without a recorder into a ring, and from there
// into a file if one was asked for; if nobody wants them, to nowhere.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "hodo/relay/channel.h"
#include "hodo/relay/tracer.h"
#include "hodo/unit/pt_unit.h"

namespace hodo::engine {

struct Output {
  unit::PtUnit* unit = nullptr;
  unit::PtRemains ignored = {};  // what the unit says of itself; inline packets are not in it
  // --- with a recorder: packets are written apart (relay::Unsealed) and copied into the channel,
  // so that nothing that the program does to the channel changes what is said of them. The unit
  // begins anew when kPackets are full, and writes less than as much again before it hands over.
  static constexpr std::uint64_t kPackets = 4 << 10;
  static_assert(2 * kPackets == sizeof(relay::Unsealed::packets));
  // Handing over less at a time costs more than what is handed over.
  static constexpr std::uint64_t kServiceBytes = 2 << 10;
  std::optional<relay::ChannelWriter> channel;
  std::unique_ptr<relay::Tracer> tracer;  // by blocks: instead of all that follows
  unit::StreamDigest digest;              // of the first `handed_over` bytes
  std::uint64_t handed_over = 0;
  std::uint64_t overflows_seen = 0;
  // --- without
  long file = -1;
  std::uint64_t drained = 0;
  std::uint8_t* ring = nullptr;  // mapped twice in a row
};

// `output` has to stay where it is; its channel is open, if there is one. A thread that is not the
// first writes to PATH.TID.
void start_unit(Output& output, unit::PtUnit& unit, const char* path, long tid);
// What has been written is the recorder's. `running`: more will come before this is called again.
// Waits up to `patience_ms` for room; how much there is.
std::uint64_t hand_over(Output& output, bool running, unsigned patience_ms);
// The unit begins to write what nobody has handed over yet.
void mark_running(Output& output);
// Writes all up to `written` to the file.
void drain_output(Output& output, std::uint64_t written);
// Hands over, and gives back what the thread had.
void close_output(Output& output);
// Gives it back only: of a process that has left this memory.
void give_back(Output& output);

}  // namespace hodo::engine
