// The options of `hodo record`.
#pragma once

#include <string>
#include <vector>

#include "command.h"
#include "hodo/base/result.h"
#include "hodo/capture/options.h"
#include "live_check.h"

namespace hodo::cli {

struct RecordCommand {
  capture::RecordOptions options;
  std::vector<std::string> filters;
  std::string max_size, buffer_size, cache_size, duration;
  std::vector<std::string> pids, threads;
  bool no_return_compression = false;
  bool no_timing = false;
  bool no_follow = false;
  bool quiet = false;
  bool check = false;
  OnFinding on_finding = OnFinding::report;
  std::string suppress;                       // file; empty: none
  std::uint64_t psb_period = 0;               // 0: not given
  std::uint64_t period = 0;                   // likewise
  std::vector<std::string> own_command_line;  // argv, for the file's header
};

void add_record_options(const OptionSet& app, RecordCommand& command);

// "4096", "64K", "10M", "2G": bytes, not 0. Errors: usage, with the option's name.
Result<std::uint64_t> parse_size(const std::string& text, const char* option);
// "10", "1.5s", "200ms", "2m", "1h": nanoseconds, not 0. Errors: usage.
Result<std::uint64_t> parse_duration(const std::string& text);
// What this process was started with.
std::vector<std::string> command_line();

// Errors: usage (a size, filter or period that makes no sense, an option that the source does not
// have, or what needs --check), not_found (a filter's file or symbol).
Result<capture::RecordOptions> options_of(const RecordCommand& command);

}  // namespace hodo::cli
