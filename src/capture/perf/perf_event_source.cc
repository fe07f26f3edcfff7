#include "hodo/capture/perf_event_source.h"

#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "hodo/perfdata/writer.h"
#include "perf_event_limits.h"
#include "perf_event_refusal.h"
#include "perf_event_stream.h"
#include "perf_trace.h"
#include "run/launch.h"
#include "run/output_guard.h"
#include "run/recording_loop.h"
#include "run/summary.h"
#include "running_process.h"

namespace hodo::capture {
namespace {

using perfdata::Writer;

// perf wakes us when a quarter of a buffer is full; this is for what never gets that far.
constexpr int kPollMilliseconds = 200;
constexpr int kPollAttached = 20;  // --duration is to be kept

Result<std::vector<int>> online_cpus(const SystemPaths& paths) {
  const auto text = read_small_file(paths.online_cpus);
  if (!text) return fail(ErrorCode::io, paths.online_cpus + ": cannot be read");
  return parse_cpu_list(*text);
}

class PerfRecorder final : public Recorder {
 public:
  PerfRecorder(const RecordOptions& options, const PerfEventContext& context)
      : options_(options),
        context_(context),
        kernel_(context.kernel ? *context.kernel : system_kernel()) {}

  Result<RecordResult> run();

 private:
  bool attached() const { return !options_.pids.empty(); }
  Status prepare();
  Status look_for_targets();
  Status begin_attached();
  bool have_ended() const;
  // That no record of the kernel's has announced.
  std::size_t first_processes() const { return attached() ? running_.size() : 1; }
  std::size_t first_threads() const { return attached() ? targets_.size() : 1; }
  Status open_streams(const std::vector<int>& cpus);
  Result<PerfEventStream> open_stream(int cpu, std::uint32_t index);
  Status create_file();
  Status start_program();
  void record();
  bool over() override { return stopped_ || !status_; }
  Status wait() override;
  ProgramEvents take_events() override;
  Status drain() override;
  void snapshot() override;
  bool stop() override {
    stopped_ = true;
    return !program_->exit_status();
  }
  Status flush() override { return writer_->flush(); }
  void drain_all(bool last);
  void take_snapshot(bool last);
  void switch_off();
  void finish_file();
  void keep(const Status& status) {
    if (status_ && !status) status_ = status;
  }
  RecordResult result();
  void warn_of_losses(const RingCounts& counts);
  std::string summary() const;

  const RecordOptions& options_;
  const PerfEventContext& context_;
  Kernel& kernel_;
  std::unique_ptr<PerfTrace> trace_;
  EventScope scope_;
  StreamSpec spec_;
  std::string event_name_;
  std::unique_ptr<Program> program_;
  std::vector<RunningProcess> running_;  // where there is no program to start
  std::vector<pid_t> targets_;           // the threads of these that are traced
  std::vector<Fd> pidfds_;               // of these
  std::vector<PerfEventStream> streams_;
  std::vector<pollfd> polled_;  // the program's signals, then one of each stream
  std::optional<Writer> writer_;
  std::optional<RecordingLoop> loop_;
  bool stopped_ = false;  // by a signal, the size limit, or the program's end
  std::vector<std::string> warnings_;
  Status status_;  // of writing the file: its first error
};

Result<RecordResult> PerfRecorder::run() {
  if (auto ready = prepare(); !ready) return std::unexpected(ready.error());
  const OutputGuard output(options_.output);
  if (auto created = create_file(); !created) return std::unexpected(created.error());
  // From here on there is a file of ours, which must not stay if nothing comes of it.
  if (auto started = start_program(); !started) {
    writer_.reset();
    output.undo();
    return std::unexpected(started.error());
  }
  record();
  switch_off();
  finish_file();
  if (!attached()) program_->wait();
  if (!status_) return std::unexpected(status_.error());
  return result();
}

// Everything that can be refused without having touched a file or run anything.
Status PerfRecorder::prepare() {
  if (options_.wait_all) {
    return fail(
        ErrorCode::usage,
        "--wait-all: the processor's trace ends with the command; this needs --source qemu");
  }
  if (auto targets = look_for_targets(); !targets) return targets;
  const auto cpus = online_cpus(context_.paths);
  if (!cpus) return std::unexpected(cpus.error());

  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto plan =
      plan_buffers(options_.buffer_size, read_memory_limits(context_.paths), cpus->size(), page);
  if (!plan) return std::unexpected(plan.error());
  scope_.only_threads = !options_.follow_children;
  scope_.level = options_.level;
  const auto watermark = options_.snapshot ? 0 : static_cast<std::uint32_t>(plan->aux / 4);
  auto trace = find_perf_trace(options_, context_.paths);
  if (!trace) return std::unexpected(trace.error());
  trace_ = std::move(*trace);
  auto event = trace_->event(scope_, watermark);
  if (!event) return std::unexpected(event.error());
  auto filter = trace_->filter(options_.filters);
  if (!filter) return std::unexpected(filter.error());

  spec_.trace = trace_->name();
  spec_.event = event->attr;
  spec_.tracking = tracking_attr(scope_);
  spec_.filter = std::move(*filter);
  spec_.buffers = *plan;
  spec_.shrink = options_.buffer_size == 0;
  spec_.aux = trace_->has_buffer();
  spec_.snapshot = options_.snapshot;
  spec_.reference_size = trace_->reference_size();
  event_name_ = event->name;
  warnings_ = std::move(event->notes);

  if (attached()) {  // begun by hand, once all that is there is known
    spec_.event.enable_on_exec = 0;
    spec_.tracking.enable_on_exec = 0;
  }
  auto program = attached() ? Program::none(options_.snapshot)
                            : Program::prepare({.command = options_.command,
                                                .environment = {},
                                                .inherit_fds = {},
                                                .snapshot_signal = options_.snapshot});
  if (!program) return std::unexpected(program.error());
  program_ = std::move(*program);
  return open_streams(*cpus);
}

// The command, or the processes that run already.
Status PerfRecorder::look_for_targets() {
  if (!attached()) {
    if (options_.command.empty()) return fail(ErrorCode::usage, "no command to run");
    const auto found = find_command(options_.command[0]);
    return found ? Status() : std::unexpected(found.error());
  }
  for (const pid_t pid : options_.pids) {
    auto found = look_at_process(pid, options_.threads);
    if (!found) return std::unexpected(found.error());
    targets_.insert(targets_.end(), found->threads.begin(), found->threads.end());
    running_.push_back(std::move(*found));
    pidfds_.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  }
  if (targets_.empty()) {
    return fail(ErrorCode::not_found, "--threads: these are no threads of the processes");
  }
  return {};
}

// Of those that were attached to.
bool PerfRecorder::have_ended() const {
  return std::ranges::all_of(pidfds_, [](const Fd& process) {
    pollfd ended{.fd = process.get(), .events = POLLIN, .revents = 0};
    return !process || ::poll(&ended, 1, 0) > 0;
  });
}

Status PerfRecorder::open_streams(const std::vector<int>& cpus) {
  for (const int cpu : cpus) {
    auto stream = open_stream(cpu, static_cast<std::uint32_t>(streams_.size()));
    if (!stream) return std::unexpected(stream.error());
    streams_.push_back(std::move(*stream));
  }
  polled_.push_back({.fd = program_->event_fd(), .events = POLLIN, .revents = 0});
  for (const auto& stream : streams_) {
    polled_.push_back({.fd = stream.poll_fd(), .events = POLLIN, .revents = 0});
  }
  return {};
}

Result<PerfEventStream> PerfRecorder::open_stream(int cpu, std::uint32_t index) {
  const pid_t pid = attached() ? targets_.front() : program_->pid();
  const std::span<const pid_t> others =
      attached() ? std::span<const pid_t>(targets_).subspan(1) : std::span<const pid_t>();
  auto stream = PerfEventStream::open(kernel_, context_.paths, spec_, pid, cpu, index, others);
  // Linux before 5.12 does not know this bit of the tracking event.
  if (!stream && stream.error().code == ErrorCode::unsupported && spec_.tracking.build_id) {
    StreamSpec older = spec_;
    older.tracking.build_id = 0;
    auto retry = PerfEventStream::open(kernel_, context_.paths, older, pid, cpu, index, others);
    if (retry) spec_ = older;
    if (retry) return retry;
  }
  return stream;
}

Status PerfRecorder::create_file() {
  perfdata::WriterOptions file;
  perfdata::Attr traced{.attr = spec_.event, .ids = {}, .name = event_name_};
  perfdata::Attr tracking{.attr = spec_.tracking, .ids = {}, .name = "dummy:u"};
  for (const auto& stream : streams_) {
    traced.ids.push_back(stream.event_id());
    tracking.ids.push_back(stream.tracking_id());
    for (const auto& other : stream.others()) {
      traced.ids.push_back(other.event_id);
      tracking.ids.push_back(other.tracking_id);
    }
  }
  file.attrs = {std::move(traced), std::move(tracking)};
  trace_->describe(file, spec_.event, spec_.filter);
  file.pt.snapshot = options_.snapshot;
  file.pt.time = streams_.front().time();
  file.cmdline = context_.cmdline;
  file.version = context_.version;
  auto writer = Writer::create(options_.output, std::move(file));
  // Not the program's fault, whatever it is.
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  writer_ = std::move(*writer);
  return {};
}

// What runs already is told of, and then traced.
Status PerfRecorder::begin_attached() {
  for (const RunningProcess& process : running_) {
    if (Status written = write_running(*writer_, process); !written) return written;
  }
  if (Status written = writer_->finished_init(); !written) return written;
  for (auto& stream : streams_) {
    if (Status enabled = stream.enable(); !enabled) return enabled;
  }
  return {};
}

Status PerfRecorder::start_program() {
  if (attached()) return begin_attached();
  // hodo's own name stands until exec; without it perf would show the process as ":PID" until then.
  const pid_t pid = program_->pid();
  const perfdata::Comm comm{.pid = pid, .tid = pid, .comm = "hodo", .exec = false};
  const perfdata::Stamp stamp{.pid = pid, .tid = pid, .time = 0, .cpu = 0};
  if (auto written = writer_->comm(comm, stamp); !written) return written;
  if (auto written = writer_->finished_init(); !written) return written;
  return program_->start();
}

// Until something ends the recording.
void PerfRecorder::record() {
  loop_.emplace(options_, *this, *writer_);
  keep(loop_->run());
}

Status PerfRecorder::wait() {
  const int most = attached() ? kPollAttached : kPollMilliseconds;
  if (::poll(polled_.data(), polled_.size(), most) < 0 && errno != EINTR) {
    return fail(ErrorCode::io, "cannot wait for trace data");
  }
  for (pollfd& entry : polled_) {
    // The kernel says so for good when no traced thread is left on a processor's event.
    if (entry.revents & (POLLHUP | POLLERR | POLLNVAL)) entry.fd = -1;
  }
  return {};
}

ProgramEvents PerfRecorder::take_events() {
  const ProgramEvents events = program_->take_events();
  stopped_ = stopped_ || events.ended || (attached() && have_ended());
  return events;
}

Status PerfRecorder::drain() {
  if (!stopped_) drain_all(false);  // else the rest comes when the events are off
  return status_;
}

void PerfRecorder::snapshot() {
  if (!stopped_) take_snapshot(false);
}

void PerfRecorder::drain_all(bool last) {
  bool any = false;
  for (auto& stream : streams_) {
    const auto drained = stream.drain(*writer_, last);
    if (!drained) return keep(std::unexpected(drained.error()));
    any |= *drained;
  }
  if (any) keep(writer_->finished_round());
}

void PerfRecorder::take_snapshot(bool last) {
  for (auto& stream : streams_) keep(stream.disable());
  drain_all(last);
  const std::uint64_t reference = __rdtsc();  // tells the snapshots of a file apart
  for (auto& stream : streams_) keep(stream.snapshot(*writer_, reference));
  if (!last) {
    for (auto& stream : streams_) keep(stream.enable());
    keep(writer_->flush());
  }
}

void PerfRecorder::switch_off() {
  for (auto& stream : streams_) {
    keep(stream.disable());
    keep(stream.disable_tracking());
  }
  if (options_.snapshot) return take_snapshot(true);
  drain_all(true);
}

void PerfRecorder::finish_file() {
  if (status_) keep(writer_->finish(summary()));
  writer_.reset();
}

std::string PerfRecorder::summary() const {
  RingCounts counts;
  std::uint64_t trace_bytes = 0;
  for (const auto& stream : streams_) {
    counts += stream.counts();
    trace_bytes += stream.trace_bytes();
  }
  nlohmann::ordered_json json = {{"source", trace_->word()},
                                 {"trace_bytes", trace_bytes},
                                 {"lost_records", counts.lost_records},
                                 {"aux_truncated", counts.aux_truncated},
                                 {"aux_partial", counts.aux_partial},
                                 {"processes", counts.processes + first_processes()},
                                 {"threads", counts.processes + counts.threads + first_threads()}};
  if (options_.snapshot) json["snapshot"] = true;
  RecordResult how;
  if (const auto status = program_ ? program_->wait_status() : std::nullopt) {
    add_command_end(how.ends, program_->pid(), options_.command.front(), *status);
  }
  loop_->add_warnings(how);
  describe_trust_and_ends(json, how);
  return summary_line(json);
}

RecordResult PerfRecorder::result() {
  RecordResult result;
  RingCounts counts;
  for (const auto& stream : streams_) {
    counts += stream.counts();
    result.trace_bytes += stream.trace_bytes();
  }
  result.overflows = counts.aux_truncated;
  result.complete =
      !loop_->full() &&
      counts.aux_truncated + counts.aux_partial + counts.lost_records + counts.damaged_bytes == 0;
  warn_of_losses(counts);
  loop_->add_warnings(result);
  if (program_->killed()) warnings_.emplace_back(kKilledWarning);
  if (!attached()) result.exit_status = *program_->exit_status();
  result.processes = static_cast<std::uint32_t>(counts.processes + first_processes());
  result.threads = static_cast<std::uint32_t>(counts.processes + counts.threads + first_threads());
  result.warnings.insert(result.warnings.begin(), warnings_.begin(), warnings_.end());
  return result;
}

void PerfRecorder::warn_of_losses(const RingCounts& counts) {
  if (counts.aux_truncated != 0) {
    warnings_.push_back(
        "the trace has " + std::to_string(counts.aux_truncated) +
        " gaps of unknown size: a buffer was full before it could be written out; a larger buffer "
        "or an address filter helps");
  }
  if (counts.aux_partial != 0) {
    warnings_.push_back("the trace has " + std::to_string(counts.aux_partial) +
                        " stretches with parts missing, as when a virtual machine ran meanwhile");
  }
  if (counts.lost_records != 0) {
    warnings_.push_back(
        std::to_string(counts.lost_records) +
        " records about mappings, names or thread switches were lost: the buffer was full; parts "
        "of the trace may be ascribed to the wrong thread or not decode");
  }
  if (counts.damaged_bytes != 0) {
    warnings_.push_back(std::to_string(counts.damaged_bytes) +
                        " bytes from the kernel's ring buffer could not be understood");
  }
}

}  // namespace

Status probe_perf_event(SourceKind source, const PerfEventContext& context) {
  const auto trace = find_perf_trace({.source = source}, context.paths);
  if (!trace) return std::unexpected(trace.error());
  const auto event = (*trace)->event({}, 0);
  if (!event) return std::unexpected(event.error());
  Kernel& kernel = context.kernel ? *context.kernel : system_kernel();
  const auto opened = kernel.open_event(event->attr, 0, -1);
  if (!opened) {
    return std::unexpected(open_refused(opened.error(), context.paths, (*trace)->name()));
  }
  return {};
}

Result<RecordResult> record_perf_event(const RecordOptions& options,
                                       const PerfEventContext& context) {
  return PerfRecorder(options, context).run();
}

}  // namespace hodo::capture
