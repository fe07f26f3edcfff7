#include "hodo/capture/vm_attach.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cmath>
#include <optional>

#include "attached_guest.h"
#include "guest_stream.h"
#include "hodo/capture/host_cpuid.h"
#include "hodo/capture/perf_attr.h"
#include "hodo/hw/features.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/clock.h"
#include "perf/perf_event_limits.h"
#include "qmp.h"
#include "run/recording_loop.h"
#include "run/summary.h"

namespace hodo::capture {
namespace {

// perf wakes us when a quarter of a buffer is full; this is for what never gets that far.
constexpr int kGuestPollMs = 200;

// The signals that end a recording, held back while this lives.
class StopSignals {
 public:
  StopSignals() {
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&mask, signal);
    ::pthread_sigmask(SIG_BLOCK, &mask, &old_);
    fd_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals() {
    came();
    ::pthread_sigmask(SIG_SETMASK, &old_, nullptr);
  }
  int fd() const { return fd_.get(); }
  bool came() {
    signalfd_siginfo info{};
    bool any = false;
    while (::read(fd_.get(), &info, sizeof info) > 0) any = true;
    return any;
  }

 private:
  Fd fd_;
  sigset_t old_ = {};
};

// With pt_mode=1 KVM takes Intel PT away from the host while a guest runs, so that the guest can
// have it (arch/x86/kvm/vmx/vmx.c, pt_guest_enter).
Status check_pt_mode(const SystemPaths& paths) {
  const auto mode = read_small_file(paths.kvm_intel + "/pt_mode");
  if (!mode || *mode != "1") return {};
  return fail(ErrorCode::unsupported,
              "kvm_intel.pt_mode is 1, which hides guests from the host's Intel PT; remedy: with "
              "all machines stopped, as root: modprobe -r kvm_intel; modprobe kvm_intel pt_mode=0");
}

Result<std::vector<VirtualCpu>> processors(Qmp& qmp) {
  const auto kvm = qmp.uses_kvm();
  if (!kvm) return std::unexpected(kvm.error());
  if (!*kvm) {
    return fail(ErrorCode::unsupported,
                "the machine is emulated (TCG), where the processor's trace would be QEMU's own; "
                "record it with hodo vm record");
  }
  auto cpus = qmp.cpus();
  if (cpus && cpus->empty()) return fail(ErrorCode::unsupported, "the machine has no processors");
  return cpus;
}

// All of the thread, user mode and kernel mode: PIP packets only come with kernel tracing, and what
// the guest's levels are to it are the same two to the host.
Result<TraceEvent> guest_event(const PtPmu& pmu, PtOptions options, std::uint32_t watermark) {
  // Precise times, so that code that ran between two switches is not ascribed to the wrong process.
  options.cyc = pmu.caps.psb_cyc;
  // The host's calls and returns go through the processor's stack of return addresses, too; those
  // that read the guest's part alone could not follow it.
  options.return_compression = false;
  auto event = pt_event(pmu, options, {.level = Level::both, .inherit = false}, watermark);
  if (!event) return event;
  event->attr.enable_on_exec = 0;
  event->attr.exclude_hv = 0;
  return event;
}

// Nothing but what a stream needs beside its trace: the host's mappings and switches say nothing
// about the guest.
perf_event_attr silent_event() {
  perf_event_attr attr = tracking_attr({.level = Level::both, .inherit = false});
  attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.comm_exec = attr.task = 0;
  attr.context_switch = attr.ksymbol = attr.bpf_event = 0;
  return attr;
}

class AttachRecorder final : public Recorder {
 public:
  AttachRecorder(const VmAttachOptions& options, const PerfEventContext& context)
      : options_(options), context_(context) {}

  Result<RecordResult> run();

 private:
  Status prepare();
  Status open_streams(const std::vector<VirtualCpu>& cpus, const StreamSpec& spec,
                      const PtPmu& pmu);
  Status create_file(const PtPmu& pmu, const perf_event_attr& event);
  Status record();
  bool over() override;
  Status wait() override;
  ProgramEvents take_events() override { return {.stop = signals_.came()}; }
  Status drain() override;
  bool stop() override {
    stopped_ = true;
    return true;
  }
  Status flush() override { return writer_->flush(); }
  Status drain_all(bool last);
  std::uint64_t now() const;
  RecordResult result() const;

  const VmAttachOptions& options_;
  const PerfEventContext& context_;
  std::optional<Qmp> qmp_;
  StopSignals signals_;  // from before there is a file
  perfdata::PtConfig config_;
  std::optional<AttachedGuest> guest_;
  std::vector<GuestStream> streams_;
  std::optional<perfdata::Writer> writer_;
  std::uint64_t end_ = 0;
  bool stopped_ = false;
  bool full_ = false;
  std::vector<std::string> warnings_;
};

Result<RecordResult> AttachRecorder::run() {
  if (auto ready = prepare(); !ready) return std::unexpected(ready.error());
  Status status = record();
  for (auto& stream : streams_) {
    if (auto off = stream.stream().disable(); status && !off) status = off;
  }
  if (status) status = drain_all(true);
  if (status) status = guest_->read_rest(now(), *writer_);
  if (!status) return std::unexpected(status.error());
  RecordResult out = result();
  const auto finished = writer_->finish(summary_line({{"source", "kvm"},
                                                      {"processes", out.processes},
                                                      {"trace_bytes", out.trace_bytes},
                                                      {"overflows", out.overflows}}));
  if (!finished) return std::unexpected(finished.error());
  return out;
}

Status AttachRecorder::prepare() {
  auto pmu = read_pt_pmu(context_.paths);
  if (!pmu) return std::unexpected(pmu.error());
  if (auto mode = check_pt_mode(context_.paths); !mode) return mode;
  auto qmp = Qmp::connect(options_.qmp_socket);
  if (!qmp) return std::unexpected(qmp.error());
  qmp_ = std::move(*qmp);
  const auto cpus = processors(*qmp_);
  if (!cpus) return std::unexpected(cpus.error());
  guest_.emplace(*qmp_);
  const auto plan = plan_buffers(options_.record.buffer_size, read_memory_limits(context_.paths),
                                 cpus->size(), static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  if (!plan) return std::unexpected(plan.error());
  auto event = guest_event(*pmu, options_.record.pt, static_cast<std::uint32_t>(plan->aux / 4));
  if (!event) return std::unexpected(event.error());
  warnings_ = std::move(event->notes);
  if (!pmu->caps.psb_cyc) {
    warnings_.emplace_back(
        "this processor has no cycle packets: what ran close to a switch of address spaces may be "
        "ascribed to the wrong one");
  }
  StreamSpec spec;
  spec.event = event->attr;
  spec.tracking = silent_event();
  spec.buffers = *plan;
  spec.shrink = options_.record.buffer_size == 0;
  if (auto opened = open_streams(*cpus, spec, *pmu); !opened) return opened;
  return create_file(*pmu, event->attr);
}

Status AttachRecorder::open_streams(const std::vector<VirtualCpu>& cpus, const StreamSpec& spec,
                                    const PtPmu& pmu) {
  Kernel& kernel = context_.kernel ? *context_.kernel : system_kernel();
  config_ = describe_pt(pmu, spec.event);
  flow::Config timing;
  timing.mtc_freq = static_cast<std::uint8_t>(config_.mtc_period());
  timing.tsc_ctc_numerator = config_.tsc_ctc_n;
  timing.tsc_ctc_denominator = config_.tsc_ctc_d;
  timing.max_nonturbo_ratio = config_.max_nonturbo_ratio;
  const hw::Signature host = hw::find_branch_features(HostCpuid()).signature;
  if (host.vendor == hw::Vendor::intel) timing.errata = pt::errata_of(host.family, host.model);
  for (const VirtualCpu& cpu : cpus) {
    auto stream = PerfEventStream::open(kernel, context_.paths, spec, cpu.thread, -1, cpu.index);
    if (!stream) return std::unexpected(stream.error());
    config_.time = stream->time();
    config_.time.zero = 0;  // the guest's TSC began with the guest
    streams_.emplace_back(std::move(*stream), cpu.index, timing, config_.time, *guest_);
  }
  return {};
}

Status AttachRecorder::create_file(const PtPmu& pmu, const perf_event_attr& event) {
  config_.pmu_type = pmu.type;
  config_.config = event.config;
  config_.per_cpu = true;
  config_.have_sched_switch = 2;  // SWITCH records say which address space ran
  perfdata::WriterOptions file;
  file.pt = config_;
  file.attrs = perfdata::pt_attrs(config_, true);
  file.cmdline = context_.cmdline;
  file.version = context_.version;
  auto writer = perfdata::Writer::create(options_.record.output, std::move(file));
  // 127 is said of the socket only.
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  writer_ = std::move(*writer);
  if (auto written = guest_->write_kernel(*writer_); !written) return written;
  return writer_->finished_init();
}

Status AttachRecorder::record() {
  if (options_.seconds > 0) {
    end_ = relay::now() + static_cast<std::uint64_t>(std::min(options_.seconds, 1e9) * 1e9);
  }
  for (auto& stream : streams_) {
    if (auto on = stream.stream().enable(); !on) return on;
  }
  RecordingLoop loop(options_.record, *this, *writer_);
  const Status recorded = loop.run();
  full_ = loop.full();
  return recorded;
}

bool AttachRecorder::over() {
  return stopped_ || !qmp_->alive() || (end_ != 0 && relay::now() >= end_);
}

Status AttachRecorder::wait() {
  std::vector<pollfd> polled = {{.fd = signals_.fd(), .events = POLLIN, .revents = 0},
                                {.fd = qmp_->fd(), .events = POLLIN, .revents = 0}};
  for (const auto& stream : streams_) {
    polled.push_back({.fd = stream.stream().poll_fd(), .events = POLLIN, .revents = 0});
  }
  std::uint64_t most = guest_->waiting() ? 0 : kGuestPollMs;
  if (end_ != 0) most = std::min(most, (end_ - std::min(end_, relay::now())) / 1'000'000 + 1);
  ::poll(polled.data(), polled.size(), static_cast<int>(most));
  return {};
}

Status AttachRecorder::drain() {
  if (Status drained = drain_all(false); !drained) return drained;
  return guest_->read_next(now(), *writer_);
}

Status AttachRecorder::drain_all(bool last) {
  for (auto& stream : streams_) {
    if (auto drained = stream.drain(*writer_, last); !drained) return drained;
  }
  return {};
}

// Of the trace: the latest that a processor's has come to.
std::uint64_t AttachRecorder::now() const {
  std::uint64_t latest = 0;
  for (const auto& stream : streams_) latest = std::max(latest, stream.now());
  return latest;
}

RecordResult AttachRecorder::result() const {
  RecordResult out;
  out.warnings = warnings_;
  RingCounts kernel;
  std::uint64_t entries = 0, damaged = 0;
  for (const auto& stream : streams_) {
    kernel += stream.stream().counts();
    entries += stream.counts().entries;
    out.overflows += stream.counts().gaps;
    damaged += stream.counts().damaged_bytes;
    out.trace_bytes += stream.bytes();
  }
  out.processes = out.threads = static_cast<std::uint32_t>(guest_->processes());
  out.complete = !full_ && out.overflows + damaged + kernel.aux_partial == 0;
  const auto warn = [&](std::uint64_t count, std::string text) {
    if (count != 0) out.warnings.push_back(fmt::format(fmt::runtime(text), count));
  };
  warn(out.overflows, "the trace has {} gaps: a buffer was full; a larger --buffer-size helps");
  warn(damaged, "{} bytes of the trace are no packets and were left out");
  warn(kernel.aux_partial,
       "{} stretches of trace have no guest in them: this processor cannot trace in VMX operation "
       "(before Skylake)");
  if (const std::string why = guest_->problem(); !why.empty()) {
    out.warnings.push_back("the guest's code is not in the file, or not all of it: " + why);
  }
  if (full_) out.warnings.emplace_back("the recording ended at --max-size");
  if (entries == 0) {
    out.warnings.emplace_back("the trace shows no VM entry: the machine was idle or stopped");
  }
  return out;
}

}  // namespace

Result<RecordResult> record_vm_attach(const VmAttachOptions& options,
                                      const PerfEventContext& context) {
  return AttachRecorder(options, context).run();
}

}  // namespace hodo::capture
