// One guest thread under recording: its channel to the recorder and its tracer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "guest.h"
#include "hodo/relay/channel.h"
#include "hodo/relay/tracer.h"

namespace hodo::plugin {

class Thread {
 public:
  // Asks for a channel on a connection to the recorder, which it closes, and starts the tracer,
  // inside the thread it is for. Null when there is no recorder (any more): the thread then runs
  // without being recorded.
  static Thread* start(int connection, relay::Start how, std::int32_t parent_pid,
                       std::int32_t parent_tid, const Guest& guest);
  ~Thread();

  relay::Tracer& tracer() { return *tracer_; }
  const relay::Settings& settings() const { return channel_.settings(); }
  std::int32_t tid() const { return tid_; }
  // How many versions of code the process had sent when this thread last said that it is past them.
  std::uint64_t code_seen = 0;

  bool send(relay::RecordType type, std::span<const std::uint8_t> fixed,
            std::span<const std::uint8_t> payload, std::uint16_t flags = 0);
  // This thread's name may have changed: tells the recorder.
  void report_name();
  // Sends what is known of new code, a file or its bytes.
  void send_code(relay::RecordType type, std::span<const std::uint8_t> fixed,
                 std::span<const std::uint8_t> payload);
  // Publishes everything and says that no more will come.
  void close();
  // Publishes everything before the thread executes another program; or it has failed to.
  void leave();
  void stay() { channel_.leave(false); }
  // The program is about to take the channel's memory away.
  void give_up();
  // The same of another thread: its unit goes on until it sees that, if the memory lets it.
  void condemn() { channel_.condemn(); }
  // Whether the channel shares a byte with this memory.
  bool lies_in(std::uint64_t address, std::uint64_t size) const {
    return channel_.lies_in(address, size);
  }
  // In a forked child: the parent's channel is not mapped here.
  void forget() { channel_.forget(); }

 private:
  Thread(relay::ChannelWriter channel, std::int32_t tid, const Guest& guest)
      : channel_(std::move(channel)), tid_(tid), guest_(guest) {}
  static bool interrupted(void* self, const unit::Block& b, std::uint64_t& ip, bool& faulted);

  relay::ChannelWriter channel_;
  std::int32_t tid_;
  const Guest& guest_;
  std::unique_ptr<relay::Tracer> tracer_;
};

}  // namespace hodo::plugin
