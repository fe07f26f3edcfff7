// An opened input of a reading command: a recording or a raw trace, ready to be decoded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/decoder.h"
#include "hodo/isa/insn.h"
#include "hodo/pt/packet.h"
#include "hodo/session/clock.h"
#include "hodo/session/facts.h"
#include "hodo/session/loss.h"
#include "hodo/session/names.h"
#include "hodo/session/options.h"
#include "hodo/session/records.h"
#include "hodo/session/regions.h"
#include "hodo/session/sink.h"

namespace hodo::session {

// One stream of trace data: of a thread (cpu -1), of a cpu (tid -1), or a raw file (both -1).
struct Queue {
  std::int32_t pid = -1;
  std::int32_t tid = -1;
  std::int32_t cpu = -1;
  std::uint64_t bytes = 0;
};

// Bytes done and in all, called now and then during long work. A function that returns false stops
// the work, which then ends with was_stopped(); one that returns nothing only listens.
class ProgressFunction {
 public:
  ProgressFunction() = default;
  template <class Function>
    requires std::is_invocable_v<Function&, std::uint64_t, std::uint64_t> &&
             (!std::is_same_v<std::remove_cvref_t<Function>, ProgressFunction>)
  ProgressFunction(Function function) {  // NOLINT(google-explicit-constructor): as std::function
    if constexpr (std::is_void_v<std::invoke_result_t<Function&, std::uint64_t, std::uint64_t>>) {
      tell_ = [function = std::move(function)](std::uint64_t done, std::uint64_t total) mutable {
        function(done, total);
        return true;
      };
    } else {
      tell_ = std::move(function);
    }
  }

  // False: stop. Nobody who listens wants to go on.
  [[nodiscard]] bool operator()(std::uint64_t done, std::uint64_t total) const {
    return !tell_ || tell_(done, total);
  }

 private:
  std::function<bool(std::uint64_t done, std::uint64_t total)> tell_;
};
// What work comes to that was stopped by its ProgressFunction: an error of code io.
std::unexpected<Error> was_stopped();

struct DecodeOptions {
  Selection selection;
  bool not_taken = false;  // conditional branches that fall through, too
  unsigned threads = 0;    // that decode Intel PT; 0: one per processor of ours. Same output
  ProgressFunction progress;
};

// What decoding came to.
struct Outcome {
  flow::Stats stats;                     // of all queues that were decoded
  std::vector<flow::Stats> queue_stats;  // one per queue; empty ones where it was not selected
  std::vector<LossLine> losses;          // of the input and of the decoding, by cause
  bool complete() const { return losses.empty(); }
};

// A packet where it lies in a queue's stream, or bytes that are none.
struct PacketAt {
  std::uint64_t offset = 0;
  std::span<const std::uint8_t> bytes;
  std::uint64_t ip = 0;  // tip*, fup: the address rebuilt from the last IP; 0: none was sent
  const pt::Packet* packet = nullptr;  // null: no packet; `error` says why
  std::string_view error;
};

class PacketSink {
 public:
  virtual ~PacketSink() = default;
  virtual void queue(std::uint32_t index, const Queue& queue) = 0;
  // Views are valid during the call. False stops.
  virtual bool packet(const PacketAt& packet) = 0;
  // `bytes` are missing before the next packet (0: nobody knows how many).
  virtual void gap(std::uint64_t bytes) = 0;
};

class Session {
 public:
  // Errors: of a recording io, not_permitted, not_found as the system says, unsupported, malformed,
  // truncated, no_space; of a raw trace as image::RegularFile and image::map_image. Their messages
  // name the file concerned.
  static Result<std::unique_ptr<Session>> open(const Options& options);

  virtual ~Session() = default;

  virtual const std::string& path() const = 0;
  virtual TraceKind trace() const = 0;
  // What a recording says beside its branches; null for a raw trace. Lives as long as the session.
  virtual const Facts* facts() const = 0;
  virtual Clock clock() const = 0;
  virtual std::span<const Queue> queues() const = 0;
  virtual const Names& names() const = 0;
  // Copies the code that `space` (Context::space) had at `address` at `time` (Branch::time) into
  // `out`, until it is full or unmapped memory begins. Gives the number of bytes copied.
  virtual std::size_t read_code(std::uint32_t space, std::uint64_t address, std::uint64_t time,
                                std::span<std::uint8_t> out) = 0;
  // The width of the code that `space` runs at `time`: that of the program that began last.
  virtual isa::Mode mode(std::uint32_t space, std::uint64_t time) = 0;
  // Null for a raw trace, which has images but no processes.
  virtual const Regions* regions() const { return nullptr; }
  // Losses that need no decoding to be known: damage, a recorder that died, records it dropped.
  virtual std::vector<LossLine> input_losses() const = 0;

  // Decodes queue after queue. unsupported: the input holds no branch trace; io, no_space: the
  // queue's bytes could not be put together; io: stopped by `progress`.
  virtual Result<Outcome> decode(const DecodeOptions& options, BranchSink& sink) = 0;
  // The same for users to whom the order and time of branches are nothing, and for those who only
  // want the outcome: several times faster where the trace is Intel PT of threads. Errors as
  // decode().
  virtual Result<Outcome> cover(const DecodeOptions& options, RunSink& sink);
  virtual Result<Outcome> count(const DecodeOptions& options);
  // The packets of all selected queues. Errors as decode().
  virtual Result<Outcome> packets(const DecodeOptions& options, PacketSink& sink) = 0;
  // The BTS records or branch stacks of a recording, as they lie there; and what the input has
  // lost, or has not as it was recorded, which is left out. Errors: io, truncated; unsupported: it
  // has none, or is a raw trace.
  virtual Result<std::vector<LossLine>> records(RecordSink& sink) const;

  // Of the kernel whose code was recorded, in the file's order.
  virtual std::vector<KernelSymbol> kernel_symbols() const { return {}; }
};

}  // namespace hodo::session
