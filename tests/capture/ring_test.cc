#include "perf/ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "fake_ring.h"

namespace hodo::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Bytes = std::span<const std::uint8_t>;

ByteVector numbered(std::size_t size, unsigned first = 1) {
  ByteVector out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::uint8_t>((first + i) % 251 + 1);
  return out;
}
ByteVector joined(const AuxData& data) {
  ByteVector out(data.parts[0].begin(), data.parts[0].end());
  out.insert(out.end(), data.parts[1].begin(), data.parts[1].end());
  return out;
}

class DataRingTest : public ::testing::Test {
 protected:
  void put(const ByteVector& record) { ASSERT_TRUE(writer.write(record)); }
  Status drain() {
    return ring.drain([this](Bytes bytes) -> Status {
      chunks.emplace_back(bytes.begin(), bytes.end());
      return {};
    });
  }
  ByteVector drained() {
    chunks.clear();
    EXPECT_TRUE(drain());
    ByteVector all;
    for (const auto& chunk : chunks) all.insert(all.end(), chunk.begin(), chunk.end());
    return all;
  }

  ByteVector memory = ByteVector(64);
  perf_event_mmap_page page = {};
  RingWriter writer{&page.data_head, &page.data_tail, memory};
  DataRing ring{&page, memory};
  std::vector<ByteVector> chunks;
};

TEST_F(DataRingTest, NothingThere) {
  EXPECT_THAT(drained(), IsEmpty());
  EXPECT_THAT(chunks, IsEmpty());
}

TEST_F(DataRingTest, RecordsComeInOnePiece) {
  put(make_record(1, numbered(8)));
  put(make_record(2, numbered(16)));
  ASSERT_TRUE(drain());
  EXPECT_THAT(chunks, ElementsAre(::testing::SizeIs(40)));
  EXPECT_EQ(ring.counts().records, 2u);
  EXPECT_EQ(page.data_tail, 40u);
  EXPECT_THAT(drained(), IsEmpty());
}

TEST_F(DataRingTest, ARecordAcrossTheEndIsJoined) {
  put(make_record(1, numbered(32)));  // [0,40)
  drained();
  put(make_record(1, numbered(8)));                    // [40,56)
  const auto wrapping = make_record(2, numbered(24));  // [56,88): 8 bytes before the end, 24 behind
  put(wrapping);
  put(make_record(3, numbered(8)));
  ASSERT_TRUE(drain());
  ASSERT_EQ(chunks.size(), 4u);  // the drained one, before, the wrapping one, behind
  EXPECT_EQ(chunks[2], wrapping);
  EXPECT_EQ(page.data_tail, 104u);
}

TEST_F(DataRingTest, ARecordThatEndsAtTheEndDoesNotWrap) {
  put(make_record(1, numbered(24)));  // [0,32)
  const auto last = make_record(2, numbered(24));
  put(last);  // [32,64)
  drained();
  put(make_record(3, numbered(8)));
  ASSERT_TRUE(drain());
  EXPECT_EQ(page.data_tail, 80u);
  EXPECT_EQ(ring.counts().damaged_bytes, 0u);
}

TEST_F(DataRingTest, AFullRingIsDrainedCompletely) {
  put(make_record(1, numbered(8)));
  drained();
  put(make_record(1, numbered(40)));  // [16,64)
  put(make_record(2, numbered(8)));   // [64,80): exactly full now
  EXPECT_FALSE(writer.write(make_record(3, {})));
  EXPECT_EQ(drained().size(), 64u);
  EXPECT_TRUE(writer.write(make_record(3, {})));
}

TEST_F(DataRingTest, CountsWhatIsMissingAndWhoStarted) {
  ByteVector lost, aux, thread, process;
  for (const std::uint64_t v : {7, 1000}) append(lost, v);
  for (const std::uint64_t v : {0, 4096, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL}) {
    append(aux, v);
  }
  for (const std::uint32_t v : {10, 10, 11, 10}) append(thread, v);
  for (const std::uint32_t v : {12, 10, 12, 10}) append(process, v);
  put(make_record(PERF_RECORD_LOST, lost));
  drained();
  put(make_record(PERF_RECORD_AUX, aux));
  drained();
  put(make_record(PERF_RECORD_FORK, thread));
  drained();
  put(make_record(PERF_RECORD_FORK, process));
  drained();
  EXPECT_EQ(ring.counts().lost_records, 1000u);
  EXPECT_EQ(ring.counts().aux_truncated, 1u);
  EXPECT_EQ(ring.counts().aux_partial, 1u);
  EXPECT_EQ(ring.counts().threads, 1u);
  EXPECT_EQ(ring.counts().processes, 1u);
  EXPECT_EQ(ring.counts().records, 4u);
}

TEST_F(DataRingTest, AHeaderOfSizeZeroEndsTheDrainAndIsCounted) {
  const auto good = make_record(1, numbered(8));
  put(good);
  put(ByteVector(24));  // type 0, size 0
  EXPECT_EQ(drained(), good);
  EXPECT_EQ(ring.counts().damaged_bytes, 24u);
  put(good);
  EXPECT_EQ(drained(), good);  // and goes on behind it
}

TEST_F(DataRingTest, ARecordLongerThanWhatIsThereIsDamage) {
  ByteVector record = make_record(1, numbered(8));
  record[6] = 24;  // says 24, is 16
  put(record);
  EXPECT_THAT(drained(), IsEmpty());
  EXPECT_EQ(ring.counts().damaged_bytes, 16u);
}

TEST_F(DataRingTest, AHeadThatJumpedIsDamage) {
  put(make_record(1, numbered(56)));  // fills the ring
  page.data_head = 256;               // ... which then would have to hold four of them
  EXPECT_THAT(drained(), IsEmpty());
  EXPECT_EQ(ring.counts().damaged_bytes, 256u);
  EXPECT_EQ(page.data_tail, 256u);
}

TEST_F(DataRingTest, TheSinksErrorIsReturnedAndTheRoomFreed) {
  put(make_record(1, numbered(8)));
  const Status status = ring.drain([](Bytes) { return fail(ErrorCode::no_space, "full"); });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::no_space);
  EXPECT_EQ(page.data_tail, 16u);
}

// A thread writes numbered records of random size as fast as it can; everything must arrive in
// order.
TEST(DataRingRaceTest, NothingIsTornOrLost) {
  constexpr std::uint32_t kRecords = 50'000;
  ByteVector memory(4096);
  perf_event_mmap_page page = {};
  std::thread kernel([&] {
    RingWriter writer(&page.data_head, &page.data_tail, memory);
    std::mt19937 random(1);
    for (std::uint32_t i = 0; i < kRecords; ++i) {
      const auto record = make_record(i, ByteVector(random() % 200, static_cast<std::uint8_t>(i)));
      while (!writer.write(record)) std::this_thread::yield();
    }
  });
  DataRing ring(&page, memory);
  std::uint32_t expected = 0;
  bool whole = true;
  while (expected < kRecords && whole) {
    const Status status = ring.drain([&](Bytes bytes) -> Status {
      while (!bytes.empty() && whole) {
        perf_event_header header;
        std::memcpy(&header, bytes.data(), sizeof header);
        whole = header.type == expected && header.size <= bytes.size();
        // The last 7 bytes may be padding.
        for (std::size_t i = sizeof header; whole && i + 8 <= header.size; ++i) {
          whole = bytes[i] == static_cast<std::uint8_t>(expected);
        }
        if (!whole) break;
        bytes = bytes.subspan(header.size);
        ++expected;
      }
      return {};
    });
    ASSERT_TRUE(status);
    std::this_thread::yield();
  }
  EXPECT_TRUE(whole) << "record " << expected;
  page.data_tail = page.data_head;  // let the writer end after a failure
  kernel.join();
  EXPECT_EQ(ring.counts().records, kRecords);
  EXPECT_EQ(ring.counts().damaged_bytes, 0u);
}

class AuxRingTest : public ::testing::Test {
 protected:
  ByteVector memory = ByteVector(64);
  perf_event_mmap_page page = {};
  RingWriter writer{&page.aux_head, &page.aux_tail, memory};
  AuxRing ring{&page, memory};
};

TEST_F(AuxRingTest, BytesAndTheirOffset) {
  ASSERT_TRUE(writer.write(numbered(10)));
  AuxData data = ring.peek(false);
  EXPECT_EQ(data.offset, 0u);
  EXPECT_EQ(joined(data), numbered(10));
  EXPECT_EQ(page.aux_tail, 0u);  // only released bytes may be overwritten
  ring.release(data);
  EXPECT_EQ(page.aux_tail, 10u);
  ASSERT_TRUE(writer.write(numbered(3)));
  data = ring.peek(false);
  EXPECT_EQ(data.offset, 10u);
  EXPECT_EQ(joined(data), numbered(3));
}

TEST_F(AuxRingTest, TwoPartsWhenItWraps) {
  ASSERT_TRUE(writer.write(numbered(50)));
  ring.release(ring.peek(false));
  ASSERT_TRUE(writer.write(numbered(30)));
  const AuxData data = ring.peek(false);
  EXPECT_EQ(data.parts[0].size(), 14u);
  EXPECT_EQ(data.parts[1].size(), 16u);
  EXPECT_EQ(joined(data), numbered(30));
}

TEST_F(AuxRingTest, WholeWordsLeaveTheRestForLater) {
  ASSERT_TRUE(writer.write(numbered(13)));
  AuxData data = ring.peek(true);
  EXPECT_EQ(data.size(), 8u);
  ring.release(data);
  data = ring.peek(true);
  EXPECT_EQ(data.size(), 0u);
  data = ring.peek(false);
  EXPECT_EQ(data.offset, 8u);
  EXPECT_EQ(data.size(), 5u);
}

TEST_F(AuxRingTest, AFullAreaIsAllOfIt) {
  ASSERT_TRUE(writer.write(numbered(64)));
  EXPECT_FALSE(writer.write(numbered(1)));
  EXPECT_EQ(joined(ring.peek(true)), numbered(64));
}

TEST(AuxRingRaceTest, TheStreamArrivesUnbroken) {
  constexpr std::uint64_t kTotal = 4 << 20;
  ByteVector memory(16384);
  perf_event_mmap_page page = {};
  const auto byte_at = [](std::uint64_t i) {
    return static_cast<std::uint8_t>(i * 2654435761u >> 24);
  };
  std::thread kernel([&] {
    RingWriter writer(&page.aux_head, &page.aux_tail, memory);
    std::mt19937 random(2);
    ByteVector piece;
    while (writer.head() < kTotal) {
      piece.resize(std::min<std::uint64_t>(random() % 5000 + 1, kTotal - writer.head()));
      for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = byte_at(writer.head() + i);
      while (!writer.write(piece)) std::this_thread::yield();
    }
  });
  AuxRing ring(&page, memory);
  std::uint64_t seen = 0;
  std::uint64_t wrong = 0;
  while (seen < kTotal) {
    const AuxData data = ring.peek(true);
    wrong += data.offset != seen;
    for (const Bytes part : data.parts) {
      for (const std::uint8_t byte : part) wrong += byte != byte_at(seen++);
    }
    ring.release(data);
    if (data.size() == 0) std::this_thread::yield();
  }
  kernel.join();
  EXPECT_EQ(wrong, 0u);
}

class AuxSnapshotTest : public ::testing::Test {
 protected:
  // Bytes that tell their place in the stream; never 0.
  void trace(std::size_t size) {
    writer.overwrite(numbered(size, static_cast<unsigned>(writer.head())));
  }
  ByteVector newest(std::size_t size) const {
    return numbered(size, static_cast<unsigned>(writer.head() - size));
  }

  ByteVector memory = ByteVector(256);
  perf_event_mmap_page page = {};
  RingWriter writer{&page.aux_head, &page.aux_tail, memory};
  AuxSnapshot snapshot{&page, memory, 32};
};

TEST_F(AuxSnapshotTest, NothingTraced) { EXPECT_EQ(snapshot.take().size(), 0u); }

TEST_F(AuxSnapshotTest, BeforeTheFirstLapItIsAllThereIs) {
  trace(100);
  const AuxData data = snapshot.take();
  EXPECT_EQ(data.offset, 0u);
  EXPECT_EQ(joined(data), newest(100));
  EXPECT_EQ(snapshot.laps(), 0u);
}

TEST_F(AuxSnapshotTest, AfterALapItIsTheWholeAreaOldestFirst) {
  trace(300);
  const AuxData data = snapshot.take();
  EXPECT_EQ(joined(data), newest(256));
  EXPECT_EQ(snapshot.laps(), 1u);
}

TEST_F(AuxSnapshotTest, ExactlyOneLapWithTheHeadBackAtZero) {
  trace(256);
  EXPECT_EQ(joined(snapshot.take()), newest(256));
}

TEST_F(AuxSnapshotTest, TakesDoNotOverlap) {
  trace(100);
  snapshot.take();
  trace(50);
  AuxData data = snapshot.take();
  EXPECT_EQ(data.offset, 100u);
  EXPECT_EQ(joined(data), newest(50));
  trace(200);  // around the end, but not back to where the last one ended
  data = snapshot.take();
  EXPECT_EQ(data.offset, 150u);
  EXPECT_EQ(joined(data), newest(200));
  EXPECT_EQ(snapshot.take().size(), 0u);
  EXPECT_EQ(snapshot.laps(), 0u);
}

TEST_F(AuxSnapshotTest, ALapBetweenTakesIsSeenAndLeavesAGap) {
  trace(100);
  snapshot.take();
  trace(300);
  const AuxData data = snapshot.take();
  EXPECT_EQ(joined(data), newest(256));
  EXPECT_EQ(snapshot.laps(), 1u);
  EXPECT_GT(data.offset, 100u);
}

TEST_F(AuxSnapshotTest, ALapThatEndsAtTheSamePlaceIsSeen) {
  trace(300);
  snapshot.take();
  trace(256);
  EXPECT_EQ(joined(snapshot.take()), newest(256));
  EXPECT_EQ(snapshot.laps(), 2u);
}

TEST_F(AuxSnapshotTest, AlmostALapIsNone) {
  trace(300);
  snapshot.take();
  trace(255);
  EXPECT_EQ(joined(snapshot.take()), newest(255));
  EXPECT_EQ(snapshot.laps(), 1u);
}

TEST_F(AuxSnapshotTest, AnEmptyFirstTakeDoesNotHideALap) {
  snapshot.take();
  trace(256 + 64);
  EXPECT_EQ(joined(snapshot.take()), newest(256));
  EXPECT_EQ(snapshot.laps(), 1u);
}

// Bytes that repeat: before the first lap the zeroes tell, not the values.
TEST_F(AuxSnapshotTest, AFirstLapOfEqualBytesIsSeen) {
  writer.overwrite(ByteVector(1, 0x55));
  snapshot.take();
  writer.overwrite(ByteVector(300, 0x55));
  EXPECT_EQ(snapshot.take().size(), 256u);
  EXPECT_EQ(snapshot.laps(), 1u);
}

TEST_F(AuxSnapshotTest, AnAreaJustFilledIsNotTakenTwice) {
  trace(100);
  snapshot.take();
  trace(156);
  EXPECT_EQ(snapshot.take().size(), 156u);
  EXPECT_EQ(snapshot.take().size(), 0u);
  EXPECT_EQ(snapshot.laps(), 0u);
}

TEST_F(AuxSnapshotTest, TheBytesBeforeTheHeadAreComparedAcrossTheEnd) {
  trace(256 + 8);
  snapshot.take();
  ByteVector lap(memory.begin() + 8, memory.end());  // the same again, up to the end ...
  lap.resize(256, 0xff);                             // ... but not in front of the head
  writer.overwrite(lap);
  EXPECT_EQ(joined(snapshot.take()), lap);
  EXPECT_EQ(snapshot.laps(), 2u);
}

// Any sequence of writes and takes: each take is a suffix of the stream, and nothing comes twice.
TEST_F(AuxSnapshotTest, RandomSequences) {
  std::mt19937 random(3);
  std::uint64_t taken = 0;     // true stream position up to which bytes were handed out
  std::uint64_t last_end = 0;  // in the snapshot's own offsets
  for (int i = 0; i < 20'000; ++i) {
    trace(random() % (i % 10 == 0 ? 700 : 150));
    const AuxData data = snapshot.take();
    ASSERT_EQ(joined(data), newest(data.size()));
    const std::uint64_t fresh = writer.head() - taken;
    ASSERT_EQ(data.size(), std::min<std::uint64_t>(fresh, 256)) << i;
    if (fresh > 256) {
      ASSERT_GT(data.offset, last_end);
    } else if (fresh < 256) {
      ASSERT_EQ(data.offset, last_end);
    }
    taken = writer.head();
    last_end = data.offset + data.size();
  }
}

}  // namespace
}  // namespace hodo::capture
