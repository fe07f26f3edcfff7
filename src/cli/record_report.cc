#include "record_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "hodo/view/text.h"
#include "show_report.h"

namespace hodo::cli {
namespace {

// A report decodes the whole trace. Of more than this it would come so late that it is better asked
// for.
constexpr std::uint64_t kReportedAtOnce = 64 << 20;

std::string human_size(std::uint64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

void print_outcome(const RecordCommand& command, const capture::RecordOptions& options,
                   const capture::RecordResult& result) {
  for (const auto* lines : {&result.warnings, &result.unrecorded}) {
    // Programs choose their names.
    for (const std::string& line : *lines) fmt::print(stderr, "hodo: {}\n", view::printable(line));
  }
  if (command.quiet) return;
  if (options.source == capture::SourceKind::lbr && result.trace_bytes == 0) {
    fmt::print(stderr, "hodo: no branch stack was taken: no thread made --period {} branches\n",
               options.sample_period);
  }
  if (!result.complete && ::access(options.output.c_str(), F_OK) != 0) return;  // a warning said it
  // The verdict of a check takes the report's place.
  const bool at_once = !command.check && result.complete && result.trace_bytes <= kReportedAtOnce;
  fmt::print(stderr, "hodo: {} of trace in {}{}\n", human_size(result.trace_bytes), options.output,
             at_once ? "" : fmt::format("; see hodo report {}", options.output));
  if (!at_once) return;
  ReportOptions report;
  report.reading.file = options.output;
  report.output = STDERR_FILENO;
  show_report(report);
}

}  // namespace hodo::cli
