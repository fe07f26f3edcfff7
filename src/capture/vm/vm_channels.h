// The channels of a machine's virtual processors, and their way into the file: one AUX buffer per
// processor, as perf has them when it traces whole processors, and the guest's processes as
// processes.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "channel/channel_set.h"
#include "channel/channel_socket.h"
#include "hodo/capture/options.h"
#include "hodo/perfdata/writer.h"
#include "hodo/relay/channel.h"

namespace hodo::capture {

class VmChannels final : public ChannelSet {
 public:
  // All must outlive this.
  VmChannels(perfdata::Writer& writer, const relay::Settings& settings, const relay::Key& key,
             std::uint64_t aux_size)
      : writer_(writer), aux_size_(aux_size), connections_(settings, key, aux_size) {}

  void accept(int listening_socket) override;
  void drain(bool all) override;
  void stop() override;
  std::vector<int> wake_fds() const override { return {}; }
  void flush() override {
    if (!file_error_) keep(writer_.flush());
  }
  const std::optional<Error>& file_error() const override { return file_error_; }

  // Takes what the processors still have when the machine is gone.
  void finish();
  // No processor has ever reported.
  bool none() const { return channels_.empty(); }
  // Adds what is known about processes and losses.
  void summarize(RecordResult& result) const;
  // What the guest runs, as its recorder found out: a kernel's banner, or why it is not known.
  const std::string& guest() const { return guest_; }

 private:
  struct Channel {
    relay::ChannelReader reader;
    std::uint32_t cpu = 0;
    std::uint64_t offset = 0;      // in the AUX buffer's stream
    std::uint64_t last_write = 0;  // ns
  };

  void add(NewChannel asked);
  Status drain_channel(Channel& channel, bool all);
  Status write_record(const Channel& channel, const relay::Record& record);
  Status write_task(const relay::Record& record, perfdata::Stamp stamp);
  Status write_fork(const relay::Record& record, perfdata::Stamp stamp);
  Status write_exit(const relay::Record& record, perfdata::Stamp stamp);
  Status write_switch(const relay::Record& record, perfdata::Stamp stamp);
  Status write_map(const relay::Record& record, perfdata::Stamp stamp);
  Status write_aux(Channel& channel, bool all);
  void keep(const Status& status);

  perfdata::Writer& writer_;
  std::uint64_t aux_size_;
  Connections connections_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::set<std::int32_t> pids_, tids_;
  std::set<std::int32_t>
      living_;  // threads but the first of a process, as far as the file knows them
  std::optional<Error> file_error_;
  std::string guest_;
  std::set<std::string> left_out_;  // one line for each name that ran unrecorded
  bool stopped_ = false;
  std::uint64_t trace_bytes_ = 0;
};

}  // namespace hodo::capture
