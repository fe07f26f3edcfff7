// A recording that is still being written.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "hodo/base/result.h"
#include "hodo/session/loss.h"
#include "hodo/session/session.h"

namespace hodo::session {

// Decodes an Intel PT recording with a buffer for each thread, as it grows. What is handed on is
// what Session::decode gives of the finished file, in other batches: those of one thread in their
// order, those of different threads as they come.
class Growing {
 public:
  // Errors: as Session::open, which may be different a moment later, while the file is begun;
  // unsupported for a trace of another kind, or of processors.
  static Result<std::unique_ptr<Growing>> open(const std::string& path);
  virtual ~Growing() = default;

  // Looks at the file again. True if session() is another one now: spaces, generations and regions
  // of the one before mean nothing to it. Errors: as Session::open.
  virtual Result<bool> refresh() = 0;
  // What is known of processes and mappings. Lives until the next refresh().
  virtual Session& session() = 0;
  // Hands on what was in the file at the refresh before the last one: what is needed to decode it
  // has been written since. False: `sink` wants no more.
  virtual Result<bool> decode(BranchSink& sink) = 0;
  // The same with everything that is there, as the end.
  virtual Result<bool> finish(BranchSink& sink) = 0;
  // Of the file at the last refresh, and of the decoding so far.
  virtual std::vector<LossLine> losses() const = 0;
};

}  // namespace hodo::session
