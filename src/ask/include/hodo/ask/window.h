// A part of a session's path, for those who want no more than that.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"

namespace hodo::ask {

// What all members that are set allow. Branches between two moments are those that are executed on
// the way from the one to the other.
struct Window {
  std::optional<ThreadId> thread;        // of `from` and `to`
  std::uint64_t from = 0;                // branches of the thread with larger numbers than this
  std::uint64_t to = ~std::uint64_t{0};  // ... and no larger ones than this
  std::uint64_t from_time = 0;           // nanoseconds, both included, of every thread
  std::uint64_t to_time = ~std::uint64_t{0};
  std::optional<std::uint64_t> last;  // so many of each thread
  std::string function;               // while a call of it is open, with all that it calls
  std::string module;  // with an end in a file of this name, or whose path has this in it
  // What was lost where its ends were looked for by number: they may be others.
  std::vector<session::LossLine> losses{};

  bool everything() const {
    return !thread && from_time == 0 && to_time == ~std::uint64_t{0} && !last && function.empty() &&
           module.empty();
  }
};

struct WindowOptions {
  WalkOptions walk;
  // Where a stretch begins that follows no branch that was let through: a `begin` (kResync) says
  // so, as where a trace begins. For those who follow calls or count code.
  bool mark_gaps = false;
  const IndexedRecording* index = nullptr;  // of the session: what lies far before is not decoded
};

// Gives the branches in the window to `sink`, each thread's in their order. The outcome's numbers
// of instructions and branches are of them; those of bytes and packets, and the losses, are of all
// that was decoded, and the window's. Errors: as walk(); not_found for a function, module or thread
// that is nowhere in what was selected.
Result<session::Outcome> decode_window(session::Session& session, const Window& window,
                                       const WindowOptions& options, session::BranchSink& sink);

// Takes branches with their numbers among those of their thread, as moments count them; one that
// was not taken has that of the next one that is. Otherwise as session::BranchSink.
class NumberedSink {
 public:
  virtual ~NumberedSink() = default;
  virtual bool branches(const session::Context& who, std::span<const std::uint64_t> numbers,
                        std::span<const Branch> batch) = 0;
};
Result<session::Outcome> decode_window(session::Session& session, const Window& window,
                                       const WindowOptions& options, NumberedSink& sink);

// Hands branches on as runs of code, for coverage.
std::unique_ptr<session::BranchSink> as_runs(session::RunSink& sink);

}  // namespace hodo::ask
