#include "record_report.h"

#include <fmt/format.h>

#include <cstdio>

namespace hodo::cli {

void print_outcome(const RecordCommand& command, const capture::RecordOptions& options,
                   const capture::RecordResult& result) {
  for (const std::string& warning : result.warnings) fmt::print(stderr, "hodo: {}\n", warning);
  if (command.quiet) return;
  fmt::print(stderr, "hodo: {}: {} bytes of trace, {} processes, {} threads\n", options.output,
             result.trace_bytes, result.processes, result.threads);
}

}  // namespace hodo::cli
