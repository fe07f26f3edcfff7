// Decoding a part of a recording without what came before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/flow/checkpoint.h"
#include "hodo/session/session.h"

namespace hodo::session {

class CheckpointSink : public BranchSink {
 public:
  // The queue could be gone on with from here; what was told before is all that lies before it.
  virtual void checkpoint(const Context& context, const flow::Checkpoint& checkpoint) = 0;
};

// Where decoding begins, and the offset in the queue's stream at whose next PSB it ends.
struct StreamPart {
  std::uint32_t queue = 0;               // index in Session::queues()
  std::optional<flow::Checkpoint> from;  // absent: the stream's beginning
  std::uint64_t until = ~std::uint64_t{0};
  bool input_losses = true;  // are told with those of the part
};

// Of a recording with Intel PT, one buffer for each thread.
class Parts {
 public:
  virtual ~Parts() = default;
  // As Session::decode, with checkpoints about every `spacing` bytes of a queue.
  virtual Result<Outcome> decode_marked(const DecodeOptions& options, std::size_t spacing,
                                        CheckpointSink& sink) = 0;
  // What Session::decode tells of that part. Reads no more of the trace than this. Errors as there;
  // malformed: it is no part of this recording.
  virtual Result<Outcome> decode_part(const StreamPart& part, const DecodeOptions& options,
                                      BranchSink& sink) = 0;
  // The files whose code the recording ran, where they lie, or would; empty for those that nobody
  // can find. In the recording's order.
  virtual std::vector<std::string> code_files() = 0;
};

// Null where the session is of another kind. Lives as long as the session.
Parts* parts_of(Session& session);

}  // namespace hodo::session
