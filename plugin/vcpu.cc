#include "vcpu.h"

#include <unistd.h>

namespace hodo::plugin {
namespace {

// How long a full buffer may hold the machine up before packets are dropped instead.
constexpr unsigned kPatienceMs = 10'000;

}  // namespace

std::unique_ptr<Vcpu> Vcpu::start(const std::string& socket, unsigned index, void* cpu,
                                  const Events& events) {
  relay::Hello hello;
  hello.pid = getpid();
  hello.tid = static_cast<std::int32_t>(index);
  hello.start = relay::Start::processor;
  hello.time = relay::now();
  auto memory = relay::open_channel(relay::connect_recorder(socket), hello);
  if (!memory) return nullptr;
  std::unique_ptr<Vcpu> vcpu(new Vcpu(std::move(*memory), index, cpu));
  unit::PtOutput output;
  output.base = vcpu->memory_.aux();
  output.size = vcpu->memory_.aux_size();
  output.owner = vcpu.get();
  output.reserve = &Vcpu::reserve;
  if (vcpu->traces_kernel()) {
    output.interrupted = events.interrupted;
    output.cr3 = events.cr3;
  }
  vcpu->unit().start(vcpu->settings().rtit_ctl, isa::Mode::bits64, output, &relay::now);
  return vcpu;
}

std::uint64_t Vcpu::reserve(void* self, std::uint64_t written) {
  auto* vcpu = static_cast<Vcpu*>(self);
  if (vcpu->memory_.header().stop.load(std::memory_order_relaxed) != 0) {
    vcpu->unit().stop();
    return relay::publish_aux(vcpu->memory_, vcpu->unit().written(), 0);
  }
  // After a loss, do not wait again at every block; go on as soon as there is room.
  const bool lossy = vcpu->unit().overflows() != vcpu->overflows_seen_;
  const std::uint64_t room = relay::publish_aux(vcpu->memory_, written, lossy ? 0 : kPatienceMs);
  if (room >= vcpu->memory_.aux_size() / 4) vcpu->overflows_seen_ = vcpu->unit().overflows();
  return room;
}

bool Vcpu::send(relay::RecordType type, std::span<const std::uint8_t> fixed,
                std::span<const std::uint8_t> payload, std::uint64_t time, std::uint16_t flags) {
  relay::RecordHeader header;
  header.type = type;
  header.flags = flags;
  header.tid = static_cast<std::int32_t>(index_);
  header.time = time;
  return relay::write_record(memory_, header, fixed, payload);
}

void Vcpu::close() {
  relay::publish_aux(memory_, unit().written(), 0);
  memory_.header().state.store(relay::ChannelState::closed, std::memory_order_release);
}

}  // namespace hodo::plugin
