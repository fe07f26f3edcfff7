#include "attach_source.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>

#include "attachment.h"
#include "channel/thread_channels.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/clock.h"
#include "run/launch.h"
#include "run/output_guard.h"
#include "run/recording_loop.h"
#include "run/setting_up.h"

namespace hodo::capture {
namespace {

class AttachedRecording final : public Recorder {
 public:
  AttachedRecording(const RecordOptions& options, const ChannelRecording& what,
                    const EngineImage& engine, const relay::StartInfo& info, Program& signals,
                    int socket, ThreadChannels& channels, perfdata::Writer& writer)
      : options_(options),
        what_(what),
        engine_(engine),
        info_(info),
        signals_(signals),
        socket_(socket),
        channels_(channels),
        loop_(options, *this, writer) {}

  Status attach_all() {
    for (const pid_t pid : options_.pids) {
      const Urgent urgent;
      const auto newcomers =
          attach(engine_, info_, what_.settings, pid, options_.threads, [this] { serve(); });
      if (!newcomers) {
        release_all();
        return std::unexpected(newcomers.error());
      }
      attached_.insert(pid);
      welcome(pid, *newcomers);
    }
    return {};
  }

  void run() {
    began_ = relay::now();
    static_cast<void>(loop_.run());  // no step of ours fails
    release_all();
    channels_.stop();
    channels_.drain(true);
    channels_.snapshot();
  }

  void add_warnings(RecordResult& result) const {
    loop_.add_warnings(result);
    result.warnings.insert(result.warnings.end(), left_.begin(), left_.end());
  }

 private:
  void serve() {
    channels_.accept(socket_);
    channels_.drain(false);
  }

  bool over() override {
    if (stop_ || channels_.file_error()) return true;
    if (!channels_.running().empty()) return false;
    channels_.accept(socket_);
    return channels_.running().empty() && relay::now() - began_ > kSettled;
  }

  Status wait() override {
    std::vector<pollfd> fds = {{.fd = signals_.event_fd(), .events = POLLIN, .revents = 0},
                               {.fd = socket_, .events = POLLIN, .revents = 0}};
    for (const int fd : channels_.wake_fds()) {
      fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    }
    if (options_.end_fd >= 0) {
      fds.push_back({.fd = options_.end_fd, .events = POLLIN, .revents = 0});
    }
    channels_.wait(fds);
    channels_.accept(socket_);
    if (options_.end_fd >= 0 && (fds.back().revents & POLLIN) != 0) {
      channels_.kill();
      stop_ = true;
    }
    return {};
  }

  ProgramEvents take_events() override { return signals_.take_events(); }

  Status drain() override {
    channels_.drain(false);
    return {};
  }

  void snapshot() override { channels_.snapshot(); }
  bool stop() override {
    stop_ = true;
    return true;
  }

  Status flush() override {
    channels_.flush();
    return {};
  }

  // Its threads stand still until they have their channels: what else runs on this machine is not
  // to keep them waiting. One may have ended before, or wait for something else.
  void welcome(pid_t pid, std::size_t newcomers) {
    constexpr std::uint64_t kMost = 50'000'000;
    const std::uint64_t deadline = relay::now() + kMost;
    serve();
    while (channels_.channels_of(pid) < newcomers && relay::now() < deadline) {
      pollfd p{.fd = socket_, .events = POLLIN, .revents = 0};
      poll(&p, 1, 1);
      serve();
    }
  }

  // Also of what comes meanwhile: programs that they start.
  void release_all() {
    std::set<pid_t> done;
    for (bool more = true; more;) {
      more = false;
      serve();
      std::set<pid_t> all = attached_;
      all.insert(channels_.seen().begin(), channels_.seen().end());
      for (const pid_t pid : all) {
        if (done.contains(pid)) continue;
        done.insert(pid);
        more = true;
        const Status let_go = release(engine_, what_.key, pid, [this] { serve(); });
        if (!let_go) left_.push_back(let_go.error().message + ": it goes on in the engine");
      }
    }
  }

  // How long threads may take until they say hello.
  static constexpr std::uint64_t kSettled = 1'000'000'000;

  const RecordOptions& options_;
  const ChannelRecording& what_;
  const EngineImage& engine_;
  const relay::StartInfo& info_;
  Program& signals_;
  int socket_;
  ThreadChannels& channels_;
  std::set<pid_t> attached_;
  std::vector<std::string> left_;
  RecordingLoop loop_;
  std::uint64_t began_ = 0;
  bool stop_ = false;
};

}  // namespace

Result<RecordResult> record_attached(const RecordOptions& options, const ChannelRecording& what,
                                     const EngineImage& engine, const relay::StartInfo& info,
                                     const std::vector<std::string>& own_command_line) {
  for (const pid_t pid : options.pids) {
    if (const Status allowed = check_attachable(pid); !allowed) {
      return std::unexpected(allowed.error());
    }
  }
  const auto buffer = aux_size(options);
  if (!buffer) return std::unexpected(buffer.error());
  const auto listening = relay::listen_socket(what.socket);
  if (!listening) return std::unexpected(listening.error());
  const Fd listener(*listening);
  perfdata::WriterOptions file;
  describe_trace(options, file);
  file.cmdline = own_command_line;
  file.version = options.recorder;
  file.clock = clock_data();
  const OutputGuard output(options.output);
  auto writer = perfdata::Writer::create(options.output, std::move(file));
  if (!writer) return fail(ErrorCode::io, writer.error().message);
  auto signals = Program::none(options.snapshot);
  if (!signals) return std::unexpected(signals.error());

  ThreadChannels channels(*writer, what.settings, what.key, *buffer, options.snapshot);
  channels.set_new_programs(what.new_programs);
  AttachedRecording recording(options, what, engine, info, **signals, listener.get(), channels,
                              *writer);
  if (const Status attached = recording.attach_all(); !attached) {
    output.undo();
    return std::unexpected(attached.error());
  }
  recording.run();
  RecordResult result;
  channels.keep_missing_files();
  channels.summarize(result);
  recording.add_warnings(result);
  finish_file(*writer, channels.file_error(), what, options.snapshot, result);
  return result;
}

}  // namespace hodo::capture
