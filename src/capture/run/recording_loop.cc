#include "recording_loop.h"

#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

constexpr std::uint64_t kFlushEvery = 250'000'000;  // ns: what a kill -9 may cost

}  // namespace

Status RecordingLoop::run() {
  began_ = relay::now();
  while (!recorder_.over()) {
    if (Status status = recorder_.wait(); !status) return status;
    heed(recorder_.take_events());
    if (Status status = recorder_.drain(); !status) return status;
    check_limits();
    if (Status status = flush_if_due(); !status) return status;
  }
  return {};
}

void RecordingLoop::heed(const ProgramEvents& events) {
  if (events.stop) {
    interrupted_ = true;
    stop();
  }
  if (events.snapshot) recorder_.snapshot();
}

void RecordingLoop::check_limits() {
  if (options_.max_size != 0 && !full_ && writer_.bytes_written() >= options_.max_size) {
    full_ = true;
    stop();
  }
  if (options_.duration != 0 && !late_ && relay::now() - began_ >= options_.duration) {
    late_ = true;
    stop();
  }
}

// What was running before is recorded for a while, whoever ends that.
void RecordingLoop::stop() {
  if (recorder_.stop() && options_.pids.empty()) cut_short_ = true;
}

Status RecordingLoop::flush_if_due() {
  const std::uint64_t now = relay::now();
  if (now - last_flush_ < kFlushEvery) return {};
  last_flush_ = now;
  return recorder_.flush();
}

void RecordingLoop::add_warnings(RecordResult& result) const {
  const auto add = [&](std::string what) {
    if (cut_short_) {
      result.unrecorded.push_back(std::move(what) + ": what ran later was not recorded");
    } else {
      result.warnings.push_back(std::move(what));
    }
  };
  if (full_) {
    add("the recording ended at --max-size");
  } else if (interrupted_ && options_.pids.empty()) {
    add("the recording was ended by a signal");
  }
}

}  // namespace hodo::capture
