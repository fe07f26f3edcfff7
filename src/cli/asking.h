// What the commands that ask about moments share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "hodo/ask/find.h"
#include "hodo/ask/window.h"
#include "hodo/session/ends.h"
#include "hodo/view/progress.h"
#include "reading.h"

namespace hodo::cli {

// The part of the path that a command is to look at, as typed.
struct WindowInput {
  std::string at, from, to;  // moments
  std::uint64_t around = 0;  // branches on either side of `at`; 0: not given
  std::uint64_t last = 0;    // 0: not given
  std::string call;          // "parse#17"
  std::string function;
  std::string module;
};
// --at, --around, --from, --to, --last, --call, --function, and --module where a command has none
// of its own; `to` is another name for --to.
void add_window_options(const OptionSet& app, WindowInput& input, bool module = true,
                        const std::string& to = "--to");
// Errors: usage for what contradicts itself; as ask::find_moment.
Result<ask::Window> window_of(session::Session& session, const ReadingOptions& options,
                              const WindowInput& input, view::Progress& progress);

// How the processes of a recording ended; empty where nobody knows.
std::vector<session::ProcessEnd> ends_of(const session::Session& session);

// To find moments with. `progress` must outlive it.
ask::FindOptions find_options(session::Session& session, const ReadingOptions& options,
                              view::Progress& progress);
session::ProgressFunction told_to(view::Progress& progress);

}  // namespace hodo::cli
