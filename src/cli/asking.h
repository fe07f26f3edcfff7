// What the commands that ask about moments share.
#pragma once

#include <memory>
#include <string>

#include "hodo/serve/asking.h"
#include "hodo/view/progress.h"
#include "reading.h"

namespace hodo::cli {

using serve::WindowInput;
// --at, --around, --from, --to, --last, --call, --function, --no-index, and --module where a
// command has none of its own; `to` is another name for --to.
void add_window_options(const OptionSet& app, ReadingOptions& options, WindowInput& input,
                        bool module = true, const std::string& to = "--to");
// --no-index.
void add_index_option(const OptionSet& app, ReadingOptions& options);

// How a command's questions are asked.
struct Asking {
  std::unique_ptr<ask::IndexedRecording> index;  // null: without
  ask::FindOptions how;                          // refers to it
};
// `indexed`: an index is worth while, if the user does not forbid it. `progress` must outlive it.
Asking asking_of(session::Session& session, const ReadingOptions& options, view::Progress& progress,
                 bool indexed);
session::ProgressFunction told_to(view::Progress& progress);

}  // namespace hodo::cli
