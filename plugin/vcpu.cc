#include "vcpu.h"

#include <unistd.h>

namespace hodo::plugin {
namespace {

// How long a full buffer may hold the machine up before packets are dropped instead.
constexpr unsigned kPatienceMs = 10'000;

}  // namespace

std::unique_ptr<Vcpu> Vcpu::start(const std::string& socket, const relay::Key& key, unsigned index,
                                  void* cpu, const Events& events) {
  relay::Hello hello;
  hello.pid = getpid();
  hello.tid = static_cast<std::int32_t>(index);
  hello.start = relay::Start::processor;
  hello.time = relay::now();
  auto channel = relay::open_channel(relay::connect_recorder(socket, key), hello);
  if (!channel) return nullptr;
  std::unique_ptr<Vcpu> vcpu(new Vcpu(std::move(*channel), index, cpu));
  unit::PtOutput output;
  output.base = vcpu->channel_.aux();
  output.size = vcpu->channel_.aux_size();
  output.remains = &vcpu->channel_.remains();
  output.key = vcpu->channel_.key();
  output.owner = vcpu.get();
  output.reserve = &Vcpu::reserve;
  if (vcpu->traces_kernel()) {
    output.interrupted = events.interrupted;
    output.cr3 = events.cr3;
  }
  vcpu->unit().start(vcpu->settings().rtit_ctl, isa::Mode::bits64, output, &relay::now);
  return vcpu;
}

std::uint64_t Vcpu::hand_over(unsigned patience_ms) {
  channel_.count(unit_.overflows(), unit_.unexplained());
  return channel_.publish_aux(unit_.written(), unit_.digest(), patience_ms);
}

std::uint64_t Vcpu::reserve(void* self, std::uint64_t) {
  auto* vcpu = static_cast<Vcpu*>(self);
  unit::PtUnit& unit = vcpu->unit_;
  if (vcpu->channel_.over()) {
    unit.stop();
    return vcpu->hand_over(0);
  }
  // After a loss, do not wait again at every block; go on as soon as there is room.
  const bool lossy = unit.overflows() != vcpu->overflows_seen_;
  const std::uint64_t room = vcpu->hand_over(lossy ? 0 : kPatienceMs);
  if (room >= vcpu->channel_.aux_size() / 4) vcpu->overflows_seen_ = unit.overflows();
  return room;
}

bool Vcpu::send(relay::RecordType type, std::span<const std::uint8_t> fixed,
                std::span<const std::uint8_t> payload, std::uint64_t time, std::uint16_t flags) {
  relay::RecordHeader header;
  header.type = type;
  header.flags = flags;
  header.tid = static_cast<std::int32_t>(index_);
  header.time = time;
  return channel_.write_record(header, fixed, payload);
}

void Vcpu::close() {
  hand_over(0);
  channel_.close();
}

}  // namespace hodo::plugin
