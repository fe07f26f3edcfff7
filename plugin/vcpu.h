// One virtual processor under recording: its channel to the recorder, its trace unit, and where it
// executes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "hodo/relay/channel.h"
#include "hodo/relay/clock.h"
#include "hodo/unit/pt_unit.h"
#include "introspection.h"

namespace hodo::plugin {

class Vcpu {
 public:
  enum class Where : std::uint8_t {
    kernel,
    user,     // of a process that is recorded
    ignored,  // user mode of another one
  };

  // Connects to the recorder and starts the trace unit; null when there is no recorder.
  // `cpu` is the emulator's. With RTIT_CTL.OS the unit asks `events` what led to a block and which
  // CR3 is in force.
  struct Events {
    bool (*interrupted)(void* vcpu, const unit::Block& b, std::uint64_t& ip, bool& faulted);
    std::uint64_t (*cr3)(void* vcpu);
  };
  static std::unique_ptr<Vcpu> start(const std::string& socket, const relay::Key& key,
                                     unsigned index, void* cpu, const Events& events);

  unit::PtUnit& unit() { return unit_; }
  bool traces_kernel() const { return (settings().rtit_ctl & hw::rtit_ctl::kOs) != 0; }
  bool traces_user() const { return (settings().rtit_ctl & hw::rtit_ctl::kUser) != 0; }
  unsigned index() const { return index_; }
  void* cpu() const { return cpu_; }

  bool send(relay::RecordType type, std::span<const std::uint8_t> fixed,
            std::span<const std::uint8_t> payload, std::uint64_t time = relay::now(),
            std::uint16_t flags = 0);
  // Publishes everything and says that no more will come.
  void close();

  Where where = Where::kernel;
  std::uint32_t space = 0;         // Space::id of the process that runs; 0: it is not recorded
  std::uint32_t kernel_epoch = 0;  // of the kernel code that was executed; 0: it is not recorded
  RunningTask running;
  relay::GuestTask announced;  // of the last guest_switch record

 private:
  const relay::Settings& settings() const { return channel_.settings(); }
  Vcpu(relay::ChannelWriter channel, unsigned index, void* cpu)
      : channel_(std::move(channel)), index_(index), cpu_(cpu) {}
  std::uint64_t hand_over(unsigned patience_ms);
  static std::uint64_t reserve(void* self, std::uint64_t written);

  relay::ChannelWriter channel_;
  alignas(64) unit::PtUnit unit_;  // its first line is the hot one
  unsigned index_;
  void* cpu_;
  std::uint64_t overflows_seen_ = 0;
};

template <class T>
std::span<const std::uint8_t> bytes_of(const T& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)};
}
inline std::span<const std::uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace hodo::plugin
