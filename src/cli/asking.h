// What the commands that ask about moments share.
#pragma once

#include <string>

#include "hodo/serve/asking.h"
#include "hodo/view/progress.h"
#include "reading.h"

namespace hodo::cli {

using serve::WindowInput;
// --at, --around, --from, --to, --last, --call, --function, and --module where a command has none
// of its own; `to` is another name for --to.
void add_window_options(const OptionSet& app, WindowInput& input, bool module = true,
                        const std::string& to = "--to");
// Errors: usage for what contradicts itself; as ask::find_moment.
Result<ask::Window> window_of(session::Session& session, const ReadingOptions& options,
                              const WindowInput& input, view::Progress& progress);

// To find moments with. `progress` must outlive it.
ask::FindOptions find_options(session::Session& session, const ReadingOptions& options,
                              view::Progress& progress);
session::ProgressFunction told_to(view::Progress& progress);

}  // namespace hodo::cli
