// Traces of real processors, where this machine has them: HODO_SHARED, or ../shared beside the
// repository, with a folder traces.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hodo/base/byte_reader.h"
#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "libipt_packets.h"

namespace hodo::pt {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Counts = std::map<PacketType, int>;
namespace fs = std::filesystem;

std::optional<Bytes> shared_trace(const std::string& name) {
  const char* const shared = std::getenv("HODO_SHARED");
  const fs::path root = shared ? fs::path(shared) : fs::path(HODO_SOURCE_DIR) / ".." / "shared";
  std::ifstream file(root / "traces" / name, std::ios::binary);
  if (!file) return std::nullopt;
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Reads from the first PSB on; no packet may be damaged but the last, which may be cut off.
Counts count_packets(const Bytes& bytes) {
  Counts out;
  PacketReader reader(bytes);
  EXPECT_TRUE(reader.sync_forward());
  LibiptReader libipt(bytes);
  while (!reader.at_end()) {
    const std::size_t start = reader.offset();
    Packet packet;
    const ReadStatus status = reader.read(packet);
    Packet theirs;
    EXPECT_EQ(status, libipt.read_at(start, theirs)) << "at " << start;
    EXPECT_NE(status, ReadStatus::malformed) << "at " << start;
    if (status != ReadStatus::packet) break;
    EXPECT_EQ(as_libipt_keeps(packet), theirs) << to_string(packet) << " at " << start;
    ++out[packet.type];
  }
  return out;
}

struct RawTrace {
  const char* folder;
  std::size_t size;
  int psbs;
};

class Raw : public testing::TestWithParam<RawTrace> {};

TEST_P(Raw, ReadsAsLibiptDoes) {
  const RawTrace& trace = GetParam();
  const std::optional<Bytes> bytes = shared_trace(std::string(trace.folder) + "/trace.pt");
  if (!bytes) GTEST_SKIP() << "no trace " << trace.folder << " on this machine (HODO_SHARED)";
  EXPECT_EQ(bytes->size(), trace.size);
  EXPECT_EQ(count_packets(*bytes)[PacketType::psb], trace.psbs);
}

INSTANTIATE_TEST_SUITE_P(Traces, Raw,
                         testing::Values(RawTrace{"unzip", 16896, 74}, RawTrace{"foo", 29344, 15},
                                         RawTrace{"avscript", 98304, 49}),
                         [](const auto& trace) { return std::string(trace.param.folder); });

// The AUX bytes of a perf.data file: its AUXTRACE events' (tools/perf/Documentation/
// perf.data-file-format.txt). Empty if it is not laid out as expected.
std::vector<Bytes> aux_buffers(const Bytes& file) {
  constexpr std::uint64_t kDataSection = 40;  // in the header: offset and size
  constexpr std::uint32_t kAuxtrace = 71;
  std::vector<Bytes> out;
  ByteReader header(file);
  if (!header.seek(kDataSection)) return out;
  const auto start = header.read<std::uint64_t>();
  const auto size = header.read<std::uint64_t>();
  ByteReader at(file);
  if (!start || !size || !at.seek(*start)) return out;
  const auto data = at.take(*size);
  if (!data) return out;
  ByteReader events(*data);
  while (events.remaining() > 0) {
    const auto type = events.read<std::uint32_t>();
    const auto misc = events.read<std::uint16_t>();
    const auto event_size = events.read<std::uint16_t>();
    if (!type || !misc || !event_size || *event_size < 8) return {};
    const auto body = events.take(*event_size - 8u);
    if (!body) return {};
    if (*type != kAuxtrace) continue;
    const auto aux_size = ByteReader(*body).read<std::uint64_t>();
    if (!aux_size) return {};
    const auto aux = events.take(*aux_size);
    if (!aux) return {};
    out.emplace_back(aux->begin(), aux->end());
  }
  return out;
}

// The packet lines that `perf script -D` of Linux 6.1 prints for this file. perf shows the PADs
// behind a packet shorter than 8 bytes in that packet's line; so those that fill it up to 8 bytes
// do not count.
TEST(PerfData, HasThePacketsThatPerfCounts) {
  const std::optional<Bytes> file = shared_trace("perfdata/perf.data.intel_pt-4.14");
  if (!file) GTEST_SKIP() << "no perf.data.intel_pt-4.14 on this machine (HODO_SHARED)";
  Counts counts;
  for (const Bytes& aux : aux_buffers(*file)) {
    PacketReader reader(aux);
    std::size_t line_end = 0;
    Packet packet;
    while (reader.read(packet) == ReadStatus::packet) {
      const bool fills_up = packet.type == PacketType::pad && reader.offset() <= line_end;
      if (fills_up) continue;
      line_end = reader.offset() - packet.size + 8;
      ++counts[packet.type];
    }
    EXPECT_TRUE(reader.at_end()) << "stopped at " << reader.offset();
  }
  const Counts expected = {
      {PacketType::tnt, 69516},    {PacketType::tip, 12039},   {PacketType::mtc, 2802},
      {PacketType::pad, 1538},     {PacketType::pip, 441},     {PacketType::fup, 149},
      {PacketType::tsc, 24},       {PacketType::tma, 24},      {PacketType::cbr, 24},
      {PacketType::mode_exec, 18}, {PacketType::mode_tsx, 16}, {PacketType::tip_pge, 10},
      {PacketType::tip_pgd, 10},   {PacketType::psb, 10},      {PacketType::psbend, 10}};
  EXPECT_EQ(counts, expected);
}

}  // namespace
}  // namespace hodo::pt
