#include "thread_channels.h"

#include <fmt/format.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "exit_code.h"
#include "hodo/image/elf.h"
#include "hodo/relay/clock.h"
#include "hodo/relay/engine_start.h"
#include "piece_size.h"
#include "run/pid_namespace.h"

namespace hodo::capture {
namespace {

constexpr std::size_t kMostPlaces = 100;  // that are listed one by one
constexpr std::size_t kMostEnds = 4096;
constexpr std::size_t kLongestPath =
    512;  // in the summary, which must not become too large to read

bool is_file_at(const std::string& path, const relay::MapRecord& map) {
  struct stat st{};
  return stat(path.c_str(), &st) == 0 && st.st_ino == map.inode;
}

// Where a process has its root (chroot); empty: where all have it, or the process is gone.
std::string root_of(pid_t pid) {
  std::array<char, PATH_MAX> root{};
  const std::string link = fmt::format("/proc/{}/root", pid);
  const ssize_t n = readlink(link.c_str(), root.data(), root.size() - 1);
  return n > 1 ? std::string(root.data(), static_cast<std::size_t>(n)) : std::string();
}

// A program's name as perf expects it, from bytes that it could have chosen.
std::string_view name_of(const std::array<char, 16>& comm) {
  return {comm.data(), strnlen(comm.data(), comm.size())};
}

// Whether the engine, or the emulator, hears of such an end before it comes, and tells: of signals
// that an instruction raises, and when it gives up. Others can come from outside at any moment.
bool is_told(const ProcessEnd& end) {
  constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  return end.exit_status == relay::kEngineFailed ||
         std::ranges::find(kFaults, end.signal) != kFaults.end();
}

std::string untold(const ProcessEnd& end) {
  const std::string how = end.signal != 0
                              ? fmt::format("was killed by SIG{}", sigabbrev_np(end.signal))
                              : fmt::format("ended with status {}", end.exit_status);
  return fmt::format(
      "process {} ({}) {}, of which what records it inside the process told nothing: that was written "
      "over, or is at fault itself. What ran last may be missing",
      end.pid, end.name, how);
}

}  // namespace

void ThreadChannels::accept(int listening_socket) {
  keep(connections_.each(listening_socket, [this](NewChannel asked) {
    if (asked.hello.start == relay::Start::mappings) return asked.answer_with_mappings();
    asked.hello = in_our_namespace(asked.hello, asked.sender, asked.connected);
    seen_.insert(asked.hello.pid);
    if (asked.hello.start == relay::Start::executes) return hold(std::move(asked));
    if (stopped_) return;
    if (asked.hello.start == relay::Start::unrecorded) return note_unrecorded(asked.hello);
    add(std::move(asked));
  }));
  if (new_programs_ != nullptr) new_programs_->look(native_);
}

void ThreadChannels::note_unrecorded(const relay::Hello& hello) {
  if (native_.size() >= kMostPlaces) return;
  native_.push_back(
      fmt::format("thread {} of process {} ({}) ran without being recorded: it had no "
                  "memory for its channel (RLIMIT_AS?)",
                  hello.tid, hello.pid, name_of(hello.comm)));
}

void ThreadChannels::hold(NewChannel asked) {
  if (new_programs_ == nullptr) return;
  const int socket = asked.socket.get();
  std::string answer(1, relay::kLeavesAlone);
  // What ran when the recording had ended is told of as a whole.
  if (!stopped_) {
    const Status held = new_programs_->hold(asked.hello.pid, asked.hello.tid, asked.socket);
    if (held) {
      answer = relay::kTakesOver;
    } else {
      answer += held.error().message.substr(0, relay::kLongestReason);
    }
  }
  static_cast<void>(send(socket, answer.data(), answer.size(), MSG_NOSIGNAL));
}

void ThreadChannels::add(NewChannel asked) {
  const relay::Hello& hello = asked.hello;
  notice_ended_processes();
  const auto known = processes_.find(hello.pid);
  const bool executes = known != processes_.end() && !known->second.gone;
  const bool attached = hello.start == relay::Start::attached;
  if (attached && !executes) ++process_count_;
  if (hello.start != relay::Start::thread && !attached) {
    if (!executes) ++process_count_;
    if (executes) distrust_unless_leaving(hello.pid);
    retire_channels(hello.pid);
  }
  keep(announce(hello));
  Process& process = processes_[hello.pid];
  if (process.channels == 0) {
    process.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, hello.pid, 0)));
    // It was killed after it had asked, and somebody has taken its exit status.
    process.gone = !process.pidfd && errno == ESRCH;
  }
  process.name = name_of(hello.comm);
  process.root = root_of(hello.pid);  // while it is sure to be there
  if (hello.start != relay::Start::thread) held_files_.hold_program(hello.pid);
  ++process.channels;
  const auto [stream, fresh] = streams_.try_emplace(hello.tid);
  if (fresh) stream->second.idx = static_cast<std::uint32_t>(streams_.size() - 1);
  channels_.push_back(std::make_unique<Channel>(
      Channel{relay::ChannelReader(std::move(asked.memory), settings_.recording),
              {.pid = hello.pid, .tid = hello.tid, .idx = stream->second.idx},
              relay::now()}));
  asked.answer();
}

// What the kernel reports when a task starts or executes a program.
Status ThreadChannels::announce(const relay::Hello& hello) {
  const perfdata::Stamp stamp{
      .pid = hello.pid, .tid = hello.tid, .time = rounds_.time_of(hello.time)};
  if (hello.start == relay::Start::image) {
    const auto status = writer_.comm(
        {.pid = hello.pid, .tid = hello.tid, .comm = name_of(hello.comm), .exec = true}, stamp);
    if (!status) return status;
  } else if (hello.start == relay::Start::attached) {
    const Status status = announce_attached(hello, stamp);
    if (!status) return status;
  } else {
    const auto status = writer_.fork({.pid = hello.pid,
                                      .ppid = hello.parent_pid,
                                      .tid = hello.tid,
                                      .ptid = hello.parent_tid,
                                      .time = stamp.time},
                                     stamp);
    if (!status) return status;
  }
  return writer_.itrace_start({.pid = hello.pid, .tid = hello.tid}, stamp);
}

// As perf does for what runs when it begins: nobody has forked it, or executed anything.
Status ThreadChannels::announce_attached(const relay::Hello& hello, const perfdata::Stamp& stamp) {
  if (hello.tid != hello.pid) {
    const auto status = writer_.fork({.pid = hello.pid,
                                      .ppid = hello.pid,
                                      .tid = hello.tid,
                                      .ptid = hello.pid,
                                      .time = stamp.time},
                                     stamp);
    if (!status) return status;
  }
  return writer_.comm({.pid = hello.pid, .tid = hello.tid, .comm = name_of(hello.comm)}, stamp);
}

void ThreadChannels::keep(const Status& status) {
  if (status || file_error_) return;
  file_error_ = status.error();
  stop();
}

void ThreadChannels::stop() {
  stopped_ = true;
  for (const auto& channel : channels_) channel->reader.stop();
}

void ThreadChannels::kill() {
  for (const auto& [pid, process] : processes_) {
    if (process.pidfd)
      (void)syscall(SYS_pidfd_send_signal, process.pidfd.get(), SIGKILL, nullptr, 0);
  }
}

void ThreadChannels::drain(bool all) {
  notice_ended_processes();
  busy_ = false;
  for (std::size_t i = 0; i < channels_.size();) {
    Channel& channel = *channels_[i];
    if (channel.reader.closed() || processes_[channel.trace.pid].gone || channel.reader.damaged()) {
      finish_channel(i);
      continue;
    }
    if (!file_error_) keep(drain_channel(channel, all));
    ++i;
  }
  finish_round();
}

// Every channel has been looked at: what comes later is younger than what the last round had, but
// for what its thread was held up with.
void ThreadChannels::finish_round() {
  if (!std::exchange(round_open_, false) || file_error_) return;
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
  if (snapshot_ && !channel.trace.tail.empty()) keep_ended(std::move(channel.trace));
  const auto process = processes_.find(channel.trace.pid);
  const relay::ChannelReader& reader = channel.reader;
  process->second.gave_word |= reader.leaving() || reader.damaged();
  if (process->second.channels == 1) process->second.gave_word |= reader.closed();
  if (--process->second.channels == 0) {
    note_end(process->first, process->second);
    processes_.erase(process);
  }
  channels_.erase(channels_.begin() + static_cast<std::ptrdiff_t>(index));
}

// Its last channel is done: it has ended, or executes another program.
void ThreadChannels::note_end(std::int32_t pid, Process& process) {
  if ((!process.gone && !process.end) || ends_.size() >= kMostEnds) return;
  ProcessEnd end = process.end.value_or(ProcessEnd{});
  // Killed before it could say a word.
  const auto status = process.end ? std::nullopt : wait_status(process.pidfd.get(), pid);
  if (status && WIFSIGNALED(*status)) end.signal = WTERMSIG(*status);
  if (status && WIFEXITED(*status)) end.exit_status = WEXITSTATUS(*status);
  end.pid = pid;
  end.name = process.name;
  const bool silent = status && !process.gave_word && settings_.follow_exec != 0;
  if (silent && is_told(end) && native_.size() < kMostPlaces) native_.push_back(untold(end));
  ends_.push_back(std::move(end));
}

// From here on the thread's trace cannot be trusted. Bytes are counted as in the file.
void ThreadChannels::note_overwritten(const Channel& channel) {
  const auto stream = streams_.find(channel.trace.tid);
  ++overwritten_count_;
  if (overwritten_.size() >= kMostPlaces) return;
  overwritten_.push_back({.pid = channel.trace.pid,
                          .tid = channel.trace.tid,
                          .offset = stream == streams_.end() ? 0 : stream->second.offset,
                          .time = channel.trace.seen,
                          .what = channel.reader.damage()});
}

void ThreadChannels::notice_ended_processes() {
  for (auto& [pid, process] : processes_) {
    if (!process.pidfd) continue;
    pollfd p{.fd = process.pidfd.get(), .events = POLLIN, .revents = 0};
    process.gone = poll(&p, 1, 0) > 0;
  }
}

std::vector<int> ThreadChannels::wake_fds() const {
  std::vector<int> fds;
  for (const Fd& socket : connections_.silent()) fds.push_back(socket.get());
  if (new_programs_ != nullptr) {
    for (const int fd : new_programs_->wake_fds()) fds.push_back(fd);
  }
  for (const auto& [pid, process] : processes_) {
    if (process.pidfd && !process.gone) fds.push_back(process.pidfd.get());
  }
  return fds;
}

std::size_t ThreadChannels::channels_of(pid_t pid) const {
  const auto found = processes_.find(pid);
  return found == processes_.end() ? 0 : found->second.channels;
}

std::vector<std::string> ThreadChannels::running() const {
  std::vector<std::string> out;
  if (stopped_) return out;
  for (const auto& [pid, process] : processes_) {
    if (!process.gone) out.push_back(fmt::format("{} (process {})", process.name, pid));
  }
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
  const perfdata::Stamp stamp{.pid = pid, .tid = tid, .time = rounds_.time_of(record.header.time)};
  const std::string_view text(reinterpret_cast<const char*>(record.payload.data()),
                              record.payload.size());
  switch (record.header.type) {
    case relay::RecordType::map:
      return write_map(record, stamp);
    case relay::RecordType::code: {
      relay::CodeRecord code;
      std::memcpy(&code, record.fixed.data(), sizeof(code));
      return writer_.code(code.address, record.payload, stamp);
    }
    case relay::RecordType::mark: {
      AuxTail::Mark mark{.place = {}, .time = stamp.time};
      std::memcpy(&mark.place, record.fixed.data(), sizeof(mark.place));
      channel.trace.tail.mark(mark);
      return {};
    }
    case relay::RecordType::comm:
      return writer_.comm({.pid = pid, .tid = tid, .comm = text.substr(0, 15)}, stamp);
    case relay::RecordType::exit:
      return writer_.exit({.pid = pid, .ppid = pid, .tid = tid, .ptid = pid, .time = stamp.time},
                          stamp);
    case relay::RecordType::end: {
      relay::EndRecord end;
      std::memcpy(&end, record.fixed.data(), sizeof(end));
      processes_[pid].end = {.time = stamp.time,
                             .exit_status = end.exit_status,
                             .signal = end.signal,
                             .tid = end.signal != 0 ? tid : 0,
                             .ip = {}};
      if (end.ip_known == 1) processes_[pid].end->ip = end.ip;
      return {};
    }
    case relay::RecordType::cache: {
      relay::CacheRecord use;
      std::memcpy(&use, record.fixed.data(), sizeof(use));
      cache_.code += use.code;
      cache_.made += use.made;
      cache_.editions += use.editions;
      cache_.most = std::max(cache_.most, use.most);
      return {};
    }
    case relay::RecordType::native: {
      processes_[pid].gave_word = true;
      const auto end = text.find('\0');
      const auto reason = end == text.npos ? std::string_view() : text.substr(end + 1);
      if (native_.size() < kMostPlaces) {
        native_.push_back(fmt::format("{} ran without being recorded: {}",
                                      text.substr(0, std::min(end, kLongestPath)), reason));
      }
      return {};
    }
    default:
      return {};  // of virtual machines
  }
  return {};
}

// A process with another root says what it sees.
std::string ThreadChannels::as_seen_here(std::string path, const relay::MapRecord& map,
                                         std::int32_t pid) {
  if (map.inode == 0 || is_file_at(path, map)) return path;
  std::string& root = processes_[pid].root;
  if (std::string now = root_of(pid); !now.empty()) root = std::move(now);
  if (root.empty()) return path;
  std::string whole = root + path;
  return is_file_at(whole, map) ? whole : path;
}

Status ThreadChannels::write_map(const relay::Record& record, const perfdata::Stamp& stamp) {
  relay::MapRecord map;
  std::memcpy(&map, record.fixed.data(), sizeof(map));
  std::string path(reinterpret_cast<const char*>(record.payload.data()), record.payload.size());
  const bool is_file = path.starts_with('/') && !path.starts_with("//");
  if (is_file) path = as_seen_here(std::move(path), map, stamp.pid);
  perfdata::Mmap mmap{.pid = stamp.pid,
                      .tid = stamp.tid,
                      .address = map.start,
                      .size = map.length,
                      .file_offset = map.offset,
                      .path = path,
                      .prot = map.prot & (PROT_READ | PROT_WRITE | PROT_EXEC),
                      .flags = MAP_PRIVATE | (map.granted != 0 ? MAP_ANONYMOUS : 0u),
                      .maj = map.major,
                      .min = map.minor,
                      .inode = map.inode};
  mmap.data = (mmap.prot & PROT_EXEC) == 0;
  if (const auto status = held_files_.note(mmap, stamp, writer_, rounds_); !status) return status;
  const auto [id, fresh] = build_ids_.try_emplace({path, map.inode});
  if (fresh && is_file) {
    if (auto elf = image::read_elf_file(held_files_.way_to(mmap))) {
      id->second = std::move(elf->build_id);
    }
  }
  mmap.build_id.size = static_cast<std::uint8_t>(std::min<std::size_t>(id->second.size(), 20));
  std::copy_n(id->second.begin(), mmap.build_id.size, mmap.build_id.bytes.begin());
  return writer_.mmap(mmap, stamp);
}

Status ThreadChannels::take_aux(Channel& channel, bool all) {
  const std::uint64_t time = channel.trace.seen;
  const std::uint64_t size = channel.reader.waiting();
  if (size == 0) return {};
  busy_ = busy_ || size >= aux_size_ / 4;
  const bool stacks = settings_.recording == relay::Recording::lbr;
  if (!all && !stacks && !worth_a_piece(size, aux_size_, time - channel.last_write)) return {};
  channel.last_write = time;
  const std::span<const std::uint8_t> bytes = channel.reader.take();
  if (bytes.empty()) return {};
  Trace& trace = channel.trace;
  if (snapshot_) {
    trace.left_out += trace.tail.add(bytes, aux_size_);
    return {};
  }
  const auto status = write_trace(trace, {&bytes, 1});
  if (status) trace.tail.pass(bytes.size());
  return status;
}

// The next bytes of a thread's trace, which lie in one or more places.
Status ThreadChannels::write_trace(Trace& trace,
                                   std::span<const std::span<const std::uint8_t>> pieces) {
  std::uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  trace_bytes_ += bytes;
  if (settings_.recording == relay::Recording::lbr) {
    for (const auto& piece : pieces) {
      if (const auto status = write_stacks(trace, piece); !status) return status;
    }
    return {};
  }
  Stream& stream = streams_[trace.tid];
  stream.offset += std::exchange(trace.left_out, 0);
  const std::uint64_t size = writer_.auxtrace_size(bytes);
  const auto status = write_handovers(trace, stream.offset, size);
  if (!status) return status;
  const std::uint64_t offset = std::exchange(stream.offset, stream.offset + size);
  return writer_.auxtrace({.offset = offset, .idx = trace.idx, .tid = trace.tid}, pieces);
}

// AUX records for the `size` bytes of the stream at `offset`, which begin where the tail does, one
// up to each mark: the time of a stretch is that of its AUX record, and so is the place where
// records are missing.
Status ThreadChannels::write_handovers(Trace& trace, std::uint64_t offset, std::uint64_t size) {
  std::uint64_t done = 0;
  std::uint64_t last_mark = 0;
  const std::uint64_t begin = trace.tail.begin();
  while (const AuxTail::Mark* next = trace.tail.next_mark(begin + size)) {
    const AuxTail::Mark mark = *next;
    trace.tail.take_mark();
    last_mark = mark.time;
    const std::uint64_t end = mark.place.position - begin;
    const bool lossy = mark.place.dropped != 0;
    if (end < done || (end == done && !lossy)) continue;
    const auto status = writer_.aux({.offset = offset + done,
                                     .size = end - done,
                                     .flags = lossy ? PERF_AUX_FLAG_TRUNCATED : 0u},
                                    {.pid = trace.pid, .tid = trace.tid, .time = mark.time});
    if (!status) return status;
    done = end;
  }
  // What is behind the last mark, and before the next.
  std::uint64_t time = trace.seen;
  if (const AuxTail::Mark* next = trace.tail.next_mark(~std::uint64_t{0}))
    time = std::min(time, next->time);
  return writer_.aux({.offset = offset + done, .size = size - done, .flags = 0},
                     {.pid = trace.pid, .tid = trace.tid, .time = std::max(last_mark, time)});
}

Status ThreadChannels::write_stacks(const Trace& trace, std::span<const std::uint8_t> bytes) {
  while (const auto stack = relay::take_stack(bytes)) {
    const perfdata::Stamp stamp{
        .pid = trace.pid, .tid = trace.tid, .time = rounds_.time_of(stack->sample.time)};
    const auto status = writer_.branch_stack(stack->sample.ip, stack->entries, stamp);
    if (!status) return status;
    round_open_ = true;
  }
  return {};
}

void ThreadChannels::keep_ended(Trace trace) {
  ended_bytes_ += trace.tail.size();
  ended_.push_back(std::move(trace));
  while (ended_.size() > 1 && ended_bytes_ - ended_.front().tail.size() >= aux_size_) {
    ended_bytes_ -= ended_.front().tail.size();
    ended_.pop_front();
  }
}

void ThreadChannels::snapshot() {
  if (!snapshot_) return;
  drain(true);
  const auto write = [&](Trace& trace) {
    if (trace.tail.empty() || file_error_) return;
    keep(write_trace(trace, trace.tail.pieces()));
    trace.tail.clear();
  };
  for (Trace& trace : ended_) write(trace);
  ended_.clear();
  ended_bytes_ = 0;
  for (const auto& channel : channels_) write(channel->trace);
  finish_round();
  if (!file_error_) keep(writer_.flush());
}

void ThreadChannels::keep_missing_files() {
  if (!file_error_) keep(held_files_.keep_missing(writer_, rounds_));
}

void ThreadChannels::summarize(RecordResult& result) const {
  result.trace_bytes = trace_bytes_;
  result.threads = static_cast<std::uint32_t>(streams_.size());
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
  result.ends = ends_;
  result.unrecorded.insert(result.unrecorded.end(), native_.begin(), native_.end());
}

}  // namespace hodo::capture
