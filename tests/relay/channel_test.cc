// Both ends of a channel in one process.
#include "hodo/relay/channel.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <string>
#include <thread>

namespace hodo::relay {
namespace {

constexpr std::uint64_t kAux = 1 << 16;

struct Channel {
  explicit Channel(std::int32_t recorder = getpid()) : process(make(recorder)), reader(map()) {}
  ~Channel() { close(fd); }

  ChannelMemory make(std::int32_t recorder) {
    Settings settings;
    settings.recorder_pid = recorder;
    fd = create_channel_file(kAux, settings).value();
    return map();
  }
  ChannelMemory map() const { return ChannelMemory::map(fd, kAux, false).value(); }

  bool write(std::string_view text, RecordType type = RecordType::comm) {
    RecordHeader header;
    header.type = type;
    header.tid = 7;
    return write_record(process, header, {}, bytes(text));
  }
  // The text of the next record; empty if there is none.
  std::string read() {
    const auto record = reader.next_record();
    if (!record) return {};
    return {reinterpret_cast<const char*>(record->payload.data()), record->payload.size()};
  }
  static std::span<const std::uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }

  int fd = -1;
  ChannelMemory process;
  ChannelReader reader;
};

std::int32_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(Records, ComeInOrderWithTheirFields) {
  Channel channel;
  const MapRecord map{.start = 1, .length = 2, .offset = 3, .inode = 4, .major = 5, .minor = 6};
  RecordHeader header;
  header.type = RecordType::map;
  header.flags = kExec;
  header.tid = 42;
  header.time = 99;
  const std::string_view path = "/a/file";
  const std::span fixed(reinterpret_cast<const std::uint8_t*>(&map), sizeof(map));
  ASSERT_TRUE(write_record(channel.process, header, fixed, Channel::bytes(path)));
  ASSERT_TRUE(channel.write("second"));
  const auto record = channel.reader.next_record();
  ASSERT_TRUE(record);
  EXPECT_EQ(record->header.tid, 42);
  EXPECT_EQ(record->header.time, 99u);
  EXPECT_EQ(record->header.flags, kExec);
  EXPECT_EQ(std::memcmp(record->fixed.data(), &map, sizeof(map)), 0);
  EXPECT_EQ(std::string(record->payload.begin(), record->payload.end()), path);
  EXPECT_EQ(channel.read(), "second");
  EXPECT_EQ(channel.read(), "");
  EXPECT_FALSE(channel.reader.damaged());
}

TEST(Records, WrapWithoutBeingSplit) {
  Channel channel;
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::string text(1 + random() % 3000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(channel.write(text));
    ASSERT_EQ(channel.read(), text) << i;
    channel.reader.release_records();
  }
}

TEST(Records, TooLargeIsDropped) {
  Channel channel;
  EXPECT_FALSE(channel.write(std::string(kRecordBytes / 2, 'x')));
  EXPECT_TRUE(channel.write(std::string(kRecordBytes / 2 - sizeof(RecordHeader), 'x')));
}

TEST(Records, FullRingWaitsForTheRecorder) {
  Channel channel;
  const std::string text(8000, 'x');
  unsigned sent = 0;
  std::thread program([&] {
    for (; sent < 200; ++sent) ASSERT_TRUE(channel.write(text));
  });
  unsigned received = 0;
  while (received < 200) {
    if (channel.read() == text) {
      ++received;
    } else {
      channel.reader.release_records();
    }
  }
  program.join();
  EXPECT_EQ(sent, 200u);
}

TEST(Records, FullRingOfADeadRecorderIsGivenUp) {
  Channel channel(dead_process());
  const std::string text(8000, 'x');
  while (channel.write(text)) {
  }
  EXPECT_EQ(channel.process.header().stop.load(), 1u);
}

// A recorder that nobody has waited for yet is dead as well.
TEST(Records, FullRingOfAZombieIsGivenUp) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  Channel channel(child);
  const std::string text(8000, 'x');
  while (channel.write(text)) {
  }
  EXPECT_EQ(channel.process.header().stop.load(), 1u);
  waitpid(child, nullptr, 0);
}

TEST(Records, StopEndsTheWait) {
  Channel channel;
  channel.reader.stop();
  const std::string text(8000, 'x');
  while (channel.write(text)) {
  }
}

TEST(Aux, IsThereWhenPublished) {
  Channel channel;
  EXPECT_TRUE(channel.reader.aux().empty());
  std::memcpy(channel.process.aux(), "abc", 3);
  EXPECT_EQ(publish_aux(channel.process, 3, 0), kAux - 3);
  const auto bytes = channel.reader.aux();
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "abc");
  channel.reader.release_aux(2);
  EXPECT_EQ(channel.reader.aux().size(), 1u);
  EXPECT_EQ(channel.reader.aux()[0], 'c');
}

TEST(Aux, WrapsInOnePiece) {
  Channel channel;
  for (std::uint64_t written = 0, i = 0; i < 500; ++i) {
    const std::uint64_t size = 1 + i * 37 % 5000;
    for (std::uint64_t n = 0; n < size; ++n) {
      channel.process.aux()[(written + n) % kAux] = static_cast<std::uint8_t>(i);
    }
    written += size;
    ASSERT_EQ(publish_aux(channel.process, written, 0), kAux - size);
    const auto bytes = channel.reader.aux();
    ASSERT_EQ(bytes.size(), size);
    ASSERT_TRUE(std::ranges::all_of(bytes, [&](auto b) { return b == i % 256; })) << i;
    channel.reader.release_aux(size);
  }
}

TEST(Aux, LittleRoomIsNone) {
  Channel channel;
  EXPECT_EQ(publish_aux(channel.process, kAux * 3 / 4, 0), kAux / 4);
  EXPECT_EQ(publish_aux(channel.process, kAux * 3 / 4 + 1, 0), 0u);
}

TEST(Aux, FullRingWaitsForTheRecorder) {
  Channel channel;
  std::thread recorder([&] {
    while (channel.reader.aux().empty()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    channel.reader.release_aux(channel.reader.aux().size());
  });
  EXPECT_EQ(publish_aux(channel.process, kAux, 10'000), kAux);
  recorder.join();
}

TEST(Aux, PatienceEnds) {
  Channel channel;
  EXPECT_EQ(publish_aux(channel.process, kAux, 150), 0u);
}

TEST(Aux, NobodyWaitsForADeadRecorderOrAStop) {
  const auto start = std::chrono::steady_clock::now();
  Channel dead(dead_process());
  EXPECT_EQ(publish_aux(dead.process, kAux, 60'000), 0u);
  Channel stopped;
  stopped.reader.stop();
  EXPECT_EQ(publish_aux(stopped.process, 1, 60'000), 0u);
  EXPECT_EQ(stopped.reader.aux().size(), 1u) << "what is there is published nevertheless";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

// Samples as the process's end writes them: `sizes` entries each, and `cut` bytes missing at the
// end.
std::vector<std::uint8_t> stacks(const std::vector<std::uint64_t>& sizes, std::size_t cut = 0) {
  std::vector<std::uint8_t> out;
  for (const std::uint64_t size : sizes) {
    const StackSample head{.time = 1, .ip = 2, .entries = size};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&head);
    out.insert(out.end(), bytes, bytes + sizeof(head));
    out.resize(out.size() + std::min<std::uint64_t>(size, 100) * sizeof(StackEntry));
  }
  out.resize(out.size() - cut);
  return out;
}

TEST(Stacks, ComeOneByOne) {
  const Channel channel;
  const auto bytes = stacks({2, 0, kMaxStack});
  std::span<const std::uint8_t> rest(bytes);
  for (const std::uint64_t size : {std::uint64_t{2}, std::uint64_t{0}, kMaxStack}) {
    const auto stack = channel.reader.take_stack(rest);
    ASSERT_TRUE(stack);
    EXPECT_EQ(stack->entries.size(), size * sizeof(StackEntry));
  }
  EXPECT_FALSE(channel.reader.take_stack(rest));
  EXPECT_FALSE(channel.reader.damaged());
}

TEST(Stacks, ThatCannotBeAreDamage) {
  for (const auto& bytes :
       {stacks({kMaxStack + 1}), stacks({~std::uint64_t{0}}), stacks({2}, 1), stacks({0}, 1)}) {
    const Channel channel;
    std::span<const std::uint8_t> rest(bytes);
    EXPECT_FALSE(channel.reader.take_stack(rest));
    EXPECT_TRUE(channel.reader.damaged());
  }
}

// The DS area of a channel: records of the ring up to `index`, an offset in it.
void set_ds_index(Channel& channel, std::uint64_t index) {
  ChannelHeader& header = channel.process.header();
  header.ring_address = 0x10000;
  hw::write_ds_area({.bts = {.index = header.ring_address + index}}, hw::DsLayout::bits64,
                    header.ds_area);
}

TEST(Bts, RecordsOfAKilledProcessAreThereUpToTheDsIndex) {
  Channel channel;
  ChannelReader reader(channel.map(), Recording::bts);
  publish_aux(channel.process, 48, 0);
  set_ds_index(channel, 48 + 72);
  EXPECT_EQ(reader.aux().size(), 48u);
  reader.finish();
  EXPECT_EQ(reader.aux().size(), 48u + 72);
}

TEST(Bts, TheIndexMayHaveWrappedAround) {
  Channel channel;
  ChannelReader reader(channel.map(), Recording::bts);
  const std::uint64_t head = kAux - 24;
  publish_aux(channel.process, head, 0);
  reader.release_aux(head);
  set_ds_index(channel, head + 48);  // behind the ring's end, where it is mapped again
  reader.finish();
  EXPECT_EQ(reader.aux().size(), 48u);
}

TEST(Bts, AnIndexThatCannotBeIsNotBelieved) {
  for (const std::uint64_t index : {std::uint64_t{25}, std::uint64_t{23}, ~std::uint64_t{0} - 5}) {
    Channel channel;
    ChannelReader reader(channel.map(), Recording::bts);
    publish_aux(channel.process, 24, 0);
    set_ds_index(channel, index);
    reader.finish();
    EXPECT_EQ(reader.aux().size(), 24u) << index;
    EXPECT_FALSE(reader.damaged());
  }
}

TEST(Socket, HandsTheChannelOverAndNothingElse) {
  const std::string name = "hodo-relay-test-" + std::to_string(getpid());
  EXPECT_LT(connect_recorder(name), 0);
  EXPECT_FALSE(open_channel(-1, {}));
  const auto listening = listen_socket(name);
  ASSERT_TRUE(listening);
  EXPECT_FALSE(listen_socket(name)) << "two recorders of one name";
  close(*listening);
}

// --- what a program may do to its channel ---

TEST(Hostile, RecordSizesThatCannotBe) {
  struct Case {
    const char* what;
    std::uint32_t size;
    RecordType type;
    std::uint32_t payload;
  };
  constexpr Case kCases[] = {
      {"no size", 0, RecordType::comm, 0},
      {"smaller than its header", 16, RecordType::comm, 0},
      {"not a multiple of 8", 36, RecordType::comm, 0},
      {"larger than what is there", 4096, RecordType::comm, 0},
      {"enormous", 0xfffffff8, RecordType::comm, 0},
      {"payload behind its end", 24, RecordType::comm, 1},
      {"payload that wraps", 24, RecordType::comm, 0xffffffff},
      {"no room for its fixed part", 40, RecordType::map, 0},
  };
  static_assert(sizeof(RecordHeader) == 24);
  for (const Case& c : kCases) {
    Channel channel;
    const RecordHeader header{.size = c.size, .type = c.type, .payload = c.payload};
    std::memcpy(channel.process.records(), &header, sizeof(header));
    channel.process.header().record_head = 64;
    EXPECT_FALSE(channel.reader.next_record()) << c.what;
    EXPECT_TRUE(channel.reader.damaged()) << c.what;
    EXPECT_FALSE(channel.reader.next_record()) << c.what;
    EXPECT_TRUE(channel.reader.aux().empty()) << c.what;
  }
}

TEST(Hostile, HeadsThatCannotBe) {
  for (const std::uint64_t head : {kAux + 1, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    Channel channel;
    channel.process.header().aux_head = head;
    EXPECT_TRUE(channel.reader.aux().empty());
    EXPECT_TRUE(channel.reader.damaged()) << head;
  }
  Channel channel;
  channel.process.header().record_head = kRecordBytes + 8;
  EXPECT_FALSE(channel.reader.next_record());
  EXPECT_TRUE(channel.reader.damaged());
}

// A head that runs away from the reader as fast as it reads.
TEST(Hostile, EndlessRecordsEnd) {
  Channel channel;
  for (int i = 0; i < 100; ++i) channel.write("12345678");
  auto& head = channel.process.header().record_head;
  const std::uint64_t all = head;
  for (std::uint64_t at = 0; at + 32 <= kRecordBytes; at += 32) {
    std::memcpy(channel.process.records() + at, channel.process.records(), 32);
  }
  std::uint64_t records = 0;
  while (channel.reader.next_record() && records < kRecordBytes) {
    ++records;
    head = all + records * 32;
  }
  EXPECT_LE(records, kRecordBytes / 32);
  EXPECT_TRUE(channel.reader.damaged());
}

// Anything at all in the header, the unit and the records: the reader stays inside its rings, comes
// to an end, and never trusts the sizes that the program can write to.
TEST(Hostile, RandomContentIsSurvived) {
  unsigned damaged = 0;
  for (unsigned seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 random(seed);
    Channel channel;
    for (int i = 0; i < 20; ++i) channel.write(std::string(random() % 200, 'x'));
    publish_aux(channel.process, random() % kAux, 0);
    auto* bytes = reinterpret_cast<std::uint8_t*>(&channel.process.header());
    const bool all = seed % 4 == 0;
    const std::uint64_t span = seed % 2 == 0 ? kHeaderBytes : kHeaderBytes + 2048;
    for (std::uint64_t n = all ? span : 1 + random() % 64; n-- > 0;) {
      const std::uint64_t at = all ? n : random() % span;
      bytes[at] = seed % 3 == 0 ? 0xff : static_cast<std::uint8_t>(random());
    }
    std::uint64_t seen = 0;
    for (int records = 0; channel.reader.next_record().has_value(); ++records) {
      ASSERT_LT(records, 1 << 14) << "no end, seed " << seed;
    }
    channel.reader.release_records();
    for (const std::uint8_t b : channel.reader.aux()) seen += b;
    channel.reader.finish();
    const auto rest = channel.reader.aux();
    ASSERT_LE(rest.size(), kAux) << seed;
    for (const std::uint8_t b : rest) seen += b;
    channel.reader.release_aux(rest.size());
    EXPECT_TRUE(channel.reader.aux().empty());
    (void)channel.reader.closed();
    damaged += channel.reader.damaged() ? 1 : 0;
    ASSERT_LT(seen, 2 * kAux * 255);
  }
  EXPECT_GT(damaged, 100u);
}

}  // namespace
}  // namespace hodo::relay
