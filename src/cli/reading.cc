#include "reading.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "hodo/view/text.h"

namespace hodo::cli {
namespace {

bool parse_number(std::string_view text, std::uint64_t& value) {
  int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void add_input_options(CLI::App& app, ReadingOptions& options) {
  app.add_option("FILE", options.file,
                 "the recording: a perf.data file made by hodo or perf (default hodo.data)");
  app.add_option(
         "--raw", options.raw,
         "FILE is a bare stream of trace data, without the perf.data around it: pt for Intel"
         " PT packets")
      ->type_name("pt");
  app.add_option("--image", options.images,
                 "code that the raw trace ran: elf:PATH[@BASE], bin:ADDR:PATH[:OFFSET:LENGTH], or"
                 " pages:ADDRFILE:DUMPFILE (8-byte page addresses, 4 KiB pages in the same order);"
                 " may be given several times")
      ->type_name("IMAGE")
      ->allow_extra_args(false);
  add_choice<int>(app, "--bits", options.bits, {{"64", 64}, {"32", 32}, {"16", 16}},
                  "width of the code in a raw trace until it says otherwise (default 64)");
  app.add_option("--filter", options.filter,
                 "the address filter that was active while a raw trace was recorded, as"
                 " first-last address, 0x400000-0x426fff")
      ->type_name("LO-HI");
}

void add_selection_options(CLI::App& app, ReadingOptions& options) {
  app.add_option("--pid", options.pid, "only this process")->type_name("PID");
  app.add_option("--tid", options.tid, "only this thread")->type_name("TID");
}

void add_color_option(CLI::App& app, ReadingOptions& options) {
  using view::ColorMode;
  add_choice<ColorMode>(
      app, "--color", options.color,
      {{"auto", ColorMode::automatic}, {"always", ColorMode::always}, {"never", ColorMode::never}},
      "colour the output; auto (the default) colours a terminal unless NO_COLOR is"
      " set");
}

Result<std::pair<std::uint64_t, std::uint64_t>> parse_range(const std::string& text) {
  std::size_t dash = text.find('-');
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool good = dash != std::string::npos &&
              parse_number(std::string_view(text).substr(0, dash), low) &&
              parse_number(std::string_view(text).substr(dash + 1), high) && low <= high;
  if (!good) {
    return fail(ErrorCode::usage,
                fmt::format("'{}' is no range; write it as 0x400000-0x426fff", text));
  }
  return std::pair(low, high);
}

Result<session::Options> input_of(const ReadingOptions& options) {
  session::Options out{.path = options.file};
  if (options.raw.empty()) {
    if (!options.images.empty()) {
      return fail(ErrorCode::usage, "--image goes with --raw pt; a perf.data file names its own");
    }
    if (!options.filter.empty()) {
      return fail(ErrorCode::usage, "--filter goes with --raw pt; a perf.data file has its own");
    }
    return out;
  }
  if (options.raw != "pt") {
    return fail(ErrorCode::usage,
                fmt::format("--raw {}: only pt (Intel PT packets) can be read", options.raw));
  }
  out.raw.emplace();
  out.raw->images = options.images;
  out.raw->mode = options.bits == 64   ? isa::Mode::bits64
                  : options.bits == 32 ? isa::Mode::bits32
                                       : isa::Mode::bits16;
  if (!options.filter.empty()) {
    auto range = parse_range(options.filter);
    if (!range) return std::unexpected(range.error());
    out.raw->filter = *range;
  }
  return out;
}

session::Selection selection_of(const ReadingOptions& options) {
  session::Selection out;
  if (options.pid >= 0) out.pid = options.pid;
  if (options.tid >= 0) out.tid = options.tid;
  return out;
}

namespace {

void tell_losses(const std::string& file, const std::vector<session::LossLine>& losses) {
  for (const session::LossLine& line : losses) {
    std::string reason = line.sites.empty() ? "" : ": " + view::printable(line.sites[0].reason);
    std::string text = fmt::format("hodo: {}: lost: {} ({} times){}\n", view::printable(file),
                                   line.cause, view::grouped(line.count), reason);
    std::fputs(text.c_str(), stderr);
  }
}

}  // namespace

int with_session(const ReadingOptions& options,
                 const std::function<Result<Shown>(session::Session&)>& work) {
  auto input = input_of(options);
  if (!input) return report_error(options.file, input.error());
  auto session = session::Session::open(*input);
  if (!session) return report_error(options.file, session.error());
  auto shown = work(**session);
  if (!shown) return report_error(options.file, shown.error());
  if (shown->tell) tell_losses(options.file, shown->losses);
  return shown->losses.empty() ? kExitOk : kExitIncomplete;
}

int report_error(const std::string& file, const Error& error) {
  std::string place =
      error.offset == Error::kNoOffset ? "" : fmt::format(" (at byte {:#x})", error.offset);
  // The libraries' messages may begin with the file's name already.
  std::string message = view::printable(error.message);
  std::string name = view::printable(file);
  for (const char* end : {": ", " "}) {
    if (message.starts_with(name + end)) message.erase(0, name.size() + std::strlen(end));
  }
  std::string remedy;
  if (error.code == ErrorCode::not_found && file == ReadingOptions().file) {
    remedy = "; 'hodo record -- COMMAND' makes one";
  }
  std::string line = fmt::format("hodo: {}: {}{}{}\n", name, message, place, remedy);
  std::fputs(line.c_str(), stderr);
  return kExitUsage;
}

}  // namespace hodo::cli
