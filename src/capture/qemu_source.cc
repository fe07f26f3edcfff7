#include "hodo/capture/qemu_source.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "hodo/capture/launch.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/clock.h"
#include "hodo/relay/exec_plan.h"
#include "qemu_channels.h"
#include "qemu_settings.h"

extern char** environ;

namespace hodo::capture {
namespace {

constexpr std::uint64_t kDefaultAuxSize = 4 << 20;
constexpr int kPollMs = 4;  // how long a thread's packets may lie before they are looked at
constexpr std::uint64_t kFlushEvery = 250'000'000;  // ns: what a kill -9 may cost

std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string file(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return file.substr(0, file.rfind('/'));
}

// In the build tree, next to it; installed, in the library folder.
std::string find_plugin(const std::string& name) {
  const std::string here = own_folder();
  for (const char* folder :
       {"/../../plugin/", "/../lib/hodoscope/", "/../lib/x86_64-linux-gnu/hodoscope/"}) {
    std::array<char, PATH_MAX> real{};
    const std::string path = std::string(here).append(folder).append(name);
    if (realpath(path.c_str(), real.data()) != nullptr) return real.data();
  }
  return {};
}

perfdata::ClockData clock_data() {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  perfdata::ClockData data;
  data.clockid = CLOCK_MONOTONIC;
  data.clockid_ns = relay::now();
  data.wall_clock_ns = static_cast<std::uint64_t>(wall.tv_sec) * 1'000'000'000 +
                       static_cast<std::uint64_t>(wall.tv_nsec);
  return data;
}

std::string socket_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = relay::now();
  return fmt::format("hodo-{}-{:016x}", getpid(), random);
}

std::uint64_t aux_size(const RecordOptions& options) {
  std::uint64_t size = 1 << 16;
  const std::uint64_t wanted = options.buffer_size != 0 ? options.buffer_size : kDefaultAuxSize;
  while (size < wanted && size < 1ULL << 30) size *= 2;
  return size;
}

Result<LaunchSpec> launch_spec(const RecordOptions& options, const relay::Settings& settings,
                               const std::string& plugin) {
  const auto path = find_command(options.command.front());
  if (!path) return std::unexpected(path.error());
  const auto executable = relay::inspect(*path, options.command);
  if (!executable) return std::unexpected(executable.error());
  if (executable->kind == relay::Executable::Kind::foreign) {
    return fail(ErrorCode::unsupported,
                *path + ": it is set-user-ID, not readable, or not an x86 program");
  }
  if (executable->kind == relay::Executable::Kind::not_binary) {
    return fail(
        ErrorCode::unsupported,
        *path + ": neither a program nor a script with a \"#!\" line; record its interpreter");
  }
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    environment.push_back(*variable);
  const auto plan = relay::plan_exec(*executable, environment, settings, plugin);
  if (!plan) return std::unexpected(plan.error());
  LaunchSpec spec;
  spec.command = plan->argv;
  spec.environment = plan->environment;
  return spec;
}

// The loop of a recording, and the states it goes through: running, stopping (the user or a limit
// has ended the recording; the program may go on), over.
class Recording {
 public:
  Recording(const RecordOptions& options, Program& program, int socket, QemuChannels& channels,
            perfdata::Writer& writer)
      : options_(options),
        program_(program),
        socket_(socket),
        channels_(channels),
        writer_(writer) {}

  void run() {
    while (!over()) {
      wait();
      handle_program();
      channels_.drain(false);
      check_limits();
      flush_if_due();
    }
    channels_.stop();
    channels_.drain(true);
  }

  bool interrupted() const { return interrupts_ > 0; }
  bool full() const { return full_; }

 private:
  bool over() const {
    if (interrupts_ > 1) return true;
    return program_.exit_status().has_value() && main_drained_;
  }

  void wait() {
    std::vector<pollfd> fds = {{.fd = program_.event_fd(), .events = POLLIN, .revents = 0},
                               {.fd = socket_, .events = POLLIN, .revents = 0}};
    for (const int fd : channels_.process_fds())
      fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    poll(fds.data(), fds.size(), kPollMs);
    if (fds[1].revents != 0) channels_.accept(socket_);
  }

  void handle_program() {
    const ProgramEvents events = program_.take_events();
    if (events.stop) {
      ++interrupts_;
      channels_.stop();
    }
    // One more round after the program has ended: its last packets are in its channel by then.
    main_drained_ = program_.exit_status().has_value();
  }

  void check_limits() {
    if (options_.max_size == 0 || full_ || writer_.bytes_written() < options_.max_size) return;
    full_ = true;
    channels_.stop();
  }

  void flush_if_due() {
    if (relay::now() - last_flush_ < kFlushEvery || channels_.file_error()) return;
    last_flush_ = relay::now();
    static_cast<void>(writer_.flush());  // an error comes back from the next record
  }

  const RecordOptions& options_;
  Program& program_;
  int socket_;
  QemuChannels& channels_;
  perfdata::Writer& writer_;
  int interrupts_ = 0;
  bool full_ = false;
  bool main_drained_ = false;
  std::uint64_t last_flush_ = 0;
};

// What the file says of the trace in it.
void describe_trace(const RecordOptions& options, perfdata::WriterOptions& file) {
  switch (recording_of(options.source)) {
    case relay::Recording::pt:
      file.pt = make_pt_config(options);
      return;
    case relay::Recording::bts:
      file.trace = perfdata::TraceKind::intel_bts;
      file.pt.pmu_type = perfdata::kBtsPmuTypeDefault;
      return;
    case relay::Recording::lbr:
      file.trace = perfdata::TraceKind::none;
      file.attrs = perfdata::stack_attrs(options.sample_period);
      return;
  }
}

std::string summary_json(const RecordResult& result, relay::Recording recording) {
  return fmt::format(
      R"({{"source":"qemu","unit":"{}","processes":{},"threads":{},"trace_bytes":{},"overflows":{},"exit_status":{}}})",
      unit_name(recording), result.processes, result.threads, result.trace_bytes, result.overflows,
      result.exit_status);
}

}  // namespace

Result<QemuInstallation> find_qemu() {
  QemuInstallation found;
  if (auto path = find_command("qemu-x86_64")) found.qemu64 = *path;
  if (auto path = find_command("qemu-i386")) found.qemu32 = *path;
  found.plugin = find_plugin("libhodo-qemu.so");
  found.watcher = find_plugin("libhodo-watcher.so");
  if (found.qemu64.empty()) {
    return fail(ErrorCode::not_found,
                "qemu-x86_64 is not installed; remedy: apt-get install qemu-user");
  }
  if (found.plugin.empty()) {
    return fail(ErrorCode::not_found,
                "libhodo-qemu.so is missing; remedy: build or install hodoscope again");
  }
  return found;
}

Result<RecordResult> record_with_qemu(const RecordOptions& options, const QemuInstallation& qemu,
                                      const std::vector<std::string>& own_command_line) {
  if (options.pid || options.snapshot) {
    return fail(ErrorCode::usage, std::string(options.pid ? "-p" : "--snapshot") +
                                      " needs the processor's own trace (--source pt, bts or lbr)");
  }
  if (options.level != Level::user) {
    return fail(ErrorCode::usage,
                "--level: QEMU runs the program alone, without a kernel; this needs the processor's"
                " own trace (--source pt, bts or lbr)");
  }
  auto settings = make_settings(options, qemu);
  if (!settings) return std::unexpected(settings.error());
  const std::string socket = socket_name();
  const std::string plugin = fmt::format("{},socket={},unit={}", relay::escape_option(qemu.plugin),
                                         socket, unit_name(settings->recording));
  const auto spec = launch_spec(options, *settings, plugin);
  if (!spec) return std::unexpected(spec.error());
  const auto listening = relay::listen_socket(socket);
  if (!listening) return std::unexpected(listening.error());
  const Fd listener(*listening);
  perfdata::WriterOptions writer_options;
  describe_trace(options, writer_options);
  writer_options.cmdline = own_command_line;
  writer_options.version = options.recorder;
  writer_options.clock = clock_data();
  auto writer = perfdata::Writer::create(options.output, std::move(writer_options));
  // Not the program's fault, whatever it is.
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  auto program = Program::prepare(*spec);
  if (!program) return std::unexpected(program.error());
  const auto started = (*program)->start();
  if (!started) return std::unexpected(started.error());

  QemuChannels channels(*writer, *settings, aux_size(options));
  Recording recording(options, **program, listener.get(), channels, *writer);
  recording.run();

  RecordResult result;
  if (!(*program)->exit_status()) (*program)->kill(SIGTERM);
  result.exit_status = (*program)->wait();
  channels.summarize(result);
  if (recording.interrupted()) result.warnings.push_back("the recording was ended by a signal");
  if (recording.full()) result.warnings.push_back("the recording ended at --max-size");
  // Without the mark of a complete recording where data is missing, whoever's fault that is.
  const Status finished =
      channels.file_error() ? Status() : writer->finish(summary_json(result, settings->recording));
  if (channels.file_error()) {
    result.warnings.push_back("the recording ended early: " + channels.file_error()->message);
    result.complete = false;
  } else if (!finished) {
    result.warnings.push_back("the recording is not complete: " + finished.error().message);
    result.complete = false;
  }
  if (result.threads == 0) {
    result.warnings.push_back(
        "nothing was recorded: QEMU did not run the program, or could not load the plugin");
    result.complete = false;
  }
  return result;
}

}  // namespace hodo::capture
