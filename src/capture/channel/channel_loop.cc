#include "channel_loop.h"

#include <poll.h>
#include <signal.h>

#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

// How long processes that outlive the program are given to end, as those of a shell's last pipe do.
constexpr std::uint64_t kLeaving = 200'000'000;  // ns

}  // namespace

void ChannelLoop::run() {
  static_cast<void>(loop_.run());  // no step of ours fails
  left_behind_ = channels_.running();
  channels_.stop();
  channels_.drain(true);
  channels_.snapshot();
}

void ChannelLoop::add_warnings(RecordResult& result) const {
  loop_.add_warnings(result);
  if (program_.killed()) result.warnings.emplace_back(kKilledWarning);
}

bool ChannelLoop::over() {
  // It was drained since.
  if (program_ended_ == 0) return false;
  if (loop_.interrupted()) return true;
  if (channels_.running().empty()) {
    channels_.accept(socket_);
    if (channels_.running().empty()) return true;
  }
  const bool all = options_.wait_all && !program_.asked_to_end();
  return !all && relay::now() - program_ended_ > kLeaving;
}

Status ChannelLoop::wait() {
  std::vector<pollfd> fds = {{.fd = program_.event_fd(), .events = POLLIN, .revents = 0},
                             {.fd = socket_, .events = POLLIN, .revents = 0}};
  for (const int fd : channels_.wake_fds())
    fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  channels_.wait(fds);
  channels_.accept(socket_);
  return {};
}

ProgramEvents ChannelLoop::take_events() {
  const ProgramEvents events = program_.take_events();
  if (program_.exit_status() && program_ended_ == 0) program_ended_ = relay::now();
  return events;
}

Status ChannelLoop::drain() {
  heed_end_request();
  channels_.drain(false);
  return {};
}

void ChannelLoop::heed_end_request() {
  if (options_.end_fd < 0 || ended_) return;
  pollfd request{.fd = options_.end_fd, .events = POLLIN, .revents = 0};
  if (poll(&request, 1, 0) <= 0 || (request.revents & POLLIN) == 0) return;
  ended_ = true;
  channels_.kill();
  program_.kill(SIGKILL);
}

bool ChannelLoop::stop() {
  const bool running = program_ended_ == 0 || !channels_.running().empty();
  channels_.stop();
  return running;
}

Status ChannelLoop::flush() {
  channels_.flush();
  return {};
}

}  // namespace hodo::capture
