// How AUXTRACE pieces become one stream per buffer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "file_builder.h"
#include "hodo/perfdata/model.h"

namespace hodo::perfdata {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Bytes kPsb = {0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82,
                    0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82};

Bytes pt_info(bool snapshot, bool per_cpu = false) {
  std::uint64_t words[17] = {8,       0,       1,          0, 1, 1u << 10, 1u << 11, 0, snapshot,
                             per_cpu, 1u << 9, 0xfu << 14, 0, 0, 2,        0,        0};
  return record(RecordType::auxtrace_info, 0, pack(1u, 0u, words));
}

Bytes aux_record(std::int32_t tid, std::uint64_t offset, std::uint64_t size, std::uint64_t flags,
                 std::uint64_t time) {
  return record(RecordType::aux, 0, join(pack(offset, size, flags), stamp(tid, tid, time)));
}

struct Loaded {
  Bytes bytes;
  Reader reader;
  Model session;
  explicit Loaded(const Bytes& records)
      : bytes(file_of(records)),
        reader(*Reader::open_memory(bytes)),
        session(*Model::load(reader)) {}

  // All of a queue's bytes; '|' for a gap.
  std::string stream(std::size_t queue) const {
    std::string out;
    for (const auto& piece : session.queues().at(queue).pieces) {
      if (piece.gap_before) out += '|';
      Bytes part(piece.size);
      EXPECT_TRUE(reader.read(piece.file_offset, part));
      out.append(part.begin(), part.end());
    }
    return out;
  }
};

Bytes chars(std::string_view s) { return Bytes(s.begin(), s.end()); }

TEST(AuxLayout, PiecesThatFollowEachOtherHaveNoGap) {
  const Loaded in(join(pt_info(false), auxtrace_record(0, 7, -1, 100, chars("abcdefgh")),
                       auxtrace_record(0, 7, -1, 108, chars("ijklmnop"))));
  EXPECT_EQ(in.stream(0), "abcdefghijklmnop");
  EXPECT_EQ(in.session.queues()[0].tid, 7);
  EXPECT_EQ(in.session.queues()[0].bytes, 16u);
  EXPECT_EQ(in.session.queues()[0].pieces[1].aux_offset, 108u);
}

TEST(AuxLayout, MissingBytesAreAGap) {
  const Loaded in(join(pt_info(false), auxtrace_record(0, 7, -1, 0, chars("abcdefgh")),
                       auxtrace_record(0, 7, -1, 16, chars("ijklmnop"))));
  EXPECT_EQ(in.stream(0), "abcdefgh|ijklmnop");
}

TEST(AuxLayout, PaddingIsCutOffWhereTheNextPieceShowsIt) {
  const Loaded in(join(pt_info(false),
                       auxtrace_record(0, 7, -1, 0, join(chars("abcde"), Bytes(3, 0))),
                       auxtrace_record(0, 7, -1, 5, chars("fghijklm"))));
  EXPECT_EQ(in.stream(0), "abcdefghijklm");
}

TEST(AuxLayout, OverlapThatIsNoPaddingIsAGap) {
  const Loaded in(join(pt_info(false), auxtrace_record(0, 7, -1, 0, chars("abcdefgh")),
                       auxtrace_record(0, 7, -1, 5, chars("xxxijklm"))));
  EXPECT_EQ(in.stream(0), "abcdefgh|xxxijklm");
}

TEST(AuxLayout, RepeatedBytesAreTakenOnce) {
  const Loaded in(join(pt_info(false), auxtrace_record(0, 7, -1, 0, chars("abcdefgh")),
                       auxtrace_record(0, 7, -1, 4, chars("efghijkl"))));
  EXPECT_EQ(in.stream(0), "abcdefghijkl");
}

TEST(AuxLayout, BuffersAreKeptApart) {
  const Loaded in(join(pt_info(false), auxtrace_record(1, 8, -1, 0, chars("11111111")),
                       auxtrace_record(0, 7, -1, 0, chars("00000000")),
                       auxtrace_record(1, 8, -1, 8, chars("22222222"))));
  ASSERT_EQ(in.session.queues().size(), 2u);
  EXPECT_EQ(in.stream(0), "00000000");
  EXPECT_EQ(in.stream(1), "1111111122222222");
  EXPECT_THAT(in.session.damages(), IsEmpty());
}

TEST(AuxLayout, ABufferOfTwoThreadsIsDamage) {
  const Loaded in(join(pt_info(false), auxtrace_record(0, 7, -1, 0, chars("00000000")),
                       auxtrace_record(0, 8, -1, 8, chars("11111111"))));
  ASSERT_EQ(in.session.damages().size(), 1u);
  EXPECT_THAT(in.session.damages()[0].what, HasSubstr("two threads"));
}

TEST(AuxLayout, FlagsAreKeptWithTheirBuffer) {
  const Loaded in(join(pt_info(false), aux_record(7, 0, 8, 0, 10),
                       aux_record(7, 8, 24, PERF_AUX_FLAG_TRUNCATED, 20),
                       auxtrace_record(0, 7, -1, 0, chars("abcdefgh"))));
  const auto& queue = in.session.queues().at(0);
  ASSERT_EQ(queue.flagged.size(), 1u);
  EXPECT_EQ(queue.flagged[0].time, 20u);
  EXPECT_EQ(queue.flagged[0].aux_size, 24u);
  EXPECT_EQ(queue.announced, 32u);
}

TEST(AuxLayout, LossInABufferThatIsNotThereIsDamage) {
  const Loaded in(join(pt_info(false), aux_record(9, 0, 0, PERF_AUX_FLAG_TRUNCATED, 20)));
  ASSERT_EQ(in.session.damages().size(), 1u);
  EXPECT_THAT(in.session.damages()[0].what, HasSubstr("thread 9 was lost"));
}

TEST(AuxLayout, CutOffDataIsAsLongAsTheFile) {
  Bytes bytes = file_of(join(pt_info(false), auxtrace_record(0, 7, -1, 0, chars("abcdefgh"))));
  bytes.resize(kDataAt + pt_info(false).size() + 48 + 3);
  const auto reader = Reader::open_memory(bytes);
  ASSERT_TRUE(reader);
  const auto session = Model::load(*reader);
  ASSERT_TRUE(session);
  EXPECT_FALSE(session->finished());
  EXPECT_EQ(session->queues().at(0).bytes, 3u);
}

// Snapshots of a ring, each with all that it held:
//   first   | PSB aaaaaaaa PSB bbbbbbbb |
//   second          | ..aa PSB bbbbbbbb PSB cccccccc |
const Bytes kFirst = join(kPsb, chars("aaaaaaaa"), kPsb, chars("bbbbbbbb"));
const Bytes kSecond = join(chars("aaaaaaaa"), kPsb, chars("bbbbbbbb"), kPsb, chars("cccccccc"));

TEST(Snapshots, WhatTheEarlierOneHasIsCutOff) {
  const Loaded in(join(pt_info(true), auxtrace_record(0, 7, -1, 0, kFirst),
                       auxtrace_record(0, 7, -1, 0, kSecond)));
  const auto psb = std::string(kPsb.begin(), kPsb.end());
  EXPECT_EQ(in.stream(0), psb + "aaaaaaaa" + psb + "bbbbbbbb" + psb + "cccccccc");
}

TEST(Snapshots, OfDifferentTimesHaveAGap) {
  const Loaded in(join(pt_info(true), auxtrace_record(0, 7, -1, 0, join(kPsb, chars("aaaaaaaa"))),
                       auxtrace_record(0, 7, -1, 0, join(kPsb, chars("cccccccc")))));
  const auto psb = std::string(kPsb.begin(), kPsb.end());
  EXPECT_EQ(in.stream(0), psb + "aaaaaaaa|" + psb + "cccccccc");
}

TEST(Snapshots, ARepeatedOneAddsNothing) {
  const Loaded in(join(pt_info(true), auxtrace_record(0, 7, -1, 0, kFirst),
                       auxtrace_record(0, 7, -1, 0, kFirst),
                       auxtrace_record(0, 7, -1, 0, kSecond)));
  EXPECT_EQ(in.session.queues()[0].pieces.size(), 2u);
  EXPECT_EQ(in.session.queues()[0].bytes, kFirst.size() + 24u);
}

// PSBs everywhere and a difference only at the very end would take quadratic time.
TEST(Snapshots, HostileOnesTakeLinearTime) {
  Bytes first, second;
  for (int i = 0; i < 65536; ++i) {
    first.insert(first.end(), kPsb.begin(), kPsb.end());
    second.insert(second.end(), kPsb.begin(), kPsb.end());
  }
  first.insert(first.end(), 8, 'x');
  second.insert(second.end(), 8, 'y');
  const Loaded in(join(pt_info(true), auxtrace_record(0, 7, -1, 0, first),
                       auxtrace_record(0, 7, -1, 0, second)));
  EXPECT_TRUE(in.session.queues()[0].pieces[1].gap_before);
}

Bytes bts_info(bool snapshot) {
  std::uint64_t words[6] = {9, 0, 1, 0, 1, snapshot};
  return record(RecordType::auxtrace_info, 0, pack(2u, 0u, words));
}

// Records of 24 letters each, "aaa...bbb..."; '.' stands for a null record.
Bytes letters(std::string_view names) {
  Bytes out;
  for (const char c : names) {
    out.insert(out.end(), 24, c == '.' ? std::uint8_t{0} : static_cast<std::uint8_t>(c));
  }
  return out;
}

// A queue's stream, one letter per record.
std::string records_of(const Loaded& in) {
  std::string out;
  const std::string stream = in.stream(0);
  for (std::size_t i = 0; i < stream.size();) {
    const bool gap = stream[i] == '|';
    out += stream[i] == '\0' ? '.' : stream[i];
    i += gap ? 1 : 24;
  }
  return out;
}

TEST(BtsBuffers, ANullRecordBehindAPieceIsPaddingIfTheNextOneSaysSo) {
  const Loaded padded(join(bts_info(false), auxtrace_record(0, 7, -1, 0, letters("ab.")),
                           auxtrace_record(0, 7, -1, 48, letters("c"))));
  EXPECT_EQ(records_of(padded), "abc");
  const Loaded counted(join(bts_info(false), auxtrace_record(0, 7, -1, 0, letters("ab.")),
                            auxtrace_record(0, 7, -1, 72, letters("c"))));
  EXPECT_EQ(records_of(counted), "ab.c");
  const Loaded lost(join(bts_info(false), auxtrace_record(0, 7, -1, 0, letters("abx")),
                         auxtrace_record(0, 7, -1, 48, letters("c"))));
  EXPECT_EQ(records_of(lost), "abx|c");
}

TEST(BtsBuffers, HandoversTellTimeAndTaskOfEachStretch) {
  const Loaded in(join(bts_info(false), aux_record(8, 24, 24, 0, 200), aux_record(7, 0, 24, 0, 100),
                       aux_record(7, 48, 0, 0, 300), auxtrace_record(0, -1, 0, 0, letters("ab"))));
  const auto& handovers = in.session.queues().at(0).handovers;
  ASSERT_EQ(handovers.size(), 2u) << "empty ones say nothing";
  EXPECT_EQ(handovers[0].time, 100u);
  EXPECT_EQ(handovers[0].tid, 7);
  EXPECT_EQ(handovers[1].aux_offset, 24u);
  EXPECT_EQ(handovers[1].tid, 8);
}

TEST(BtsSnapshots, WhatTheEarlierOneHasIsCutOff) {
  const Loaded in(join(bts_info(true), auxtrace_record(0, 7, -1, 0, letters("abcd")),
                       auxtrace_record(0, 7, -1, 0, letters("cdef"))));
  EXPECT_EQ(records_of(in), "abcdef");
  const Loaded apart(join(bts_info(true), auxtrace_record(0, 7, -1, 0, letters("abcd")),
                          auxtrace_record(0, 7, -1, 0, letters("efgh"))));
  EXPECT_EQ(records_of(apart), "abcd|efgh");
}

TEST(BtsSnapshots, OffsetsThatGoOnTellMoreThanEqualRecords) {
  const Loaded in(join(bts_info(true), auxtrace_record(0, 7, -1, 0, letters("aaaa.")),
                       auxtrace_record(0, 7, -1, 96, letters("aa."))));
  EXPECT_EQ(records_of(in), "aaaaaa.");
}

}  // namespace
}  // namespace hodo::perfdata
