#include "record_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include "hodo/capture/filter_spec.h"
#include "output_file.h"
#include "version.h"

namespace hodo::cli {

using capture::SourceKind;

namespace {

constexpr std::uint64_t kMinPsbPeriod = 2048;  // IA32_RTIT_CTL.PSBFreq counts doublings of it

std::vector<std::pair<std::string, SourceKind>> sources() {
  return {{"auto", SourceKind::automatic}, {"pt", SourceKind::pt},     {"bts", SourceKind::bts},
          {"lbr", SourceKind::lbr},        {"qemu", SourceKind::qemu}, {"dbi", SourceKind::dbi},
          {"step", SourceKind::step}};
}

std::string name_of(SourceKind source) {
  for (const auto& [name, kind] : sources()) {
    if (kind == source) return name;
  }
  return {};
}

// Options that some sources have and others would ignore.
Status check_source(const RecordCommand& command) {
  const SourceKind source = command.options.source;
  const bool packets = source == SourceKind::automatic || source == SourceKind::pt ||
                       source == SourceKind::dbi || source == SourceKind::qemu;
  const char* const kPackets = "Intel PT (--source pt, dbi, qemu or auto)";
  struct Rule {
    const char* option;
    bool given, fits;
    const char* whose;
  };
  const Rule rules[] = {
      {"--period", command.period != 0, source == SourceKind::lbr, "--source lbr"},
      {"--psb-period", command.psb_period != 0, packets, kPackets},
      {"--no-return-compression", command.no_return_compression, packets, kPackets},
      {"--no-timing", command.no_timing, packets, kPackets},
      {"--cyc", command.options.pt.cyc, packets, kPackets},
      {"--buffer-size", !command.buffer_size.empty(), source != SourceKind::step,
       "the other sources"},
      {"--cache-size", !command.cache_size.empty(),
       source != SourceKind::pt && source != SourceKind::qemu && source != SourceKind::step,
       "the engine (--source dbi, bts, lbr or auto)"},
      {"--debug-log", !command.options.debug_log.empty(), source != SourceKind::pt, "QEMU"},
  };
  for (const Rule& rule : rules) {
    if (!rule.given || rule.fits) continue;
    return fail(ErrorCode::usage,
                fmt::format("{} does not go with --source {}{}; it is an option of {}", rule.option,
                            name_of(source), source == SourceKind::automatic ? ", the default" : "",
                            rule.whose));
  }
  return {};
}

}  // namespace

Result<std::uint64_t> parse_size(const std::string& text, const char* option) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  constexpr std::string_view kUnits = "KMGT";
  unsigned shift = 0;
  if (unit.size() == 1 && kUnits.find(unit[0]) != kUnits.npos) {
    shift = 10 * static_cast<unsigned>(kUnits.find(unit[0]) + 1);
  } else if (!unit.empty() && unit != "B") {
    shift = 64;
  }
  if (error != std::errc() || shift == 64 || value == 0 || value > ~std::uint64_t{0} >> shift) {
    return fail(ErrorCode::usage,
                fmt::format("{} {}: not a size; write for example 64K, 10M or 2G", option, text));
  }
  return value << shift;
}

Result<std::uint64_t> parse_duration(const std::string& text) {
  constexpr double kMost = 1e9;  // seconds
  char* unit = nullptr;
  const double value = std::strtod(text.c_str(), &unit);
  const std::pair<std::string_view, double> units[] = {
      {"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}};
  for (const auto& [name, seconds] : units) {
    if (name != unit || unit == text.c_str() || !(value > 0) || value * seconds > kMost) continue;
    return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(value * seconds * 1e9));
  }
  return fail(
      ErrorCode::usage,
      fmt::format("--duration {}: not a time; write for example 10, 1.5s, 200ms or 2m", text));
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

void add_record_options(const OptionSet& app, RecordCommand& command) {
  capture::RecordOptions& options = command.options;
  command.own_command_line = command_line();
  app.add_option("-o,--output", options.output, "write to FILE")
      .type_name("FILE")
      .capture_default_str();
  add_choice(
      app, "--source", options.source, sources(),
      "what records: the processor's Intel PT (pt), an engine inside the program (dbi), QEMU "
      "(qemu), or the best that there is (auto); branch trace store (bts) or last branch records "
      "(lbr), of the processor or else of the engine, of 32-bit programs of QEMU; or a debugger's "
      "steps (step), which need neither and are slow: 10 to 50 microseconds for each branch or "
      "instruction");
  app.add_option("--period", command.period,
                 "with --source lbr: branches from one branch stack to the next (default 10007)")
      .type_name("BRANCHES")
      .range(1);
  app.add_option("-p,--pid", command.pids,
                 "record these processes, which run already, with all of their threads, instead of"
                 " running COMMAND; let go of them at the end")
      .type_name("PID[,PID...]")
      .one_at_a_time();
  app.add_option("--duration", command.duration,
                 "with -p: end the recording after this time: 10 (seconds), 200ms, 2m")
      .type_name("TIME");
  app.add_option("--threads", command.threads,
                 "with -p: keep only what these threads do, and those that they start")
      .type_name("TID[,TID...]")
      .one_at_a_time();
  using capture::Level;
  add_choice(app, "--level", options.level,
             {{"user", Level::user}, {"kernel", Level::kernel}, {"both", Level::both}},
             "whose branches: the program's own (user, the default), the kernel's on its behalf, or"
             " both; the kernel's need the processor's trace and privileges (perf_event_paranoid)");
  app.add_option("--filter", command.filters, "record only this code; may be given four times")
      .type_name("FILTER")
      .one_at_a_time();
  app.add_option("--max-size", command.max_size,
                 "end the recording, not the program, when the file has this size: 500K, 200M, 2G;"
                 " what the threads' buffers (--buffer-size) hold then is still written")
      .type_name("SIZE");
  app.add_option("--psb-period", command.psb_period,
                 "bytes of Intel PT between points where decoding can start: 2048 to 67108864"
                 " (default 16384)")
      .type_name("BYTES")
      .range(kMinPsbPeriod, kMinPsbPeriod << 15);
  app.add_flag("--no-return-compression", command.no_return_compression,
               "Intel PT: write every return's target instead of one bit where it is the expected"
               " one");
  app.add_flag("--no-timing", command.no_timing,
               "Intel PT: leave out the packets that tell the time");
  app.add_flag("--cyc", options.pt.cyc,
               "Intel PT: add cycle counts (in software: instructions executed)");
  app.add_flag("--no-follow", command.no_follow, "do not record programs that COMMAND executes");
  app.add_flag("--wait-all", options.wait_all,
               "record until all that COMMAND started has ended, daemons too, not only COMMAND"
               " (dbi, qemu)");
  app.add_flag(
      "--snapshot", options.snapshot,
      "keep only the newest part of the trace, as of the end and of every SIGUSR2: of each"
      " thread what --buffer-size says or more, but less than twice that (of a processor's own"
      " trace: at most --buffer-size of each processor)");
  app.add_option("--buffer-size", command.buffer_size,
                 "size of each thread's trace buffer, rounded up to a power of two from 64K to 1G"
                 " (default 4M; of BTS in software 16M); of each processor's, and from 8K on, where"
                 " the processor records")
      .type_name("SIZE");
  app.add_option("--cache-size", command.cache_size,
                 "most memory that the engine takes in each process for translated code and its "
                 "tables: from 1M on (default 256M); where that is full, code is translated anew")
      .type_name("SIZE");
  app.add_option("--debug-log", options.debug_log,
                 "let an independent watcher log every executed block into DIR, which exists (QEMU;"
                 " slow)")
      .type_name("DIR")
      .existing_directory();
  app.add_flag("--check", command.check, "judge every branch while it is recorded");
  add_choice<OnFinding>(
      app, "--on-finding", command.on_finding,
      {{"report", OnFinding::report}, {"stop", OnFinding::stop}},
      "with --check, when something is found: only report it (the default), or kill the program");
  app.add_option("--suppress", command.suppress,
                 "with --check, leave out findings that FILE has a line for, as hodo check does")
      .type_name("FILE");
  app.add_flag("-q,--quiet", command.quiet, "print no report, only what went wrong");
  app.prefix_command();
}

namespace {

// "12,34", perhaps given more than once.
Result<std::vector<int>> numbers(const std::vector<std::string>& lists, const char* option) {
  std::vector<int> found;
  for (const std::string& list : lists) {
    for (const char* at = list.c_str();; ++at) {
      int value = 0;
      const char* const end = list.c_str() + list.size();
      const auto [behind, error] = std::from_chars(at, end, value);
      if (error != std::errc() || value <= 0 || (behind != end && *behind != ',')) {
        return fail(
            ErrorCode::usage,
            fmt::format("{} {}: not the numbers of processes, such as 12 or 12,34", option, list));
      }
      if (std::ranges::find(found, value) == found.end()) found.push_back(value);
      if (behind == end) break;
      at = behind;
    }
  }
  return found;
}

Status take_processes(const RecordCommand& command, capture::RecordOptions& options) {
  const auto pids = numbers(command.pids, "-p");
  if (!pids) return std::unexpected(pids.error());
  const auto threads = numbers(command.threads, "--threads");
  if (!threads) return std::unexpected(threads.error());
  options.pids = *pids;
  options.threads = *threads;
  if (options.pids.empty()) {
    if (!command.duration.empty() || !threads->empty()) {
      return fail(ErrorCode::usage,
                  "--duration and --threads are of -p, recording what runs already");
    }
    return {};
  }
  if (!options.command.empty()) {
    return fail(ErrorCode::usage, "-p and a command to run do not go together");
  }
  if (options.wait_all) return fail(ErrorCode::usage, "--wait-all does not go with -p");
  if (options.source == SourceKind::qemu || options.source == SourceKind::step) {
    return fail(ErrorCode::usage, "-p needs --source dbi or the processor's own trace");
  }
  if (command.duration.empty()) return {};
  const auto duration = parse_duration(command.duration);
  if (!duration) return std::unexpected(duration.error());
  options.duration = *duration;
  return {};
}

}  // namespace

Result<capture::RecordOptions> options_of(const RecordCommand& command) {
  if (Status status = check_recording_path(command.options.output); !status) {
    return std::unexpected(status.error());
  }
  if (Status status = check_source(command); !status) return std::unexpected(status.error());
  if (command.on_finding == OnFinding::stop && !command.check) {
    return fail(ErrorCode::usage, "--on-finding stop: nothing is judged without --check");
  }
  if (!command.suppress.empty() && !command.check) {
    return fail(ErrorCode::usage, "--suppress: nothing is judged without --check");
  }
  capture::RecordOptions options = command.options;
  if (const Status taken = take_processes(command, options); !taken) {
    return std::unexpected(taken.error());
  }
  if (command.period != 0) options.sample_period = command.period;
  options.recorder = fmt::format("hodoscope {}", version());
  options.pt.return_compression = !command.no_return_compression;
  options.follow_children = !command.no_follow;
  if (command.no_timing) options.pt.tsc = options.pt.mtc = options.pt.cyc = false;
  if (command.psb_period != 0) {
    if (!std::has_single_bit(command.psb_period)) {
      return fail(ErrorCode::usage,
                  fmt::format("--psb-period {}: must be a power of two", command.psb_period));
    }
    options.pt.psb_period =
        static_cast<std::uint8_t>(std::countr_zero(command.psb_period / kMinPsbPeriod));
  }
  for (const auto& [text, name, value] :
       {std::tuple{&command.max_size, "--max-size", &options.max_size},
        std::tuple{&command.buffer_size, "--buffer-size", &options.buffer_size},
        std::tuple{&command.cache_size, "--cache-size", &options.cache_size}}) {
    if (text->empty()) continue;
    const auto size = parse_size(*text, name);
    if (!size) return std::unexpected(size.error());
    *value = *size;
  }
  constexpr std::uint64_t kLeastCache = 1 << 20;
  if (options.cache_size != 0 && options.cache_size < kLeastCache) {
    return fail(ErrorCode::usage, fmt::format("--cache-size {}: at least 1M", command.cache_size));
  }
  for (const std::string& spec : command.filters) {
    auto range = capture::parse_filter(spec);
    if (!range) return std::unexpected(range.error());
    options.filters.push_back(std::move(*range));
  }
  return options;
}

}  // namespace hodo::cli
