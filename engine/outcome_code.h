// Outcomes of conditional branches, as code in the cache keeps them: in R11, the newest lowest,
// under a stop bit.
#pragma once

#include <cstdint>

#include "arena.h"
#include "emitter.h"
#include "translate.h"

namespace hodo::engine {

// Not taken `zeros` times, then taken once if `one`, without touching flags.
void shift_in(Emitter& out, unsigned zeros, bool one);
// The same on the way to `target`, where flags may be free; nothing where tracing is by blocks.
void append_outcomes(Emitter& out, unsigned zeros, bool one, std::uint64_t target);

Flush* make_flush(std::uint64_t ip);
// Asks the engine's C++ code for `what`, an Exit or a Flush.
void request(Emitter& out, const Arena& arena, const void* what, Glue glue);

// At a fragment's head: writes the pending outcomes out if there are 31 or more.
class RoomCode {
 public:
  RoomCode(Emitter& hot, Emitter& cold, const Arena& arena)
      : hot_(hot), cold_(cold), arena_(arena) {}

  void look(std::uint64_t ip);
  // What the look put off, behind the fragment.
  void finish();

 private:
  void look_keeping_flags(Flush* flush);

  Emitter& hot_;
  Emitter& cold_;
  const Arena& arena_;
  std::uint8_t* full_ = nullptr;         // where the head leads with too many outcomes
  std::uint8_t* behind_look_ = nullptr;  // and where it goes on
};

}  // namespace hodo::engine
