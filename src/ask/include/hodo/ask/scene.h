// What a moment looks like: the open calls, the branches around it, and where one can go from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hodo/analyze/open_calls.h"
#include "hodo/ask/code.h"
#include "hodo/ask/index.h"
#include "hodo/ask/moment.h"
#include "hodo/ask/walk.h"
#include "hodo/flow/branch.h"

namespace hodo::ask {

// A branch with who executed it.
struct Passed {
  Branch branch;
  session::Context who;
  std::size_t depth = 0;  // open calls behind it
};

// A function that has been called and has not returned.
struct OpenFrame {
  std::string name;      // raw; "[ls+0x4f30]" without a symbol
  std::string object;    // path, raw
  std::uint64_t at = 0;  // where it stands: the next instruction, or the call that it waits for
  std::uint64_t at_time = 0;       // when it came there, trace clock
  Moment entered;                  // before its first instruction; of the thread that entered it
  std::uint64_t entry_time = 0;    // nanoseconds; 0: unknown
  std::uint64_t instructions = 0;  // executed since, with what it called
  analyze::CallEntry how = analyze::CallEntry::first;
};

struct Scene {
  Moment moment;
  session::Context who;
  std::uint64_t time = 0;     // trace clock, of the branch before; 0: unknown
  std::uint64_t ran = 0;      // instructions of the thread before the moment
  std::uint64_t address = 0;  // of the next instruction; 0: the path is not known here
  // The path was broken off here, and the code comes back here without a packet: the path is the
  // shortest one that fits, with no call that was made on the way round.
  bool goes_round = false;
  std::vector<Passed> before;    // the last branches, oldest first: the last one is moment.branch
  std::vector<Passed> after;     // those that follow
  std::vector<OpenFrame> calls;  // innermost first
  std::uint64_t last_loss = 0;   // number of the last `lost` before the moment; 0: none
  std::vector<session::LossLine> losses;  // of the input, and of what was decoded for this
  bool ends = false;                      // `after` goes to the end of the thread's path

  // Where one comes to by following or tracing back calls; absent: nowhere within the reach.
  std::optional<Moment> call_before, call_after;      // entered a function
  std::optional<Moment> return_before, return_after;  // came back from one
  std::optional<Moment> out_before;                   // where the innermost open call was made
  std::optional<Moment> out_after;                    // behind its end
};

struct SceneOptions {
  std::size_t before = 16;  // branches
  std::size_t after = 16;
  std::uint64_t reach = std::uint64_t{1} << 20;  // branches that out_after is looked for in
  session::ProgressFunction progress;
  const IndexedRecording* index = nullptr;  // of the session: what lies far before is not decoded
  // Of a forked process, the calls of its parent that it began with and has not left are among the
  // open ones, where the fork is found: these were entered at moments of the parent.
  bool inherited = false;
};

// Errors: as walk(); not_found where the recording has no such moment, with what there is.
Result<Scene> scene_at(session::Session& session, const Moment& moment,
                       const SceneOptions& options);

// An instruction that the path came to, with its moment.
struct Step {
  Moment moment;
  std::uint64_t address = 0;
  std::uint64_t time = 0;  // trace clock
  session::Context who;
  std::size_t depth = 0;  // open calls
  bool executed = true;   // false: the path came to it and something else happened there
  bool lost = false;      // the path is lost there, so that it may have been executed all the same
};

// The instructions of a scene in order, as far as their code is known; at most `most` on either
// side of the moment.
std::vector<Step> steps_of(const Scene& scene, Code& code, std::size_t most);

}  // namespace hodo::ask
