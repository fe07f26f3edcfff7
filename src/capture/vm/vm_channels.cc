#include "vm_channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "channel/piece_size.h"
#include "guest_file.h"
#include "hodo/relay/clock.h"

namespace hodo::capture {
namespace {

constexpr std::int32_t kMostGuestProcessors = 16;

}  // namespace

void VmChannels::accept(int listening_socket) {
  keep(connections_.each(listening_socket, [this](NewChannel asked) {
    if (!stopped_) add(std::move(asked));
  }));
}

void VmChannels::add(NewChannel asked) {
  const relay::Hello& hello = asked.hello;
  const bool known = std::ranges::any_of(channels_, [&](const std::unique_ptr<Channel>& c) {
    return static_cast<std::int32_t>(c->cpu) == hello.tid;
  });
  if (hello.tid < 0 || hello.tid >= kMostGuestProcessors || known) return;
  channels_.push_back(
      std::make_unique<Channel>(Channel{.reader = relay::ChannelReader(std::move(asked.memory)),
                                        .cpu = static_cast<std::uint32_t>(hello.tid),
                                        .last_write = relay::now()}));
  asked.answer();
}

void VmChannels::keep(const Status& status) {
  if (status || file_error_) return;
  file_error_ = status.error();
  stop();
}

void VmChannels::stop() {
  stopped_ = true;
  for (const auto& channel : channels_) channel->reader.stop();
}

void VmChannels::drain(bool all) {
  for (const auto& channel : channels_) {
    if (!file_error_) keep(drain_channel(*channel, all));
  }
}

void VmChannels::finish() {
  for (const auto& channel : channels_) channel->reader.finish();
  drain(true);
}

Status VmChannels::drain_channel(Channel& channel, bool all) {
  channel.reader.look();
  // Records first: what packets need to be decoded was sent before them.
  while (const auto record = channel.reader.next_record()) {
    const auto status = write_record(channel, *record);
    if (!status) return status;
  }
  channel.reader.release_records();
  return write_aux(channel, all);
}

Status VmChannels::write_record(const Channel& channel, const relay::Record& record) {
  const perfdata::Stamp stamp{.time = record.header.time, .cpu = channel.cpu};
  switch (record.header.type) {
    case relay::RecordType::guest_task:
      return write_task(record, stamp);
    case relay::RecordType::guest_fork:
      return write_fork(record, stamp);
    case relay::RecordType::guest_exit:
      return write_exit(record, stamp);
    case relay::RecordType::guest_switch:
      return write_switch(record, stamp);
    case relay::RecordType::guest_map:
      return write_map(record, stamp);
    case relay::RecordType::guest_code: {
      const auto code = relay::fixed_part<relay::GuestCode>(record);
      perfdata::Stamp whose = stamp;
      whose.pid = code.task.pid, whose.tid = code.task.tid;
      return writer_.code(code.address, record.payload, whose);
    }
    case relay::RecordType::guest_symbol: {
      const auto symbol = relay::fixed_part<relay::GuestSymbol>(record);
      perfdata::Stamp kernel = stamp;
      kernel.pid = kernel.tid = -1;
      return writer_.ksymbol({.address = symbol.address,
                              .size = symbol.size,
                              .name = std::string(relay::text_of(record))},
                             kernel);
    }
    case relay::RecordType::guest_note:
      guest_ = relay::text_of(record).substr(0, 200);
      return {};
    case relay::RecordType::native: {
      const std::string_view text = relay::text_of(record);
      const auto end = std::min(text.find('\0'), text.size());
      // A guest can start any number of them under any name.
      if (left_out_.size() < 100) {
        left_out_.insert(fmt::format("{} ran without being recorded: {}", text.substr(0, end),
                                     text.substr(std::min(end + 1, text.size()))));
      }
      return {};
    }
    default:
      return {};  // of programs
  }
}

Status VmChannels::write_task(const relay::Record& record, perfdata::Stamp stamp) {
  const auto task = relay::fixed_part<relay::GuestTask>(record);
  stamp.pid = task.pid, stamp.tid = task.tid;
  pids_.insert(task.pid);
  tids_.insert(task.tid);
  return writer_.comm({.pid = task.pid,
                       .tid = task.tid,
                       .comm = relay::text_of(record).substr(0, 15),
                       .exec = (record.header.flags & relay::kExec) != 0},
                      stamp);
}

Status VmChannels::write_fork(const relay::Record& record, perfdata::Stamp stamp) {
  const auto fork = relay::fixed_part<relay::GuestFork>(record);
  stamp.pid = fork.parent.pid, stamp.tid = fork.parent.tid;
  return writer_.fork({.pid = fork.task.pid,
                       .ppid = fork.parent.pid,
                       .tid = fork.task.tid,
                       .ptid = fork.parent.tid,
                       .time = stamp.time},
                      stamp);
}

Status VmChannels::write_exit(const relay::Record& record, perfdata::Stamp stamp) {
  const auto task = relay::fixed_part<relay::GuestTask>(record);
  stamp.pid = task.pid, stamp.tid = task.tid;
  living_.erase(task.tid);
  return writer_.exit(
      {.pid = task.pid, .ppid = task.pid, .tid = task.tid, .ptid = task.pid, .time = stamp.time},
      stamp);
}

Status VmChannels::write_switch(const relay::Record& record, perfdata::Stamp stamp) {
  const auto task = relay::fixed_part<relay::GuestTask>(record);
  stamp.pid = task.pid, stamp.tid = task.tid;
  tids_.insert(task.tid);
  // A process is announced by the processor that it began on, whose channel may be read later.
  const bool thread = task.tid != task.pid;
  if (thread && living_.insert(task.tid).second) {
    auto status = writer_.fork(
        {.pid = task.pid, .ppid = task.pid, .tid = task.tid, .ptid = task.pid, .time = stamp.time},
        stamp);
    if (!status) return status;
    status = writer_.comm({.pid = task.pid,
                           .tid = task.tid,
                           .comm = relay::text_of(record).substr(0, 15),
                           .exec = false},
                          stamp);
    if (!status) return status;
  }
  return writer_.switch_({.out = false}, stamp);
}

Status VmChannels::write_map(const relay::Record& record, perfdata::Stamp stamp) {
  const auto map = relay::fixed_part<relay::GuestMap>(record);
  stamp.pid = map.task.pid, stamp.tid = map.task.tid;
  const std::string_view text = relay::text_of(record);
  const std::string_view name = text.substr(0, text.find('\0'));
  const std::string_view id = text.substr(std::min(name.size() + 1, text.size()));
  const guest::GuestMapping mapping{.start = map.where.start,
                                    .end = map.where.start + map.where.length,
                                    .offset = map.where.offset,
                                    .path = std::string(name),
                                    .inode = map.where.inode,
                                    .major = map.where.major,
                                    .minor = map.where.minor,
                                    .executable = true};
  const std::span build_id(reinterpret_cast<const std::uint8_t*>(id.data()), id.size());
  return write_guest_file(writer_, mapping, build_id, stamp);
}

Status VmChannels::write_aux(Channel& channel, bool all) {
  const std::uint64_t time = relay::now();
  const std::uint64_t waiting = channel.reader.waiting();
  if (!all && !worth_a_piece(waiting, aux_size_, time - channel.last_write)) return {};
  channel.last_write = time;
  const auto bytes = channel.reader.take();
  if (bytes.empty()) return {};
  const std::uint64_t padded = (bytes.size() + 7) / 8 * 8;
  const perfdata::Stamp stamp{.pid = -1, .tid = -1, .time = time, .cpu = channel.cpu};
  auto status = writer_.aux({.offset = channel.offset, .size = padded, .flags = 0}, stamp);
  if (!status) return status;
  const std::array<std::span<const std::uint8_t>, 1> pieces = {bytes};
  status = writer_.auxtrace({.offset = channel.offset,
                             .idx = channel.cpu,
                             .tid = -1,
                             .cpu = static_cast<std::int32_t>(channel.cpu)},
                            pieces);
  if (!status) return status;
  channel.offset += padded;
  trace_bytes_ += bytes.size();
  return {};
}

void VmChannels::summarize(RecordResult& result) const {
  result.trace_bytes = trace_bytes_;
  result.processes = static_cast<std::uint32_t>(pids_.size());
  result.threads = static_cast<std::uint32_t>(tids_.size());
  std::uint64_t unexplained = 0;
  for (const auto& channel : channels_) {
    result.overflows += channel->reader.overflows();
    unexplained += channel->reader.unexplained();
    if (!channel->reader.damaged()) continue;
    result.complete = false;
    result.unrecorded.push_back(
        fmt::format("the trace of virtual processor {} ends early: something wrote over the memory "
                    "that it is handed over in ({})",
                    channel->cpu, channel->reader.damage()));
  }
  if (result.overflows != 0 && !file_error_) {
    result.warnings.push_back(
        fmt::format("the trace has {} gaps: the disk could not keep up, or hodo was stopped",
                    result.overflows));
  }
  if (unexplained != 0) {
    result.warnings.push_back(
        fmt::format("at {} places execution went where no branch, interrupt or exception explains "
                    "it; each is marked as a gap",
                    unexplained));
  }
  result.warnings.insert(result.warnings.end(), left_out_.begin(), left_out_.end());
}

}  // namespace hodo::capture
