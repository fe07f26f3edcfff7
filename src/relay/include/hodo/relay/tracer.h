// The trace unit of one traced thread, told of executed blocks: one of three, chosen when the
// recording begins.
//
// The hot path calls the unit itself through a pointer (UnitCallbacks in the plugin's
// program_recorder.h, block_calls.cc in the engine); a Tracer is what the rare events go through,
// and joins the unit to the thread's channel. Also part of the engine's image, which has no C
// library.
#pragma once

#include <cstdint>
#include <memory>

#include "hodo/relay/channel.h"
#include "hodo/unit/branch_walk.h"

namespace hodo::relay {

class Tracer {
 public:
  Tracer() = default;
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  virtual ~Tracer() = default;

  // What the block callbacks are called on: PtUnit, BranchWalk<BtsUnit> or BranchWalk<LbrUnit>.
  virtual void* unit() = 0;
  // The block that is executing; null outside of the program.
  virtual const unit::Block* current() const = 0;
  // Which is not null: it lies here from now on.
  virtual void move_current(const unit::Block* to) = 0;
  virtual bool counts_cycles() const { return false; }
  // The last block ended in a system call.
  virtual void leave_context() = 0;
  // A signal ends the program at `ip` (`faulted`: by the instruction there).
  virtual void interrupt(std::uint64_t ip, bool faulted) = 0;
  // Code is about to be reported to the recorder as new, or has been.
  virtual void before_new_code() {}
  virtual void after_new_code() {}
  // Everything recorded so far becomes visible to the recorder.
  virtual void publish() = 0;
};

// Nanoseconds of CLOCK_MONOTONIC.
using Clock = std::uint64_t (*)();

// Starts the unit that the channel's settings ask for. `channel` must outlive the tracer.
std::unique_ptr<Tracer> start_tracer(ChannelWriter& channel, isa::Mode mode,
                                     const unit::SignalQuery& signals, Clock clock);
std::unique_ptr<Tracer> start_pt(ChannelWriter& channel, isa::Mode mode,
                                 const unit::SignalQuery& signals, Clock clock);
std::unique_ptr<Tracer> start_bts(ChannelWriter& channel, const unit::SignalQuery& signals,
                                  Clock clock);
std::unique_ptr<Tracer> start_lbr(ChannelWriter& channel, const unit::SignalQuery& signals,
                                  Clock clock);

// How long a full buffer may hold the program up before data is dropped instead
// (ChannelWriter::publish_aux). Long enough for any recorder that is alive and not stopped.
inline constexpr unsigned kPatienceMs = 10'000;

}  // namespace hodo::relay
