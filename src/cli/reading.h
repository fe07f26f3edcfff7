// What the reading commands share: the input's options, opening it, and the exit status.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "command.h"
#include "hodo/base/result.h"
#include "hodo/session/options.h"
#include "hodo/session/session.h"
#include "hodo/view/place.h"
#include "hodo/view/style.h"

namespace hodo::cli {

// As the user typed it; read_options() turns it into session::Options.
struct ReadingOptions {
  std::string file = "hodo.data";
  std::optional<session::RawKind> raw;  // --raw KIND
  unsigned record_size = 0;             // --record-size
  std::string index;                    // --index
  std::vector<std::string> images;      // --image
  std::string symfs;                    // --symfs
  std::vector<std::string> sources;     // --substitute-path
  int bits = 64;
  std::vector<std::string> filters;  // --filter LO-HI
  std::string cpu;                   // --cpu FAMILY/MODEL/STEPPING
  std::int32_t pid = -1, tid = -1;
  bool json = false;
  bool no_index = false;  // --no-index
  view::ColorMode color = view::ColorMode::automatic;
  view::SourceDetail source;  // --srcline, --inline
};

// FILE, --symfs, --raw, --record-size, --index, --image, --bits, --filter, --cpu.
void add_trace_options(const OptionSet& app, ReadingOptions& options);
// The same, and --substitute-path: of commands that tell source lines.
void add_input_options(const OptionSet& app, ReadingOptions& options);
// --substitute-path.
void add_substitute_option(const OptionSet& app, ReadingOptions& options);
// Those of a trace that packets have: no --record-size and no --index, and only --raw pt.
void add_packet_input_options(const OptionSet& app, ReadingOptions& options);
// --pid, --tid.
void add_selection_options(const OptionSet& app, ReadingOptions& options);
// --srcline, --inline.
void add_source_options(const OptionSet& app, ReadingOptions& options);
// --color.
void add_color_option(const OptionSet& app, ReadingOptions& options);
void add_color_option(const OptionSet& app, view::ColorMode& color);

// usage: --filter that is no range, --cpu that is no processor, and options of raw traces that are
// given without --raw or with one of another kind.
Result<session::Options> input_of(const ReadingOptions& options);
session::Selection selection_of(const ReadingOptions& options);

// "LO-HI", each a number, decimal or hex with 0x; LO <= HI. usage, by the option and an example of
// what it takes.
Result<std::pair<std::uint64_t, std::uint64_t>> parse_range(std::string_view option,
                                                            const std::string& text,
                                                            std::string_view example);

// The argument that a command has in front of FILE.
struct Subject {
  std::string_view command;
  std::string_view name;  // "FUNCTION"
  std::string text;
};

// What a reading command has shown.
struct Shown {
  std::vector<session::LossLine> losses;
  bool tell = false;  // the output does not mention the losses: one line each on standard error
  std::uint64_t wrong_path = 0;  // branches that were left out: flow::Stats
  std::optional<int> status;     // to exit with, instead of what the losses say
};

// Opens the input, does `work` with it, and turns what comes of it into the exit status. Where it
// fails and `subject` names a file, the message says how that is asked.
using Work = std::function<Result<Shown>(session::Session&)>;
int with_session(const ReadingOptions& options, const Work& work);
int with_session(const ReadingOptions& options, const Subject& subject, const Work& work);

// Both on standard error, in a line or one for each: that the recording is still being made, if it
// is, and of how much of it the answer is; and what is missing in that.
void tell_growing(const std::string& file, const session::Session& session);
void tell_losses(const std::string& file, const std::vector<session::LossLine>& losses);

// An error's message may begin with the file's name already.
std::string without_name(std::string message, const std::string& file);

// Prints "hodo: FILE: cause", or only the cause if `file` is empty, and returns kExitUsage.
int report_error(const std::string& file, const Error& error);

}  // namespace hodo::cli
