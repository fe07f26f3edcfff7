// Our text of packets against `perf script -D`'s, over a perf.data file with nothing in it but the
// trace.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "hodo/pt/describe.h"
#include "hodo/pt/reader.h"
#include "random_packets.h"

namespace hodo::pt {
namespace {

using Bytes = std::vector<std::uint8_t>;

void put(Bytes& out, std::uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i) out.push_back(static_cast<std::uint8_t>(value >> 8 * i));
}

// A perf.data file as small as perf takes it (tools/perf/Documentation/perf.data-file-format.txt).
//
//   0    header: magic, sizes, where attributes and data are, no feature
//   104  one attribute: the dummy software event, without ids
//   184  AUXTRACE_INFO: type 1 (Intel PT) and ten zero words that it must have
//   280  AUXTRACE: size of the trace, which follows it
Bytes perf_data(const Bytes& trace) {
  constexpr std::uint64_t kHeaderSize = 104;
  constexpr std::uint64_t kAttrSize = 64;
  constexpr std::uint64_t kFileAttrSize = kAttrSize + 16;
  constexpr std::uint64_t kInfoWords = 10;
  constexpr std::uint64_t kInfoSize = 16 + 8 * kInfoWords;
  constexpr std::uint64_t kAuxtraceSize = 48;
  Bytes out;
  for (char c : {'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'})
    out.push_back(static_cast<std::uint8_t>(c));
  put(out, kHeaderSize, 8);
  put(out, kFileAttrSize, 8);
  put(out, kHeaderSize, 8);  // attributes: offset, size
  put(out, kFileAttrSize, 8);
  put(out, kHeaderSize + kFileAttrSize, 8);  // data: offset, size
  put(out, kInfoSize + kAuxtraceSize + trace.size(), 8);
  out.resize(kHeaderSize);

  constexpr std::uint32_t kSoftware = 1;
  constexpr std::uint64_t kDummy = 9;
  put(out, kSoftware, 4);
  put(out, kAttrSize, 4);
  put(out, kDummy, 8);
  out.resize(kHeaderSize + kFileAttrSize);

  constexpr std::uint32_t kAuxtraceInfo = 70;
  put(out, kAuxtraceInfo, 4);
  put(out, 0, 2);
  put(out, kInfoSize, 2);
  put(out, 1, 4);
  out.resize(kHeaderSize + kFileAttrSize + kInfoSize);

  constexpr std::uint32_t kAuxtrace = 71;
  put(out, kAuxtrace, 4);
  put(out, 0, 2);
  put(out, kAuxtraceSize, 2);
  put(out, trace.size(), 8);
  out.resize(kHeaderSize + kFileAttrSize + kInfoSize + kAuxtraceSize);
  out.insert(out.end(), trace.begin(), trace.end());
  return out;
}

// The packets' texts out of lines like ".  00000010:  19 01 02 03 04 05 06 07      TSC
// 0x7060504030201".
std::vector<std::string> packet_texts(FILE* perf_output) {
  constexpr std::string_view kLineStart = ".  ";
  std::vector<std::string> out;
  char* line = nullptr;
  std::size_t capacity = 0;
  while (getline(&line, &capacity, perf_output) > 0) {
    std::string_view text(line);
    if (!text.starts_with(kLineStart) || text.find(":  ") != 11) continue;
    text.remove_suffix(text.ends_with('\n') ? 1 : 0);
    // The bytes' column is as wide as the longest packet.
    constexpr std::size_t kBytesColumn = 14;
    constexpr std::size_t kTextColumn = kBytesColumn + 3 * 16;
    if (text.size() > kTextColumn) out.emplace_back(text.substr(kTextColumn));
  }
  std::free(line);
  return out;
}

std::vector<std::string> texts_by_perf(const Bytes& trace) {
  const std::string path = testing::TempDir() + "/pt_perf_test." + std::to_string(getpid());
  const Bytes file = perf_data(trace);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
  FILE* const pipe = popen(("perf script -f -D -i '" + path + "' 2>/dev/null").c_str(), "r");
  std::vector<std::string> out = packet_texts(pipe);
  pclose(pipe);
  std::filesystem::remove(path);
  return out;
}

bool have_perf() { return std::system("perf --version >/dev/null 2>&1") == 0; }

// perf shows a PAD only when it does not follow a short packet, whose line then takes it in.
bool is_shown_by_perf(const Packet& packet) { return packet.type != PacketType::pad; }

// perf does not know TRIG.
bool is_known_to_perf(const Packet& packet) { return packet.type != PacketType::trig; }

constexpr PacketType kStayInBlock[] = {
    PacketType::fup, PacketType::tsc, PacketType::mtc,    PacketType::tma,  PacketType::cyc,
    PacketType::cbr, PacketType::mnt, PacketType::exstop, PacketType::pwre, PacketType::pwrx};
constexpr PacketType kEndBlock[] = {
    PacketType::bep,        PacketType::tip,      PacketType::tip_pge, PacketType::tip_pgd,
    PacketType::mode_exec,  PacketType::mode_tsx, PacketType::pip,     PacketType::ovf,
    PacketType::trace_stop, PacketType::vmcs,     PacketType::psb,     PacketType::psbend,
    PacketType::ptw,        PacketType::mwait,    PacketType::cfe,     PacketType::evd};

template <std::size_t N>
PacketType one_of(const PacketType (&types)[N], Random& random) {
  return types[random() % N];
}

// The texts of a trace's packets, as perf prints them.
std::vector<std::string> texts_by_us(const Bytes& trace) {
  std::vector<std::string> out;
  PacketReader reader(trace);
  Packet packet;
  while (reader.read(packet) == ReadStatus::packet) {
    if (is_shown_by_perf(packet)) out.push_back(to_string(packet));
  }
  EXPECT_TRUE(reader.at_end());
  return out;
}

// Random packets as a trace, blocks whole: items only within one, nothing else that
// looks like an item.
class Stream {
 public:
  void add_random() {
    const Packet packet = random_packet_outside_block(random_);
    if (!is_known_to_perf(packet)) return;
    add(packet);
    if (packet.type == PacketType::bbp) finish_block(packet.extra != 0);
  }
  const Bytes& trace() const { return trace_; }

 private:
  void add(Packet packet) { append(packet, trace_); }
  void finish_block(bool small_items) {
    for (auto items = random_() % 4; items > 0; --items) {
      Packet bip = random_packet(PacketType::bip, random_);
      bip.count = small_items ? 4 : 8;
      if (small_items) bip.payload &= 0xFFFFFFFF;
      add(bip);
      add(random_packet(one_of(kStayInBlock, random_), random_));
    }
    add(random_packet(one_of(kEndBlock, random_), random_));
    add({.type = PacketType::tnt, .count = 2, .payload = 2});  // 0000'1100, an item in a block
  }

  Random random_{211};
  Bytes trace_;
};

TEST(Perf, DescribesPacketsTheSame) {
  if (!have_perf()) GTEST_SKIP() << "needs perf (Debian: linux-perf)";
  Stream stream;
  while (stream.trace().size() < 200000) stream.add_random();
  Bytes trace = stream.trace();
  trace.resize((trace.size() + 7) / 8 * 8);
  const std::vector<std::string> theirs = texts_by_perf(trace);
  const std::vector<std::string> ours = texts_by_us(trace);
  std::size_t next = 0;
  for (const std::string& text : theirs) {
    if (text == "PAD") continue;
    ASSERT_LT(next, ours.size());
    ASSERT_EQ(ours[next], text) << "packet " << next << ", behind " << (next ? ours[next - 1] : "");
    ++next;
  }
  EXPECT_EQ(next, ours.size());
  EXPECT_GT(next, 20000u);
}

}  // namespace
}  // namespace hodo::pt
