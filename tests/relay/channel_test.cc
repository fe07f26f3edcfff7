// Both ends of a channel in one process.
#include "hodo/relay/channel.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hodo/hw/bts.h"

namespace hodo::relay {
namespace {

constexpr std::uint64_t kAux = 1 << 16;

// As PtRemains has them: the stop bit, 16 bits of the digest, the outcomes.
constexpr std::uint64_t left(std::uint64_t digest, unsigned count = 0, std::uint64_t outcomes = 0) {
  return (1ULL << 16 | (digest & 0xffff)) << count | outcomes;
}

struct Channel {
  explicit Channel(std::int32_t recorder = getpid(), Recording recording = Recording::pt)
      : memory(make(recorder, recording)),
        reader(map(), recording),
        process(map()),
        stream(process.key()),
        records(process.key()) {}
  ~Channel() { close(fd); }

  ChannelMemory make(std::int32_t recorder, Recording recording) {
    Settings settings;
    settings.recorder_pid = recorder;
    settings.recording = recording;
    fd = create_channel_file(kAux, settings).value();
    return map();
  }
  ChannelMemory map() const { return ChannelMemory::map(fd, kAux, false).value(); }

  bool write(std::string_view text, RecordType type = RecordType::comm) {
    RecordHeader header;
    header.type = type;
    header.tid = 7;
    return process.write_record(header, {}, bytes(text));
  }
  // The text of the next record; empty if there is none.
  std::string read() {
    reader.look();
    const auto record = reader.next_record();
    if (!record) return {};
    return {reinterpret_cast<const char*>(record->payload.data()), record->payload.size()};
  }
  // What is in the ring up to there.
  std::uint64_t publish(std::uint64_t until, unsigned patience_ms = 0) {
    add(until);
    return process.publish_aux(until, stream.value(), patience_ms);
  }
  void add(std::uint64_t until) {
    stream.add(process.aux() + written % kAux, until - written);
    written = until;
    process.remains() = {stream.value(), left(stream.value())};
  }
  std::vector<std::uint8_t> take() {
    reader.look();
    const auto bytes = reader.take();
    return {bytes.begin(), bytes.end()};
  }
  ChannelHeader& header() const { return memory.header(); }
  static std::span<const std::uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
  }

  int fd = -1;
  ChannelMemory memory;  // as the program under test finds it
  ChannelReader reader;
  ChannelWriter process;
  unit::StreamDigest stream;
  unit::RecordDigest records;
  std::uint64_t written = 0;
};

std::int32_t dead_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

// By whoever finds the file: the other end would get SIGBUS.
TEST(Channel, CannotBeMadeShorter) {
  const Channel channel;
  EXPECT_NE(ftruncate(channel.fd, 0), 0);
  EXPECT_EQ(errno, EPERM);
  EXPECT_NE(ftruncate(channel.fd, 1 << 30), 0);
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
  ASSERT_TRUE(channel.process.write_record(header, fixed, Channel::bytes(path)));
  ASSERT_TRUE(channel.write("second"));
  channel.reader.look();
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
  constexpr unsigned kRecords = 200;
  constexpr std::size_t kSize = 8000;
  static_assert(kRecords * kSize > 5 * kRecordBytes);
  const auto text = [](unsigned i) { return std::string(kSize, static_cast<char>('a' + i % 26)); };
  std::atomic<unsigned> sent = 0;
  std::atomic<bool> ended = false;
  std::thread program([&] {
    while (sent < kRecords && channel.write(text(sent))) ++sent;
    ended = true;
  });
  // As many as fit are there before the first is read, and then the program waits.
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (sent < kRecordBytes / kSize - 1 && !ended && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_GE(sent, kRecordBytes / kSize - 1);
  EXPECT_FALSE(ended);
  std::vector<std::string> received;
  for (bool last = false; !last;) {
    last = ended;  // before reading, so that nothing comes later
    for (std::string record; !(record = channel.read()).empty();) received.push_back(record);
    channel.reader.release_records();
  }
  program.join();
  ASSERT_EQ(received.size(), kRecords);
  for (unsigned i = 0; i < kRecords; ++i) EXPECT_EQ(received[i], text(i)) << i;
}

const std::string kText(8000, 'x');
const auto kFits = static_cast<unsigned>(kRecordBytes / kText.size());

// Writes records until one is refused, or more have been taken than fit; says how many.
unsigned fill(Channel& channel) {
  unsigned written = 0;
  while (written <= kFits && channel.write(kText)) ++written;
  return written;
}

TEST(Records, FullRingOfADeadRecorderIsGivenUp) {
  Channel channel(dead_process());
  EXPECT_LE(fill(channel), kFits);
  EXPECT_EQ(channel.header().stop.load(), 1u);
}

// A recorder that nobody has waited for yet is dead as well.
TEST(Records, FullRingOfAZombieIsGivenUp) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  Channel channel(child);
  EXPECT_LE(fill(channel), kFits);
  EXPECT_EQ(channel.header().stop.load(), 1u);
  waitpid(child, nullptr, 0);
}

TEST(Records, StopEndsTheWait) {
  Channel channel;
  channel.reader.stop();
  const unsigned written = fill(channel);
  EXPECT_LE(written, kFits);
  // What fitted before is not lost.
  unsigned read = 0;
  while (channel.read() == kText) ++read;
  EXPECT_EQ(read, written);
}

TEST(Aux, IsThereWhenPublished) {
  Channel channel;
  EXPECT_TRUE(channel.take().empty());
  std::memcpy(channel.process.aux(), "abc", 3);
  EXPECT_EQ(channel.publish(3), kAux - 3);
  const auto bytes = channel.take();
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "abc");
  EXPECT_EQ(channel.reader.waiting(), 0u);
  EXPECT_FALSE(channel.reader.damaged());
}

TEST(Aux, WrapsInOnePiece) {
  Channel channel;
  for (std::uint64_t written = 0, i = 0; i < 500; ++i) {
    const std::uint64_t size = 1 + i * 37 % 5000;
    for (std::uint64_t n = 0; n < size; ++n) {
      channel.process.aux()[(written + n) % kAux] = static_cast<std::uint8_t>(i);
    }
    written += size;
    ASSERT_EQ(channel.publish(written), kAux - size);
    const auto bytes = channel.take();
    ASSERT_EQ(bytes.size(), size) << channel.reader.damage();
    ASSERT_TRUE(std::ranges::all_of(bytes, [&](auto b) { return b == i % 256; })) << i;
  }
}

TEST(Aux, LittleRoomIsNone) {
  Channel channel;
  EXPECT_EQ(channel.publish(kAux * 3 / 4), kAux / 4);
  EXPECT_EQ(channel.publish(kAux * 3 / 4 + 1), 0u);
}

// The recorder is another process here, as this one would run only to look at it.
TEST(Aux, ARecorderThatRunsHasMoreTime) {
  const pid_t busy = fork();
  if (busy == 0) {
    for (volatile unsigned turns = 0;;) turns = turns + 1;
  }
  Channel channel(busy);
  channel.publish(kAux);
  std::thread drain([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1800));
    channel.take();
  });
  EXPECT_EQ(channel.process.publish_aux(kAux, channel.stream.value(), 1200), kAux);
  drain.join();
  kill(busy, SIGKILL);
  waitpid(busy, nullptr, 0);
}

TEST(Aux, FullRingWaitsForTheRecorder) {
  Channel channel;
  std::thread recorder([&] {
    while (channel.reader.waiting() == 0) channel.reader.look();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    (void)channel.reader.take();
  });
  EXPECT_EQ(channel.publish(kAux, 10'000), kAux);
  recorder.join();
}

TEST(Aux, PatienceEnds) {
  Channel channel;
  EXPECT_EQ(channel.publish(kAux, 150), 0u);
}

TEST(Aux, NobodyWaitsForADeadRecorderOrAStop) {
  const auto start = std::chrono::steady_clock::now();
  Channel dead(dead_process());
  EXPECT_EQ(dead.publish(kAux, 60'000), 0u);
  Channel stopped;
  stopped.reader.stop();
  EXPECT_EQ(stopped.publish(1, 60'000), 0u);
  EXPECT_EQ(stopped.take().size(), 1u) << "what is there is published nevertheless";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  stopped.reader.finish();
  EXPECT_FALSE(stopped.reader.damaged()) << stopped.reader.damage();
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
  const auto bytes = stacks({2, 0, kMaxStack});
  std::span<const std::uint8_t> rest(bytes);
  for (const std::uint64_t size : {std::uint64_t{2}, std::uint64_t{0}, kMaxStack}) {
    const auto stack = take_stack(rest);
    ASSERT_TRUE(stack);
    EXPECT_EQ(stack->entries.size(), size * sizeof(StackEntry));
  }
  EXPECT_FALSE(take_stack(rest));
}

TEST(Stacks, ThatCannotBeAreNone) {
  for (const auto& bytes :
       {stacks({kMaxStack + 1}), stacks({~std::uint64_t{0}}), stacks({2}, 1), stacks({0}, 1)}) {
    std::span<const std::uint8_t> rest(bytes);
    EXPECT_FALSE(take_stack(rest));
  }
}

// --- what a killed process leaves ---

TEST(Remains, PacketsBehindTheLastSealAndPendingOutcomes) {
  Channel channel;
  std::memcpy(channel.process.aux(), "abcdefghij", 10);
  channel.publish(3);
  channel.add(10);
  const std::uint64_t digest = channel.stream.value();
  channel.process.remains() = {digest, left(digest, 1, 1)};
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
  const auto bytes = channel.take();
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "abcdefghij\x06");
  EXPECT_TRUE(channel.take().empty());
}

// Killed between a packet and the outcomes that are left beside it: they are in the packet.
TEST(Remains, OutcomesOfBeforeTheLastPacketAreNotPending) {
  Channel channel;
  std::memcpy(channel.process.aux(), "abcd", 4);
  channel.add(3);
  const std::uint64_t before = channel.stream.value();
  channel.add(4);
  channel.process.remains() = {channel.stream.value(), left(before, 1, 1)};
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
  EXPECT_EQ(channel.take().size(), 4u);
}

// Killed between a PSB and its FUP, which a decoder would miss.
TEST(Remains, EndBeforeAPsbThatIsCutOff) {
  for (const bool whole : {false, true}) {
    Channel channel;
    std::string packets = "\x06";
    for (int i = 0; i < 8; ++i) packets += "\x02\x82";
    packets += std::string("\x99\x01\x7d\x01\x02\x03\x04\x05\x06", 9);
    if (whole) packets += "\x02\x23";
    std::memcpy(channel.process.aux(), packets.data(), packets.size());
    channel.add(packets.size());
    channel.reader.finish();
    EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
    EXPECT_EQ(channel.take().size(), whole ? packets.size() : 1u);
  }
}

// An engine that writes packets inline says of them only that there may be some.
TEST(Remains, OfAnEngineEndInALossWhileItRuns) {
  for (const bool lost : {false, true}) {
    Channel channel;
    std::memcpy(channel.process.aux(), "abcd", 4);
    channel.publish(4);
    channel.process.remains() = unit::remains_behind(channel.stream.value(), lost);
    channel.reader.finish();
    EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
    const auto bytes = channel.take();
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), lost ? "abcd\x02\xf3" : "abcd");
  }
}

// Killed between the digest of what it hands over and the word that it runs.
TEST(Remains, OfAnEngineThatWasHandingOver) {
  Channel channel;
  const std::string packets(1000, 'x');
  std::memcpy(channel.process.aux(), packets.data(), packets.size());
  channel.publish(10);
  const std::uint64_t before = channel.stream.value();
  channel.add(1000);
  channel.process.remains() = {channel.stream.value(), unit::remains_behind(before, true).outcomes};
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
  EXPECT_EQ(channel.take().size(), 1002u) << "all, and the loss behind";
}

TEST(Remains, OfBtsAreRecords) {
  Channel channel(getpid(), Recording::bts);
  const hw::BtsRecord records[3] = {{1, 2, 16}, {3, 4, 16}, {5, 6, 16}};
  std::memcpy(channel.process.aux(), records, sizeof(records));
  channel.records.add(0, 1, 2, 16);
  channel.process.publish_aux(24, channel.records.value(), 0);
  EXPECT_EQ(channel.take().size(), 24u);
  channel.records.add(24, 3, 4, 16);
  channel.records.add(48, 5, 6, 16);
  channel.process.remains().digest = channel.records.value();
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
  EXPECT_EQ(channel.take().size(), 48u);
}

TEST(Remains, ThatWereChangedAreNotBelieved) {
  for (const Recording recording : {Recording::pt, Recording::bts}) {
    Channel channel(getpid(), recording);
    if (recording == Recording::pt) {
      channel.publish(24);
    } else {
      channel.records.add(0, 0, 0, 0);
      channel.process.publish_aux(24, channel.records.value(), 0);
    }
    channel.process.remains().digest ^= 1;
    channel.reader.finish();
    EXPECT_TRUE(channel.reader.damaged());
    EXPECT_EQ(channel.take().size(), 24u) << "what was sealed is good";
  }
}

TEST(Socket, HandsTheChannelOverAndNothingElse) {
  const std::string name = "hodo-relay-test-" + std::to_string(getpid());
  EXPECT_LT(connect_recorder(name, {}), 0);
  EXPECT_FALSE(open_channel(-1, {}));
  const auto listening = listen_socket(name);
  ASSERT_TRUE(listening);
  EXPECT_FALSE(listen_socket(name)) << "two recorders of one name";
  close(*listening);
}

TEST(Socket, TheKeyIsTakenOutOfTheEnvironment) {
  const std::string digits = "0123456789abcdef0123456789abcdef";
  setenv(kKeyVariable, digits.c_str(), 1);
  const char* const there = getenv(kKeyVariable);
  const Key key = take_key();
  EXPECT_EQ(std::string(key.data(), key.size()), digits);
  EXPECT_EQ(*there, 0) << "/proc/self/environ has it";
  EXPECT_EQ(getenv(kKeyVariable), nullptr);
  EXPECT_EQ(take_key(), Key{});
}

// --- what a program may do to its channel ---

// A channel with something in it, taken and not: what is good up to `attack` and what not.
void expect_found(const char* what, const std::function<void(Channel&)>& attack) {
  Channel channel;
  channel.write("first");
  std::memcpy(channel.process.aux(), "0123456789abcdef", 16);
  channel.publish(8);
  EXPECT_EQ(channel.read(), "first") << what;
  channel.reader.release_records();
  EXPECT_EQ(channel.take().size(), 8u) << what;
  channel.write("second");
  channel.publish(16);
  attack(channel);
  channel.reader.look();
  (void)channel.reader.take();
  channel.reader.finish();
  EXPECT_TRUE(channel.reader.damaged()) << what;
  EXPECT_GE(channel.reader.trusted(), 8u) << what;
}

TEST(Hostile, NothingIsBelievedThatWasChanged) {
  const std::pair<const char*, std::function<void(Channel&)>> kAttacks[] = {
      {"magic", [](Channel& c) { c.header().magic = 0; }},
      {"size", [](Channel& c) { c.header().aux_size /= 2; }},
      {"settings", [](Channel& c) { c.header().settings.follow_exec = 0; }},
      {"number of seals, more", [](Channel& c) { c.header().sealed += 2; }},
      {"number of seals, fewer", [](Channel& c) { c.header().sealed -= 3; }},
      {"number of seals, none", [](Channel& c) { c.header().sealed = 0; }},
      {"an older seal",
       [](Channel& c) {
         const auto n = c.header().sealed.load() % 2;
         c.header().seals[n] = c.header().seals[1 - n];
       }},
      {"AUX head", [](Channel& c) { ++c.header().seals[c.header().sealed % 2].aux_head; }},
      {"AUX head, enormous",
       [](Channel& c) { c.header().seals[c.header().sealed % 2].aux_head = ~0ULL; }},
      {"AUX digest", [](Channel& c) { ++c.header().seals[c.header().sealed % 2].aux_digest; }},
      {"record head", [](Channel& c) { c.header().seals[c.header().sealed % 2].record_head = 0; }},
      {"record digest",
       [](Channel& c) { ++c.header().seals[c.header().sealed % 2].record_digest; }},
      {"losses", [](Channel& c) { c.header().seals[c.header().sealed % 2].dropped = 59679; }},
      {"closed", [](Channel& c) { c.header().seals[c.header().sealed % 2].flags = kClosed; }},
      {"stop", [](Channel& c) { c.header().stop = 1; }},
      {"AUX tail", [](Channel& c) { c.header().aux_tail = 16; }},
      {"record tail", [](Channel& c) { c.header().record_tail = 1 << 20; }},
      {"drained", [](Channel& c) { ++c.header().drained; }},
      {"a byte of the ring", [](Channel& c) { c.memory.aux()[12] ^= 1; }},
      {"a record", [](Channel& c) { c.memory.records()[60] ^= 1; }},
      {"what is left", [](Channel& c) { c.header().remains.digest = 0; }},
      {"outcomes", [](Channel& c) { c.header().remains.outcomes = 0; }},
      {"the whole header",
       [](Channel& c) {
         std::memset(static_cast<void*>(&c.header()), 0xff, sizeof(ChannelHeader));
       }},
  };
  for (const auto& [what, attack] : kAttacks) expect_found(what, attack);
}

TEST(Hostile, NothingIsFoundWhereNothingWasDone) {
  Channel channel;
  channel.write("first");
  channel.publish(16);
  EXPECT_EQ(channel.read(), "first");
  channel.reader.release_records();
  EXPECT_EQ(channel.take().size(), 16u);
  channel.process.close();
  channel.reader.look();
  EXPECT_TRUE(channel.reader.closed());
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
}

// Nobody looks there, or not before it is as it was.
TEST(Hostile, WhatChangesNothingIsNotNoticed) {
  Channel channel;
  channel.write("first");
  std::memcpy(channel.process.aux(), "0123456789abcdef", 16);
  channel.publish(8);
  EXPECT_EQ(channel.read(), "first");
  channel.reader.release_records();
  EXPECT_EQ(channel.take().size(), 8u);
  channel.memory.aux()[3] ^= 1;      // was taken
  channel.memory.aux()[100] ^= 1;    // was not used yet
  channel.memory.records()[3] ^= 1;  // was taken
  channel.header().waiting = 1;
  channel.publish(16);
  channel.header().seals[1 - channel.header().sealed % 2].aux_head = 1;  // the seal before
  channel.memory.aux()[12] ^= 1;
  channel.memory.aux()[12] ^= 1;
  const auto rest = channel.take();
  EXPECT_EQ(std::string(rest.begin(), rest.end()), "89abcdef");
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged()) << channel.reader.damage();
}

// What docs/trust.md says can be hidden: nobody has looked since, and the process seals no more.
TEST(Hostile, TheLastMomentBeforeAKillCanBeHidden) {
  Channel channel;
  channel.publish(8);
  EXPECT_EQ(channel.take().size(), 8u);
  std::vector<std::uint8_t> old(sizeof(ChannelHeader));
  std::memcpy(old.data(), static_cast<const void*>(&channel.header()), old.size());
  channel.publish(16);
  std::memcpy(static_cast<void*>(&channel.header()), old.data(), old.size());
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged());
  EXPECT_EQ(channel.take().size(), 0u);
}

// The same, but the recorder has seen what was there, or the process goes on.
TEST(Hostile, NothingBeforeTheLastMomentCanBe) {
  for (const bool goes_on : {false, true}) {
    Channel channel;
    channel.publish(8);
    EXPECT_EQ(channel.take().size(), 8u);
    std::vector<std::uint8_t> old(sizeof(ChannelHeader));
    std::memcpy(old.data(), static_cast<const void*>(&channel.header()), old.size());
    channel.publish(16);
    EXPECT_EQ(goes_on ? 8u : channel.take().size(), 8u);
    std::memcpy(static_cast<void*>(&channel.header()), old.data(), old.size());
    if (goes_on) channel.publish(24);
    channel.reader.finish();
    EXPECT_EQ(channel.reader.damaged(), !goes_on);
    EXPECT_EQ(channel.take().size(), goes_on ? 16u : 0u) << "nothing is missing";
  }
}

// Outcomes that are in no packet are under no digest.
TEST(Hostile, PendingOutcomesCanBeChanged) {
  Channel channel;
  std::memcpy(channel.process.aux(), "abcd", 4);
  channel.add(4);
  channel.process.remains().outcomes = left(channel.stream.value(), 2, 1);
  channel.process.remains().outcomes ^= 1;
  channel.reader.finish();
  EXPECT_FALSE(channel.reader.damaged());
  EXPECT_EQ(channel.take().size(), 5u);
}

// The process does not write where a forged tail says that there is room, and does not wait for it.
TEST(Hostile, AForgedTailEndsTheRecording) {
  for (const std::uint64_t tail : {std::uint64_t{1}, kAux, ~std::uint64_t{0}}) {
    Channel channel;
    channel.publish(kAux / 2);
    EXPECT_EQ(channel.take().size(), kAux / 2);
    channel.publish(kAux / 2 + 1);
    channel.header().aux_tail = tail;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(channel.publish(kAux / 2 + 2, 10'000), 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
    EXPECT_TRUE(channel.process.over());
    channel.reader.finish();
    EXPECT_TRUE(channel.reader.damaged());
  }
}

// What the process was told in the beginning it goes by to the end.
TEST(Hostile, ForgedSettingsAreNotFollowed) {
  Channel channel;
  EXPECT_EQ(channel.header().key, 0u) << "the key is not left there";
  channel.header().settings.follow_exec = 0;
  EXPECT_EQ(channel.process.settings().follow_exec, 1u);
}

TEST(Hostile, MemoryIsKnownToBeTheChannels) {
  const Channel channel;
  const auto address = reinterpret_cast<std::uintptr_t>(channel.process.aux());
  EXPECT_TRUE(channel.process.lies_in(address, 1));
  EXPECT_TRUE(channel.process.lies_in(0, ~std::uint64_t{0}));
  EXPECT_FALSE(channel.process.lies_in(address + 2 * kAux, 4096));
  EXPECT_FALSE(channel.process.lies_in(0x1000, 4096));
}

}  // namespace
}  // namespace hodo::relay
