#include "recording_loop.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <climits>
#include <cstdlib>

#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

constexpr std::uint64_t kDefaultAuxSize = 4 << 20;
constexpr std::uint64_t kBtsAuxSize = 16 << 20;

std::string own_folder() {
  std::array<char, PATH_MAX> path{};
  const ssize_t n = readlink("/proc/self/exe", path.data(), path.size() - 1);
  const std::string file(path.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
  return file.substr(0, file.rfind('/'));
}

constexpr int kPollMs = 4;  // how long a thread's packets may lie before they are looked at
// How long processes that outlive the program are given to end, as those of a shell's last pipe do.
constexpr std::uint64_t kLeaving = 200'000'000;     // ns
constexpr std::uint64_t kFlushEvery = 250'000'000;  // ns: what a kill -9 may cost

}  // namespace

std::string find_plugin(const std::string& name) {
  const std::string here = own_folder();
  for (const char* folder : {"/../../plugin/", "/../../engine/", "/../lib/hodoscope/",
                             "/../lib/x86_64-linux-gnu/hodoscope/"}) {
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

Result<relay::Key> make_key() {
  std::array<std::uint8_t, relay::Key{}.size() / 2> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return fail(ErrorCode::io, "the kernel gives no random bytes");
  }
  relay::Key key{};
  fmt::format_to(key.begin(), "{:02x}", fmt::join(bytes, ""));
  return key;
}

Result<std::uint64_t> aux_size(const RecordOptions& options) {
  constexpr std::uint64_t kLeast = 64 << 10;
  constexpr std::uint64_t kMost = 1 << 30;
  if (options.buffer_size > kMost) {
    return fail(ErrorCode::usage, "--buffer-size: at most 1G under QEMU");
  }
  // BTS records are ten to four hundred times the bytes: with less, the program waits too often.
  const std::uint64_t usual = options.source == SourceKind::bts ? kBtsAuxSize : kDefaultAuxSize;
  const std::uint64_t wanted = options.buffer_size != 0 ? options.buffer_size : usual;
  return std::bit_ceil(std::max(wanted, kLeast));
}

void RecordingLoop::run() {
  while (!over()) {
    wait();
    handle_program();
    handle_end_request();
    channels_.drain(false);
    check_limits();
    flush_if_due();
  }
  left_behind_ = channels_.running();
  channels_.stop();
  channels_.drain(true);
  channels_.snapshot();
}

void RecordingLoop::add_warnings(RecordResult& result) const {
  if (interrupted_) result.warnings.emplace_back("the recording was ended by a signal");
  if (program_.killed()) result.warnings.emplace_back(kKilledWarning);
  if (full_) result.warnings.emplace_back("the recording ended at --max-size");
}

bool RecordingLoop::over() {
  // It was drained since.
  if (program_ended_ == 0) return false;
  if (interrupted_) return true;
  if (channels_.running().empty()) {
    channels_.accept(socket_);
    if (channels_.running().empty()) return true;
  }
  const bool all = options_.wait_all && !program_.asked_to_end();
  return !all && relay::now() - program_ended_ > kLeaving;
}

void RecordingLoop::wait() {
  std::vector<pollfd> fds = {{.fd = program_.event_fd(), .events = POLLIN, .revents = 0},
                             {.fd = socket_, .events = POLLIN, .revents = 0}};
  for (const int fd : channels_.wake_fds())
    fds.push_back({.fd = fd, .events = POLLIN, .revents = 0});
  poll(fds.data(), fds.size(), channels_.busy() ? 0 : kPollMs);
  channels_.accept(socket_);
}

void RecordingLoop::handle_program() {
  const ProgramEvents events = program_.take_events();
  if (events.stop) {
    interrupted_ = true;
    channels_.stop();
  }
  if (events.snapshot) channels_.snapshot();
  if (program_.exit_status() && program_ended_ == 0) program_ended_ = relay::now();
}

void RecordingLoop::handle_end_request() {
  if (options_.end_fd < 0 || ended_) return;
  pollfd request{.fd = options_.end_fd, .events = POLLIN, .revents = 0};
  if (poll(&request, 1, 0) <= 0 || (request.revents & POLLIN) == 0) return;
  ended_ = true;
  channels_.kill();
  program_.kill(SIGKILL);
}

void RecordingLoop::check_limits() {
  if (options_.max_size == 0 || full_ || writer_.bytes_written() < options_.max_size) return;
  full_ = true;
  channels_.stop();
}

void RecordingLoop::flush_if_due() {
  if (relay::now() - last_flush_ < kFlushEvery || channels_.file_error()) return;
  last_flush_ = relay::now();
  static_cast<void>(writer_.flush());  // an error comes back from the next record
}

}  // namespace hodo::capture
