// Code that lies in no file: a program that made or unpacked the code itself gives it to the
// decoder through an image provider of its own. Here it makes the packets, too.
#include <cstdio>
#include <vector>

#include "hodo/flow/decoder.h"
#include "hodo/pt/writer.h"

namespace {

constexpr std::uint64_t kBase = 0x401000;

//   401000  test edi, edi
//   401002  jz   401008
//   401004  dec  edi
//   401006  jmp  401000
//   401008  ret
const std::vector<std::uint8_t> kCode{0x85, 0xff, 0x74, 0x04, 0xff, 0xcf, 0xeb, 0xf8, 0xc3};

// A debugger would read the memory of a process here, an unpacker its own buffers. Bytes with the
// same `content` number never change: what was decoded of them once is remembered.
class OwnCode : public hodo::image::CodeSource {
 public:
  hodo::image::CodeSpan find(std::uint64_t address, std::uint64_t) const override {
    if (address - kBase >= kCode.size()) return {};  // nothing is mapped there
    return {.content = 1, .address = kBase, .bytes = kCode};
  }
};

class Print : public hodo::flow::BranchSink {
 public:
  void on_branches(std::span<const hodo::Branch> batch) override {
    for (const hodo::Branch& branch : batch) {
      std::printf("%-6s %llx -> %llx\n", std::string(hodo::name(branch.kind)).c_str(),
                  static_cast<unsigned long long>(branch.from),
                  static_cast<unsigned long long>(branch.to));
    }
  }
  void on_loss(const hodo::flow::Loss& loss) override {
    std::printf("lost at byte %llu: %s\n", static_cast<unsigned long long>(loss.offset),
                loss.reason.c_str());
  }
};

}  // namespace

int main() {
  using hodo::pt::PacketType;
  const std::vector<hodo::pt::Packet> packets{
      {.type = PacketType::psb},
      {.type = PacketType::mode_exec, .payload = hodo::pt::kExecCsL},
      {.type = PacketType::psbend},
      {.type = PacketType::tip_pge, .ip_bytes = hodo::pt::IpBytes::sext48, .payload = kBase},
      {.type = PacketType::tnt, .count = 3, .payload = 0b001},  // not taken twice, then taken
      {.type = PacketType::tip_pgd},                            // ret, to where nobody traces
  };
  std::vector<std::uint8_t> trace;
  for (const hodo::pt::Packet& packet : packets) {
    std::uint8_t bytes[hodo::pt::kMaxPacketSize];
    std::size_t size = hodo::pt::write(packet, bytes);
    trace.insert(trace.end(), bytes, bytes + size);
  }
  OwnCode code;
  Print print;
  hodo::flow::Stats stats = hodo::flow::decode(trace, code, {}, print);
  std::printf("%llu instructions\n", static_cast<unsigned long long>(stats.instructions));
  return stats.total_losses() == 0 ? 0 : 3;
}
