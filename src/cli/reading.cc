#include "reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include "hodo/serve/asking.h"
#include "hodo/serve/line_store.h"
#include "hodo/view/growing.h"
#include "hodo/view/text.h"

namespace hodo::cli {
namespace {

bool parse_number(std::string_view text, std::uint64_t& value) {
  int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

void add_file_options(const OptionSet& app, ReadingOptions& options) {
  app.add_option("FILE", options.file,
                 "the recording: a perf.data file made by hodo or perf (default hodo.data)");
  app.add_option("--symfs", options.symfs,
                 "the files that the recording names lie below DIR: those of a guest, or of "
                 "another machine")
      .type_name("DIR")
      .existing_directory();
}

// What --raw pt goes with, too.
void add_code_options(const OptionSet& app, ReadingOptions& options) {
  app.add_option("--image", options.images,
                 "code that the raw trace ran: elf:PATH[@BASE], bin:ADDR:PATH[:OFFSET:LENGTH], or "
                 "pages:ADDRFILE:DUMPFILE (8-byte page addresses, those with low bits set not "
                 "mapped; 4 KiB pages in the same order); may be given several times")
      .type_name("IMAGE")
      .one_at_a_time();
  add_choice<int>(app, "--bits", options.bits, {{"64", 64}, {"32", 32}, {"16", 16}},
                  "width of the code in a raw trace until it says otherwise (default 64)");
  app.add_option("--filter", options.filters,
                 "an address filter that was active while a raw trace was recorded, as first-last "
                 "address, 0x400000-0x426fff; may be given several times")
      .type_name("LO-HI")
      .one_at_a_time();
  app.add_option("--cpu", options.cpu,
                 "Intel's processor that wrote a raw trace, by CPUID's numbers (as 6/0x5e/3), "
                 "whose known mistakes in packets are then understood; a perf.data file names its "
                 "own")
      .type_name("FAMILY/MODEL[/STEPPING]");
}

}  // namespace

void add_substitute_option(const OptionSet& app, ReadingOptions& options) {
  app.add_option("--substitute-path", options.sources,
                 "sources whose names begin with FROM lie below TO: those that were compiled "
                 "elsewhere, or with -ffile-prefix-map; FROM . stands before relative names; may "
                 "be given several times, and the first that fits counts")
      .type_name("FROM=TO")
      .one_at_a_time();
}

void add_input_options(const OptionSet& app, ReadingOptions& options) {
  add_trace_options(app, options);
  add_substitute_option(app, options);
}

void add_trace_options(const OptionSet& app, ReadingOptions& options) {
  add_file_options(app, options);
  using session::RawKind;
  add_choice<std::optional<RawKind>>(
      app, "--raw", options.raw,
      {{"pt", RawKind::pt}, {"bts", RawKind::bts}, {"lbr", RawKind::lbr}},
      "FILE is a bare trace, without the perf.data around it: pt for Intel PT packets, bts for "
      "branch trace store records, lbr for a dump of LBR registers as text or JSON (hodo branches "
      "--help shows how it looks)");
  add_choice<unsigned>(app, "--record-size", options.record_size, {{"24", 24}, {"12", 12}},
                       "bytes of a record in --raw bts: 24 of 64-bit processors, 12 of 32-bit ones "
                       "(default: found out)");
  app.add_option(
         "--index", options.index,
         "--raw bts FILE is a whole circular buffer, and the next record would have gone to this "
         "offset (BTS index less buffer base of the DS area): the oldest one is there")
      .type_name("OFFSET");
  add_code_options(app, options);
}

void add_packet_input_options(const OptionSet& app, ReadingOptions& options) {
  add_file_options(app, options);
  add_choice<std::optional<session::RawKind>>(
      app, "--raw", options.raw, {{"pt", session::RawKind::pt}},
      "FILE is a bare trace of Intel PT packets, without the perf.data around it; bare branch "
      "records are listed by hodo branches --raw");
  add_code_options(app, options);
}

void add_selection_options(const OptionSet& app, ReadingOptions& options) {
  constexpr std::uint64_t kMostTasks = std::numeric_limits<std::int32_t>::max();
  app.add_option("--pid,--process", options.pid, "only this process")
      .range(0, kMostTasks)
      .type_name("PID");
  app.add_option("--tid,--thread", options.tid, "only this thread")
      .range(0, kMostTasks)
      .type_name("TID");
}

void add_source_options(const OptionSet& app, ReadingOptions& options) {
  app.add_flag("--srcline", options.source.line,
               "source lines, where the program or a debug file has them");
  app.add_flag("--inline", options.source.inlined, "the functions that are inlined at a place");
}

void add_color_option(const OptionSet& app, ReadingOptions& options) {
  add_color_option(app, options.color);
}

void add_color_option(const OptionSet& app, view::ColorMode& color) {
  using view::ColorMode;
  add_choice<ColorMode>(
      app, "--color", color,
      {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}},
      "colour the output; auto (the default) colours a terminal unless NO_COLOR is set");
}

Result<std::pair<std::uint64_t, std::uint64_t>> parse_range(std::string_view option,
                                                            const std::string& text,
                                                            std::string_view example) {
  std::size_t dash = text.find('-');
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool good = dash != std::string::npos &&
              parse_number(std::string_view(text).substr(0, dash), low) &&
              parse_number(std::string_view(text).substr(dash + 1), high) && low <= high;
  if (!good) {
    return fail(ErrorCode::usage,
                fmt::format("{} '{}' is no range; write it as {}", option, text, example));
  }
  return std::pair(low, high);
}

namespace {

isa::Mode mode_of(int bits) {
  if (bits == 64) return isa::Mode::bits64;
  return bits == 32 ? isa::Mode::bits32 : isa::Mode::bits16;
}

// Options that say something of a raw trace, given where it means nothing.
Status check_raw(const ReadingOptions& options) {
  using session::RawKind;
  if (!options.images.empty() && !options.raw) {
    return fail(ErrorCode::usage, "--image goes with --raw; a perf.data file names its own");
  }
  if (!options.symfs.empty() && options.raw) {
    return fail(ErrorCode::usage, "--symfs goes with a perf.data file; --raw takes --image");
  }
  if (!options.filters.empty() && options.raw != RawKind::pt) {
    return fail(ErrorCode::usage, "--filter goes with --raw pt; a perf.data file has its own");
  }
  if (!options.cpu.empty() && options.raw != RawKind::pt) {
    return fail(ErrorCode::usage, "--cpu goes with --raw pt; a perf.data file has its own");
  }
  if (options.record_size != 0 && options.raw != RawKind::bts) {
    return fail(ErrorCode::usage, "--record-size goes with --raw bts");
  }
  if (!options.index.empty() && options.raw != RawKind::bts) {
    return fail(ErrorCode::usage, "--index goes with --raw bts");
  }
  return {};
}

Result<pt::Errata> errata_of(const std::string& cpu) {
  std::array<std::uint64_t, 3> numbers{};
  std::size_t count = 0;
  std::string_view rest = cpu;
  bool good = true;
  for (bool more = true; more && good; ++count) {
    const auto slash = rest.find('/');
    more = slash != rest.npos;
    good = count < numbers.size() && parse_number(rest.substr(0, slash), numbers[count]) &&
           numbers[count] <= 0xfff;
    if (more) rest.remove_prefix(slash + 1);
  }
  if (!good || count < 2) {
    return fail(ErrorCode::usage,
                fmt::format("--cpu {}: give family, model and perhaps stepping of the processor, "
                            "as /proc/cpuinfo has them: 6/94/3 or 6/0x5e/3",
                            cpu));
  }
  return pt::errata_of(static_cast<unsigned>(numbers[0]), static_cast<unsigned>(numbers[1]));
}

}  // namespace

Result<session::Options> input_of(const ReadingOptions& options) {
  if (Status status = check_raw(options); !status) return std::unexpected(status.error());
  session::Options out{
      .path = options.file, .symfs = options.symfs, .lines = serve::line_store_of_user()};
  for (const std::string& rule : options.sources) {
    if (Status status = out.sources.add(rule); !status) {
      return fail(ErrorCode::usage, "--substitute-path " + status.error().message);
    }
  }
  if (!options.raw) return out;
  out.raw.emplace();
  out.raw->kind = *options.raw;
  out.raw->record_size = options.record_size;
  if (!options.index.empty()) {
    std::uint64_t index = 0;
    if (!parse_number(options.index, index)) {
      return fail(ErrorCode::usage, fmt::format("--index {}: is no number", options.index));
    }
    out.raw->index = index;
  }
  out.raw->images = options.images;
  out.raw->mode = mode_of(options.bits);
  if (!options.cpu.empty()) {
    const auto errata = errata_of(options.cpu);
    if (!errata) return std::unexpected(errata.error());
    out.raw->errata = *errata;
  }
  for (const std::string& filter : options.filters) {
    auto range = parse_range("--filter", filter, "0x400000-0x426fff");
    if (!range) return std::unexpected(range.error());
    out.raw->filters.push_back(*range);
  }
  return out;
}

session::Selection selection_of(const ReadingOptions& options) {
  session::Selection out;
  if (options.pid >= 0) out.pid = options.pid;
  if (options.tid >= 0) out.tid = options.tid;
  return out;
}

void tell_growing(const std::string& file, const session::Session& session) {
  if (const std::string text = view::growing_text(session); !text.empty()) {
    fmt::print(stderr, "hodo: {} {}\n", view::printable(file), text);
  }
}

void tell_losses(const std::string& file, const std::vector<session::LossLine>& losses) {
  for (const session::LossLine& line : losses) {
    std::string reason = line.sites.empty() ? "" : ": " + view::printable(line.sites[0].reason);
    std::string text = fmt::format("hodo: {}: lost: {} ({} times){}\n", view::printable(file),
                                   line.cause, view::grouped(line.count), reason);
    std::fputs(text.c_str(), stderr);
  }
}

namespace {

// "hodo list run.data" asks for the calls of a function run.data, "hodo list run.data parse" a file
// parse.
std::string taken_for(const Subject& subject, const std::string& file) {
  std::error_code ignored;
  const bool named = file != ReadingOptions().file;
  if (!std::filesystem::is_regular_file(subject.text, ignored)) return "";
  if (named && std::filesystem::exists(file, ignored)) return "";
  return fmt::format("; '{}' was taken for the {}, it is a file: 'hodo {} {} {}' asks it",
                     subject.text, subject.name, subject.command, named ? file : subject.name,
                     subject.text);
}

// Nothing is missing for that.
void tell_wrong_path(const std::string& file, std::uint64_t count) {
  std::string text = fmt::format(
      "hodo: {}: left out: branches of wrong paths, foreseen but not taken ({} times)\n",
      view::printable(file), view::grouped(count));
  std::fputs(text.c_str(), stderr);
}

}  // namespace

int with_session(const ReadingOptions& options, const Work& work) {
  return with_session(options, {}, work);
}

int with_session(const ReadingOptions& options, const Subject& subject, const Work& work) {
  const auto failed = [&](Error error) {
    error.message += taken_for(subject, options.file);
    return report_error(options.file, error);
  };
  auto input = input_of(options);
  if (!input) return failed(input.error());
  auto session = session::Session::open(*input);
  if (!session) return failed(session.error());
  if (Status status = serve::selects_somebody(**session, selection_of(options)); !status) {
    return failed(status.error());
  }
  tell_growing(options.file, **session);
  auto shown = work(**session);
  if (!shown) return failed(shown.error());
  if (shown->tell) tell_losses(options.file, shown->losses);
  if (shown->wrong_path != 0) tell_wrong_path(options.file, shown->wrong_path);
  if (shown->status) return *shown->status;
  return shown->losses.empty() ? kExitOk : kExitIncomplete;
}

std::string without_name(std::string message, const std::string& file) {
  for (const char* end : {": ", " "}) {
    if (message.starts_with(file + end)) message.erase(0, file.size() + std::strlen(end));
  }
  return message;
}

int report_error(const std::string& file, const Error& error) {
  // What is wrong at byte 0 is wrong with the whole file.
  std::string place = error.offset == Error::kNoOffset || error.offset == 0
                          ? ""
                          : fmt::format(" (at byte {:#x})", error.offset);
  const std::string message = view::printable(without_name(error.message, file));
  std::string remedy;
  const bool is_missing = error.code == ErrorCode::not_found && error.message.starts_with(file);
  if (is_missing && file == ReadingOptions().file) {
    remedy = "; 'hodo record -- COMMAND' makes one";
  }
  // What is wrong with the command is not wrong with the file.
  const bool named = error.code != ErrorCode::usage && !file.empty();
  const std::string about = named ? view::printable(file) + ": " : "";
  std::string line = fmt::format("hodo: {}{}{}{}\n", about, message, place, remedy);
  std::fputs(line.c_str(), stderr);
  return kExitUsage;
}

}  // namespace hodo::cli
