// Any bytes as a trace: the packet reader moves or fails, its packets survive being written and
// read again, libipt reads them the same, and sync_forward() finds the PSBs that a plain search
// finds.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "hodo/pt/writer.h"
#include "libipt_packets.h"

namespace {

using hodo::pt::Packet;
using hodo::pt::PacketReader;
using hodo::pt::PacketType;
using hodo::pt::ReadStatus;
using Bytes = std::span<const std::uint8_t>;

// Ends the run, as libFuzzer wants it, with the reason.
// `packet` may be one that read() left half filled.
void require(bool holds, const char* what, std::size_t offset, const Packet& packet) {
  if (holds) return;
  std::fprintf(stderr, "%s, offset %zu: %s\n", what, offset, to_string(packet).c_str());
  std::abort();
}

// The packet as write() writes it, behind the block that a bip needs.
std::vector<std::uint8_t> rewritten(const Packet& packet) {
  std::array<std::uint8_t, 2 * hodo::pt::kMaxPacketSize> buffer;
  std::size_t start = 0;
  if (packet.type == PacketType::bip) {
    const Packet block{.type = PacketType::bbp, .extra = packet.count == 4 ? 1u : 0u};
    start = write(block, buffer);
  }
  const std::size_t size = write(packet, std::span(buffer).subspan(start));
  require(size != 0, "a packet that was read cannot be written", 0, packet);
  return {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(start + size)};
}

void check_rewriting(const Packet& packet, std::size_t offset) {
  const std::vector<std::uint8_t> bytes = rewritten(packet);
  PacketReader reader(bytes);
  Packet again;
  require(reader.read(again) == ReadStatus::packet, "not readable again", offset, packet);
  if (packet.type == PacketType::bip) (void)reader.read(again);
  require(reader.at_end(), "longer when written again", offset, packet);
  // A CYC may come with leading zeros, which are not written again.
  if (packet.type == PacketType::cyc) again.size = packet.size;
  require(again == packet, "not the same when read again", offset, packet);
}

bool has_pair(Bytes bytes, std::size_t at) {
  return bytes.size() >= 2 && at <= bytes.size() - 2 && bytes[at] == 0x02 && bytes[at + 1] == 0x82;
}

// sync_forward()'s contract by plain search; the size of `bytes` if there is no PSB.
std::size_t psb_by_plain_search(Bytes bytes, std::size_t from) {
  for (std::size_t at = from; at < bytes.size(); ++at) {
    std::size_t pairs = 0;
    while (pairs < 16 && has_pair(bytes, at + 2 * pairs)) ++pairs;
    if (pairs == 16) return at;
    if (pairs >= 8) return at + 2 * (pairs - 8);
  }
  return bytes.size();
}

void check_syncing(Bytes bytes) {
  PacketReader reader(bytes);
  for (;;) {
    const std::size_t from = reader.offset();
    const bool found = reader.sync_forward();
    const std::size_t expected = psb_by_plain_search(bytes, from);
    require(reader.offset() == expected, "sync elsewhere", from, {});
    require(found == (expected < bytes.size()), "sync says otherwise than it does", from, {});
    if (!found) return;
    Packet packet;
    require(reader.read(packet) == ReadStatus::packet && packet.type == PacketType::psb,
            "sync to no PSB", reader.offset(), packet);
  }
}

void check_reading(Bytes bytes) {
  if (bytes.empty()) return;  // libipt takes no empty trace
  PacketReader reader(bytes);
  hodo::pt::LibiptReader libipt(bytes);
  while (!reader.at_end()) {
    const std::size_t start = reader.offset();
    const bool comparable = !reader.in_block() && !hodo::pt::libipt_differs(bytes.subspan(start));
    Packet packet;
    const ReadStatus status = reader.read(packet);
    if (comparable) {
      Packet theirs;
      require(libipt.read_at(start, theirs) == status, "libipt says otherwise", start, packet);
      require(status != ReadStatus::packet || theirs == as_libipt_keeps(packet),
              "libipt reads another packet", start, packet);
    }
    if (status == ReadStatus::packet) {
      require(reader.offset() == start + packet.size, "moved by another size", start, packet);
      check_rewriting(packet, start);
    } else {
      require(reader.offset() == start, "moved without a packet", start, packet);
      reader.seek(start + 1);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, size);
  check_reading(bytes);
  check_syncing(bytes);
  return 0;
}
