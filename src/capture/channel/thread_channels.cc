#include "thread_channels.h"

#include <fmt/format.h>
#include <linux/kcmp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "hodo/relay/clock.h"
#include "piece_size.h"
#include "run/pid_namespace.h"

namespace hodo::capture {
namespace {

constexpr std::size_t kMostPlaces = 100;  // that are listed one by one
// In the summary, which must not become too large to read.
constexpr std::size_t kLongestPath = 512;

std::optional<Fault> fault_of(const relay::EndRecord& end) {
  const auto of = [&end](std::string_view access) {
    return Fault{.access = access, .address = end.address, .mapped = end.unmapped != 1};
  };
  switch (end.access) {
    case relay::Access::read:
      return of("read");
    case relay::Access::write:
      return of("write");
    case relay::Access::execute:
      return of("execute");
    default:
      return std::nullopt;
  }
}

ProcessEnd end_of(const relay::EndRecord& end, std::uint64_t time, std::int32_t tid) {
  ProcessEnd out{
      .time = time, .exit_status = end.exit_status, .signal = end.signal, .tid = tid, .ip = {}};
  if (end.ip_known == 1) out.ip = end.ip;
  if (end.signal != 0) out.fault = fault_of(end);
  return out;
}

void sum_up(CacheUse& sum, const relay::CacheRecord& use) {
  sum.code += use.code;
  sum.made += use.made;
  sum.editions += use.editions;
  sum.most = std::max(sum.most, use.most);
}

// Not where the kernel says that they have a memory each, or one of them is gone.
bool may_share_memory(pid_t a, pid_t b) {
  const long order = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
  return order == 0 || (order < 0 && errno != ESRCH);
}

// `text`: a program's path, and why, after a NUL.
std::string unrecorded(std::string_view text) {
  const auto end = text.find('\0');
  const auto reason = end == text.npos ? std::string_view() : text.substr(end + 1);
  return fmt::format("{} ran without being recorded: {}",
                     text.substr(0, std::min(end, kLongestPath)), reason);
}

}  // namespace

void ThreadChannels::accept(int listening_socket) {
  listening_ = listening_socket;
  keep(connections_.each(listening_socket, [this](NewChannel asked) {
    if (asked.hello.start == relay::Start::mappings) return asked.answer_with_mappings();
    if (asked.hello.start == relay::Start::page) return asked.answer_of_page();
    if (asked.hello.start == relay::Start::unmounts) return let_go_of_files(asked);
    if (asked.hello.start == relay::Start::unnames) return hold_files(asked);
    if (asked.hello.start == relay::Start::copies) return copy_file(std::move(asked));
    asked.hello = in_our_namespace(asked.hello, asked.sender, asked.connected);
    seen_.insert(asked.hello.pid);
    if (asked.hello.start == relay::Start::executes) return hold(std::move(asked));
    if (asked.hello.start == relay::Start::dies) return hold_stopped(asked);
    if (asked.hello.start == relay::Start::traces) return traced_.ask(std::move(asked));
    if (stopped_) return;
    if (asked.hello.start == relay::Start::unrecorded) return note_unrecorded(asked.hello);
    add(std::move(asked));
  }));
  if (new_programs_ == nullptr) return;
  new_programs_->look(native_);
  traced_.look(*new_programs_);
}

void ThreadChannels::serve() {
  accept(listening_);
  drain(false);
}

void ThreadChannels::note(std::string words) {
  if (native_.size() < kMostPlaces) native_.push_back(std::move(words));
}

void ThreadChannels::note_unrecorded(const relay::Hello& hello) {
  note(
      fmt::format("thread {} of process {} ({}) ran without being recorded: it had no "
                  "memory for its channel (RLIMIT_AS?)",
                  hello.tid, hello.pid, name_of(hello.comm)));
}

// What ran of them has been told by then: else their mappings would come when they are out of
// reach.
void ThreadChannels::let_go_of_files(const NewChannel& asked) {
  drain(true);
  processes_.let_go(asked.hello.device);
  if (!file_error_) keep(sideband_.let_go(asked.hello.device));
  asked.say_done();
}

bool ThreadChannels::may_come_yet(pid_t pid) const {
  return !seen_.contains(pid) && !connections_.silent().empty();
}

bool ThreadChannels::shares_memory(pid_t pid) const {
  return std::ranges::any_of(channels_, [pid](const auto& channel) {
    return channel->trace.pid != pid && may_share_memory(channel->trace.pid, pid);
  });
}

void ThreadChannels::hold_files(const NewChannel& asked) {
  drain(false);
  asked.say_done();
}

void ThreadChannels::copy_file(NewChannel asked) {
  drain(false);
  sideband_.copy({makedev(0, asked.hello.minor), asked.hello.inode}, std::move(asked.given),
                 std::move(asked.socket));
}

// A program may delete what another one ran that has ended: files that are mapped are opened first.
void ThreadChannels::hold(NewChannel asked) {
  if (new_programs_ == nullptr) return;
  drain(false);
  const int socket = asked.socket.get();
  std::string answer(1, relay::kLeavesAlone);
  // What ran when the recording had ended is told of as a whole.
  if (!stopped_) {
    const Status held =
        new_programs_->hold(asked.hello.pid, asked.hello.tid, asked.socket, asked.hello.line);
    if (held) {
      answer = relay::kTakesOver;
    } else {
      answer += held.error().message.substr(0, relay::kLongestReason);
    }
  }
  static_cast<void>(send(socket, answer.data(), answer.size(), MSG_NOSIGNAL));
}

void ThreadChannels::hold_stopped(const NewChannel& asked) {
  // None says so for another.
  if (new_programs_ == nullptr || asked.sender != asked.hello.pid) return;
  new_programs_->hold_stopped(asked.hello.pid, asked.hello.tid);
  asked.say_done();
}

void ThreadChannels::add(NewChannel asked) {
  const relay::Hello& hello = asked.hello;
  processes_.look();
  const bool executes = processes_.lives(hello.pid);
  const bool attached = hello.start == relay::Start::attached;
  const auto back = traced_.welcome(hello.pid);
  if (attached && !executes && back == TracedProcesses::Return::none) ++process_count_;
  if (hello.start != relay::Start::thread && !attached) {
    if (!executes) ++process_count_;
    if (executes) distrust_unless_leaving(hello.pid);
    retire_channels(hello.pid);
  }
  if (back == TracedProcesses::Return::executed) keep(sideband_.announce_executed(hello));
  keep(sideband_.announce(hello));
  processes_.join(hello);
  channels_.push_back(std::make_unique<Channel>(
      Channel{relay::ChannelReader(std::move(asked.memory), settings_.recording),
              traces_.begin(hello.pid, hello.tid, attached), relay::now()}));
  asked.answer();
}

void ThreadChannels::keep(const Status& status) {
  if (status || file_error_) return;
  file_error_ = status.error();
  stop();
}

void ThreadChannels::stop() {
  stopped_ = true;
  traced_.stop();
  for (const auto& channel : channels_) channel->reader.stop();
}

void ThreadChannels::kill() { processes_.kill(); }

void ThreadChannels::drain(bool all) {
  processes_.look();
  pace_.begin();
  for (std::size_t i = 0; i < channels_.size();) {
    Channel& channel = *channels_[i];
    if (channel.reader.closed() || processes_[channel.trace.pid].gone || channel.reader.damaged()) {
      finish_channel(i);
      continue;
    }
    if (!file_error_) keep(drain_channel(channel, all));
    ++i;
  }
  pace_.end();
  finish_round();
  if (killed_threads_.is_due(relay::now())) look_for_killed_threads();
}

// Whoever reads the file now finds with a thread's trace what another thread of its process has
// mapped or written since that one was drained.
void ThreadChannels::flush() {
  for (const auto& channel : channels_) {
    if (file_error_ || channel->reader.closed() || channel->reader.damaged()) continue;
    channel->reader.look();
    keep(write_records(*channel));
  }
  if (!file_error_) keep(writer_.flush());
}

void ThreadChannels::look_for_killed_threads() {
  std::set<std::int32_t> ending;
  for (const auto& channel : channels_) {
    const RecordedProcess& process = processes_[channel->trace.pid];
    if (process.gone || process.end || channel->reader.leaving()) ending.insert(channel->trace.pid);
  }
  std::vector<KilledThreads::Thread> silent;
  for (const auto& channel : channels_) {
    const auto [pid, tid] = std::pair(channel->trace.pid, channel->trace.tid);
    if (ending.contains(pid) || channel->reader.closed() || channel->reader.damaged()) continue;
    silent.push_back({pid, tid});
  }
  killed_threads_.look(silent, relay::now());
}

// Every channel has been looked at: what comes later is younger than what the last round had, but
// for what its thread was held up with.
void ThreadChannels::finish_round() {
  if (!traces_.take_sampled() || file_error_) return;
  keep(writer_.finished_round());
  rounds_.finish(relay::now());
}

// Any process of this user can say hello for another one.
void ThreadChannels::distrust_unless_leaving(std::int32_t pid) {
  const auto of_process = [pid](const auto& channel) { return channel->trace.pid == pid; };
  for (const auto& channel : channels_) {
    if (of_process(channel)) channel->reader.look();
  }
  if (std::ranges::any_of(channels_, [&](const auto& channel) {
        return of_process(channel) && channel->reader.leaving();
      })) {
    return;
  }
  for (const auto& channel : channels_) {
    if (!of_process(channel)) continue;
    channel->reader.distrust("a program was announced in its place that it has not executed");
  }
}

void ThreadChannels::retire_channels(std::int32_t pid) {
  for (std::size_t i = 0; i < channels_.size();) {
    if (channels_[i]->trace.pid == pid) {
      finish_channel(i);
    } else {
      ++i;
    }
  }
}

Status ThreadChannels::drain_channel(Channel& channel, bool all) {
  // What is there now: data that comes meanwhile may belong to later sideband records.
  channel.reader.look();
  channel.trace.seen = relay::now();
  // Records first: what is needed to decode the data was sent before it.
  const auto records = write_records(channel);
  if (!records) return records;
  return take_aux(channel, all);
}

void ThreadChannels::finish_channel(std::size_t index) {
  Channel& channel = *channels_[index];
  channel.reader.finish();
  if (!file_error_) keep(drain_channel(channel, true));
  overflows_ += channel.reader.overflows();
  unexplained_ += channel.reader.unexplained();
  if (channel.reader.damaged()) {
    channel.reader.stop();
    note_overwritten(channel);
  }
  const std::int32_t pid = channel.trace.pid;
  traces_.end(std::move(channel.trace));
  if (auto missing = processes_.leave(pid, channel.reader)) note(*std::move(missing));
  channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(index));
}

// From here on the thread's trace cannot be trusted. Bytes are counted as in the file.
void ThreadChannels::note_overwritten(const Channel& channel) {
  ++overwritten_count_;
  if (overwritten_.size() >= kMostPlaces) return;
  overwritten_.push_back({.pid = channel.trace.pid,
                          .tid = channel.trace.tid,
                          .offset = traces_.offset_of(channel.trace.tid),
                          .time = channel.trace.seen,
                          .what = channel.reader.damage()});
}

std::vector<int> ThreadChannels::wake_fds() const {
  std::vector<int> fds = processes_.wake_fds();
  for (const int fd : connections_.wake_fds()) fds.push_back(fd);
  if (new_programs_ != nullptr) {
    for (const int fd : new_programs_->wake_fds()) fds.push_back(fd);
  }
  return fds;
}

std::vector<std::string> ThreadChannels::running() const {
  if (stopped_) return {};
  std::vector<std::string> out = processes_.living();
  for (std::string& one : traced_.away()) out.push_back(std::move(one));
  if (!connections_.silent().empty()) out.emplace_back("a process that was just forked");
  return out;
}

Status ThreadChannels::write_records(Channel& channel) {
  while (const auto record = channel.reader.next_record()) {
    const auto status = write_record(channel, *record);
    if (!status) return status;
  }
  channel.reader.release_records();
  return {};
}

Status ThreadChannels::write_record(Channel& channel, const relay::Record& record) {
  const auto [pid, tid] = std::pair(channel.trace.pid, channel.trace.tid);
  const std::uint64_t time = rounds_.time_of(record.header.time);
  switch (record.header.type) {
    case relay::RecordType::mark:
      channel.trace.tail.mark(
          {.place = relay::fixed_part<relay::MarkRecord>(record), .time = time});
      return {};
    case relay::RecordType::end: {
      const auto end = relay::fixed_part<relay::EndRecord>(record);
      processes_[pid].end = end_of(end, time, tid);
      processes_[pid].end_is_judged = end.is_judged != 0;
      return {};
    }
    case relay::RecordType::cache:
      sum_up(cache_, relay::fixed_part<relay::CacheRecord>(record));
      return {};
    case relay::RecordType::native:
      processes_[pid].gave_word = true;
      note(unrecorded(relay::text_of(record)));
      return {};
    default:
      return sideband_.write(record, pid, tid, processes_[pid].root);
  }
}

Status ThreadChannels::take_aux(Channel& channel, bool all) {
  const std::uint64_t time = channel.trace.seen;
  const std::uint64_t size = channel.reader.waiting();
  if (size == 0) return {};
  pace_.found(size, aux_size_);
  if (!all && !traces_.of_stacks() && !worth_a_piece(size, aux_size_, time - channel.last_write)) {
    return {};
  }
  channel.last_write = time;
  const std::span<const std::uint8_t> bytes = channel.reader.take();
  return bytes.empty() ? Status() : traces_.take(channel.trace, bytes);
}

void ThreadChannels::snapshot() {
  if (!traces_.keeps()) return;
  drain(true);
  if (!file_error_) keep(traces_.write_ended());
  for (const auto& channel : channels_) {
    if (!file_error_) keep(traces_.write_kept(channel->trace));
  }
  finish_round();
  if (!file_error_) keep(writer_.flush());
}

void ThreadChannels::keep_missing_files() {
  if (!file_error_) keep(sideband_.keep_missing_files());
}

void ThreadChannels::summarize(RecordResult& result) const {
  result.trace_bytes = traces_.bytes();
  result.threads = static_cast<std::uint32_t>(traces_.threads());
  result.processes = process_count_;
  result.overflows = overflows_;
  // Where the file takes no more, that is the reason, and is said as such.
  if (overflows_ != 0 && !file_error_) {
    result.warnings.push_back(fmt::format(
        "the trace has {} gaps: the disk could not keep up, or hodo was stopped", overflows_));
  }
  if (unexplained_ != 0) {
    result.warnings.push_back(
        fmt::format("at {} places execution went where no branch, signal or fault explains it; "
                    "each is marked as a gap",
                    unexplained_));
  }
  if (overwritten_count_ != 0) {
    result.warnings.push_back(fmt::format(
        "the program wrote over the memory that its trace is handed over in ({} threads): from "
        "there on their trace is missing",
        overwritten_count_));
    result.complete = false;
  }
  result.cache = cache_;
  result.overwritten = overwritten_;
  result.ends = processes_.ends();
  result.thread_ends = killed_threads_.ends();
  result.unrecorded.insert(result.unrecorded.end(), native_.begin(), native_.end());
  for (std::string& one : traced_.lost()) result.unrecorded.push_back(std::move(one));
}

}  // namespace hodo::capture
