// One guest thread under recording: its channel to the recorder and its trace unit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "guest.h"
#include "hodo/relay/channel.h"
#include "hodo/unit/pt_unit.h"

namespace hodo::plugin {

class Thread {
 public:
  // Connects to the recorder and starts the trace unit, inside the thread it is for. Null when
  // there is no recorder (any more): the thread then runs without being recorded.
  static Thread* start(const std::string& socket, relay::Start how, std::int32_t parent_pid,
                       std::int32_t parent_tid, unsigned vcpu, const Guest& guest);
  ~Thread();

  unit::PtUnit& unit() { return memory_.header().unit; }
  const relay::Settings& settings() const { return memory_.header().settings; }
  std::int32_t tid() const { return tid_; }
  unsigned vcpu() const { return vcpu_; }

  bool send(relay::RecordType type, std::span<const std::uint8_t> fixed,
            std::span<const std::uint8_t> payload, std::uint16_t flags = 0);
  // This thread's name may have changed: tells the recorder.
  void report_name();
  // Everything written so far becomes visible to the recorder.
  void publish();
  // Publishes everything and says that no more will come.
  void close();
  // In a forked child: the parent's channel is not mapped here.
  void forget() { memory_.forget(); }

 private:
  Thread(relay::ChannelMemory memory, std::int32_t tid, unsigned vcpu, const Guest& guest)
      : memory_(std::move(memory)), tid_(tid), vcpu_(vcpu), guest_(guest) {}
  static std::uint64_t reserve(void* self, std::uint64_t written);
  static bool interrupted(void* self, const unit::Block& b, std::uint64_t& ip, bool& faulted);

  relay::ChannelMemory memory_;
  std::int32_t tid_;
  unsigned vcpu_;
  const Guest& guest_;
  std::uint64_t overflows_seen_ = 0;
};

}  // namespace hodo::plugin
