// Headers, damage, truncation, compression.
#include "hodo/perfdata/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <fstream>

#include "file_builder.h"
#include "temp_dir.h"

namespace hodo::perfdata {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Reader open_bytes(const Bytes& bytes) {
  auto reader = Reader::open_memory(bytes);
  EXPECT_TRUE(reader) << reader.error().message;
  return std::move(*reader);
}

std::vector<std::string> comms(Cursor& cursor) {
  std::vector<std::string> out;
  while (const auto one = cursor.next()) {
    if (const auto* comm = std::get_if<Comm>(&one->body)) out.emplace_back(comm->comm);
  }
  return out;
}

const Bytes kThree = join(comm_record(1, 1, "one", 10), comm_record(2, 2, "two", 20),
                          comm_record(3, 3, "three", 30));

TEST(Reader, ReadsRecordsInFileOrderWithOffsets) {
  const Bytes bytes = file_of(kThree);
  const Reader reader = open_bytes(bytes);
  EXPECT_TRUE(reader.finished());
  EXPECT_THAT(reader.damages(), IsEmpty());
  auto cursor = reader.records();
  const auto records = read_all(cursor);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].raw.offset, kDataAt);
  EXPECT_EQ(records[1].raw.offset, kDataAt + 56);
  EXPECT_EQ(records[1].id.time, 20u);
}

TEST(Reader, OpensFilesAndMovesWithoutLosingThem) {
  const TempDir dir;
  spill(dir.file("x"), file_of(kThree));
  auto opened = Reader::open(dir.file("x"));
  ASSERT_TRUE(opened) << opened.error().message;
  auto cursor = opened->records();
  const Reader moved = std::move(*opened);
  EXPECT_THAT(comms(cursor), ElementsAre("one", "two", "three"));
  EXPECT_EQ(moved.size(), file_of(kThree).size());
}

std::uint64_t resident_bytes() {
  std::ifstream in("/proc/self/statm");  // proc(5)
  std::uint64_t size = 0, resident = 0;
  in >> size >> resident;
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Reader, DoesNotKeepALongFileInMemory) {
  const TempDir dir;
  Bytes records;
  const Bytes data(128 << 10, 0x55);
  for (std::uint64_t i = 0; i < 384; ++i) {
    const Bytes one = auxtrace_record(0, 1, -1, i * data.size(), data);
    records.insert(records.end(), one.begin(), one.end());
  }
  spill(dir.file("x"), file_of(records));
  const auto reader = Reader::open(dir.file("x"));
  ASSERT_TRUE(reader) << reader.error().message;
  const std::uint64_t before = resident_bytes();
  auto cursor = reader->records();
  std::uint64_t after = before;
  while (const auto record = cursor.next()) {
    ASSERT_EQ(record->raw.trailing, data.size());
    after = std::max(after, resident_bytes());
  }
  EXPECT_LT(after - before, std::uint64_t{12 << 20}) << "of " << records.size();
}

// A file that somebody shortens while it is open; the window has read ahead, so the records must
// be long for that to be seen.
class Shrinking : public ::testing::Test {
 protected:
  Shrinking() {
    const Bytes data(512 << 10, 0x55);
    Bytes records = comm_record(1, 1, "one", 10);
    for (std::uint64_t i = 0; i < 2; ++i) {
      const Bytes aux = auxtrace_record(0, 1, -1, i * data.size(), data);
      records.insert(records.end(), aux.begin(), aux.end());
    }
    file_ = file_of(join(records, comm_record(2, 2, "two", 20)));
    spill(path_, file_);
  }
  void shrink(std::uint64_t size) const { ASSERT_EQ(::truncate(path_.c_str(), size), 0); }
  std::string message(std::uint64_t now) const {
    return "the file became shorter while it was read (was " + std::to_string(file_.size()) +
           " bytes, is " + std::to_string(now) + ")";
  }

  const TempDir dir_;
  const std::string path_ = dir_.file("x");
  Bytes file_;
};

TEST_F(Shrinking, RecordsThatAreGoneAreDamageAndNoSignal) {
  for (const std::uint64_t size : {std::uint64_t{0}, kDataAt, kDataAt + 56, kDataAt + 60,
                                   kDataAt + 56 + 48 + 4096, file_.size() - 17}) {
    spill(path_, file_);
    const auto reader = Reader::open(path_);
    ASSERT_TRUE(reader) << reader.error().message;
    shrink(size);
    auto cursor = reader->records();
    while (cursor.next()) {
    }
    ASSERT_EQ(cursor.damage_count(), 1u) << size;
    EXPECT_EQ(cursor.damages()[0].what, message(size));
  }
}

TEST_F(Shrinking, BetweenTwoRecords) {
  const auto reader = Reader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  auto cursor = reader->records();
  ASSERT_TRUE(cursor.next());
  shrink(kDataAt + 56 + 48);
  EXPECT_TRUE(cursor.next()) << "was read ahead";
  EXPECT_FALSE(cursor.next());
  ASSERT_EQ(cursor.damage_count(), 1u);
  EXPECT_EQ(cursor.damages()[0].what, message(kDataAt + 56 + 48));
}

TEST_F(Shrinking, BytesThatAreGoneAreAnError) {
  const auto reader = Reader::open(path_);
  ASSERT_TRUE(reader) << reader.error().message;
  shrink(5000);
  Bytes bytes(100);
  EXPECT_TRUE(reader->read(4900, bytes));
  const Status status = reader->read(4901, bytes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::truncated);
  EXPECT_EQ(status.error().message, message(5000));
  EXPECT_THAT(reader->read(file_.size(), bytes).error().message, HasSubstr("ends before"));
}

ErrorCode open_error(const std::string& path) {
  const auto reader = Reader::open(path);
  EXPECT_FALSE(reader);
  return reader ? ErrorCode::usage : reader.error().code;
}

TEST(Reader, RefusesWhatIsNoFile) {
  const TempDir dir;
  EXPECT_EQ(open_error(dir.file("absent")), ErrorCode::not_found);
  EXPECT_EQ(open_error(dir.file("")), ErrorCode::unsupported);
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  EXPECT_EQ(open_error(dir.file("fifo")), ErrorCode::unsupported);
  spill(dir.file("empty"), {});
  EXPECT_EQ(open_error(dir.file("empty")), ErrorCode::truncated);
}

ErrorCode memory_error(const Bytes& bytes) {
  const auto reader = Reader::open_memory(bytes);
  EXPECT_FALSE(reader);
  return reader ? ErrorCode::usage : reader.error().code;
}

TEST(Reader, RefusesOtherFormats) {
  EXPECT_EQ(memory_error(Bytes(200, 'x')), ErrorCode::malformed);
  EXPECT_EQ(memory_error(join(text("2ELIFRE"), Bytes(200, 0))), ErrorCode::malformed);
  Bytes swapped = file_of({});
  std::reverse(swapped.begin(), swapped.begin() + 8);
  EXPECT_EQ(memory_error(swapped), ErrorCode::unsupported);
  Bytes old = file_of({});
  std::memcpy(old.data(), "PERFFILE", 8);
  EXPECT_EQ(memory_error(old), ErrorCode::unsupported);
  Bytes header = file_of({});
  header[8] = 40;
  EXPECT_EQ(memory_error(header), ErrorCode::malformed);
}

TEST(Reader, SaysWhenTheRecorderDied) {
  Bytes bytes = file_of(kThree, {TestAttr{}}, {});
  std::memset(bytes.data() + 48, 0, 8);  // data size never written
  const Reader reader = open_bytes(bytes);
  EXPECT_FALSE(reader.finished());
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_THAT(reader.damages()[0].what, HasSubstr("died"));
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "two", "three"));
}

TEST(Reader, ReadsWhatIsBehindTheLastFlush) {
  Bytes bytes = join(file_of(kThree, {TestAttr{}}, {}), comm_record(4, 4, "late", 40));
  const Reader reader = open_bytes(bytes);
  EXPECT_FALSE(reader.finished());
  EXPECT_TRUE(reader.damages().empty());
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "two", "three", "late"));
}

TEST(Reader, FeaturesAreTakenApart) {
  const auto string = [](std::string_view s) { return join(pack(64u), text(s, 64)); };
  perf_event_attr attr{};
  const Bytes build_id =
      record(RecordType::header_build_id, 2 | 1 << 15,
             join(pack(-1, std::array<std::uint8_t, 20>{1, 2, 3}, 16u), text("/bin/x", 64)));
  const Bytes bytes = file_of(kThree, {TestAttr{}},
                              {{2, build_id},
                               {3, string("host")},
                               {4, string("6.1")},
                               {5, string("v")},
                               {6, string("x86_64")},
                               {7, pack(8u, 4u)},
                               {8, string("cpu")},
                               {9, string("GenuineIntel,6,78,3")},
                               {10, pack(std::uint64_t{1000})},
                               {11, join(pack(2u), string("perf"), string("record"))},
                               {12, join(pack(1u, unsigned{sizeof(attr)}), pack(attr, 1u),
                                         string("intel_pt//u"), pack(std::uint64_t{1}))},
                               {16, join(pack(1u, 8u), string("intel_pt"))},
                               {21, pack(std::uint64_t{5}, std::uint64_t{6})},
                               {23, pack(std::uint64_t{1})},
                               {29, pack(1u, 4u, std::uint64_t{7}, std::uint64_t{8})},
                               {255, text("{}")}});
  const Reader reader = open_bytes(bytes);
  EXPECT_THAT(reader.damages(), IsEmpty());
  const FileFacts& facts = reader.facts();
  EXPECT_EQ(facts.hostname, "host");
  EXPECT_EQ(facts.osrelease, "6.1");
  EXPECT_EQ(facts.version, "v");
  EXPECT_EQ(facts.arch, "x86_64");
  EXPECT_EQ(facts.cpus_available, 8u);
  EXPECT_EQ(facts.cpus_online, 4u);
  EXPECT_EQ(facts.cpudesc, "cpu");
  EXPECT_EQ(facts.cpuid, "GenuineIntel,6,78,3");
  EXPECT_EQ(facts.total_mem_kib, 1000u);
  EXPECT_THAT(facts.cmdline, ElementsAre("perf", "record"));
  EXPECT_EQ(reader.attrs()[0].name, "intel_pt//u");
  EXPECT_EQ(facts.pmus.at(8), "intel_pt");
  EXPECT_EQ(facts.sample_time->last, 6u);
  EXPECT_EQ(facts.clock_resolution_ns, 1u);
  EXPECT_EQ(facts.clock->clockid, 4u);
  EXPECT_EQ(facts.clock->clockid_ns, 8u);
  ASSERT_EQ(facts.build_ids.size(), 1u);
  EXPECT_EQ(facts.build_ids[0].path, "/bin/x");
  EXPECT_EQ(facts.build_ids[0].build_id.size, 16);
  EXPECT_EQ(facts.sections.at(255).size(), 8u);
}

TEST(Reader, CutFeaturesAreDamageNotFailure) {
  Bytes bytes = file_of(kThree, {TestAttr{}}, {{3, text("x", 64)}, {255, text("{}")}});
  bytes.resize(bytes.size() - 4);
  const Reader reader = open_bytes(bytes);
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_THAT(reader.damages()[0].what, HasSubstr("feature 255"));
  EXPECT_TRUE(reader.facts().sections.contains(3));
}

TEST(Reader, WholeFilesThatDoNotFitAreDamage) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const Bytes id(24);
  for (const auto& [path_size, size] : {std::pair(kHuge, std::uint64_t{0}), {8, kHuge}, {8, 9}}) {
    const Bytes section =
        join(pack(std::uint64_t{1}, path_size, size), id, text("/a", 8), Bytes(8));
    const Reader reader = open_bytes(file_of(kThree, {TestAttr{}}, {{253, section}}));
    EXPECT_TRUE(reader.facts().whole_files.empty());
    EXPECT_EQ(reader.damages().size(), 1u);
  }
}

TEST(Reader, IdsOutsideTheFileAreDamage) {
  Bytes bytes = file_of(kThree);
  const std::uint64_t huge = ~std::uint64_t{0} - 7;
  std::memcpy(bytes.data() + kDataAt - 8, &huge, 8);
  const Reader reader = open_bytes(bytes);
  ASSERT_EQ(reader.damages().size(), 1u);
  EXPECT_THAT(reader.damages()[0].what, HasSubstr("ids"));
}

// Else a file of n bytes could ask for n * n bytes of ids.
TEST(Reader, IdsThatLieOnTopOfEachOtherAreDamage) {
  Bytes bytes = file_of(kThree, {TestAttr{}, TestAttr{}, TestAttr{}});
  const std::uint64_t size = bytes.size() / 8 * 8;
  const std::size_t entry = sizeof(perf_event_attr) + 16;
  for (std::size_t i = 1; i <= 3; ++i) {
    const std::uint64_t everything[] = {0, size};
    std::memcpy(bytes.data() + 104 + 3 * 8 + i * entry - 16, everything, 16);
  }
  const Reader reader = open_bytes(bytes);
  EXPECT_EQ(reader.attrs()[0].ids.size(), size / 8);
  EXPECT_EQ(reader.attrs()[1].ids.size(), 0u);
  EXPECT_EQ(reader.damages().size(), 2u);
}

TEST(Reader, GoesOnBehindDamage) {
  Bytes records = join(kThree, kThree, comm_record(9, 9, "last", 90));
  std::memset(records.data() + 56 + 4, 0, 4);  // the second record's misc and size
  const Bytes bytes = file_of(records);
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "three", "one", "two", "three", "last"));
  ASSERT_EQ(cursor.damage_count(), 1u);
  EXPECT_EQ(cursor.damages()[0].offset, kDataAt + 56);
  EXPECT_THAT(cursor.damages()[0].what, HasSubstr("56 bytes are skipped"));
}

TEST(Reader, GoesOnBehindDamageBeforeTheLastRecord) {
  Bytes records = kThree;
  std::memset(records.data() + 56 + 4, 0, 4);
  const Bytes bytes = file_of(records);
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "three"));
  EXPECT_EQ(cursor.damage_count(), 1u);
}

TEST(Reader, SkipsARecordThatContradictsItself) {
  const Bytes bad =
      record(RecordType::namespaces, 0, join(pack(1, 1, std::uint64_t{1000}), stamp(1, 1, 5)));
  const Bytes bytes =
      file_of(join(comm_record(1, 1, "one", 10), bad, comm_record(2, 2, "two", 20)));
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "two"));
  ASSERT_EQ(cursor.damages().size(), 1u);
  EXPECT_EQ(cursor.damages()[0].offset, kDataAt + 56);
}

TEST(Reader, DamageIsCountedBeyondWhatIsKept) {
  Bytes records;
  const Bytes bad = record(RecordType::lost, 0, {});
  for (int i = 0; i < 1500; ++i) records.insert(records.end(), bad.begin(), bad.end());
  const Bytes bytes = file_of(records);
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_TRUE(read_all(cursor).empty());
  EXPECT_EQ(cursor.damage_count(), 1500u);
  EXPECT_EQ(cursor.damages().size(), Cursor::kMaxDamages);
}

// A file with all that can be cut: features, AUX data, records, attributes, header.
Bytes small_file() {
  return file_of(join(comm_record(1, 1, "one", 10), auxtrace_record(0, 1, -1, 0, Bytes(24, 0x55)),
                      comm_record(2, 2, "two", 20)),
                 {TestAttr{}}, {{3, join(pack(64u), text("host", 64))}, {255, text("{}")}});
}

TEST(Reader, TruncationAtEveryOffsetIsReported) {
  const Bytes whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const auto reader = Reader::open_memory(cut);
    if (!reader) {
      EXPECT_EQ(reader.error().code, ErrorCode::truncated);
      EXPECT_LT(size, 104u);
      continue;
    }
    auto cursor = reader->records();
    const auto records = read_all(cursor);
    EXPECT_GT(reader->damages().size() + cursor.damages().size(), 0u);
    for (const auto& one : records) EXPECT_LE(one.raw.offset + one.raw.bytes.size(), size);
  }
}

TEST(Reader, CutAuxDataIsHandedOutAsFarAsItIsThere) {
  Bytes bytes = file_of(auxtrace_record(0, 1, -1, 0, Bytes(24, 0x55)));
  bytes.resize(kDataAt + 48 + 10);
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  const auto records = read_all(cursor);
  ASSERT_EQ(records.size(), 1u);
  const auto& piece = std::get<Auxtrace>(records[0].body);
  EXPECT_EQ(piece.size, 24u);
  EXPECT_EQ(piece.data_size, 10u);
  EXPECT_EQ(piece.data_offset, kDataAt + 48);
  ASSERT_EQ(cursor.damages().size(), 1u);
  EXPECT_THAT(cursor.damages()[0].what, HasSubstr("10 of 24 bytes"));
}

// An AUXTRACE record may be longer than its fields: the data lie behind all of it.
TEST(Reader, AuxDataBeginsBehindALongHeader) {
  Bytes piece = auxtrace_record(5, 1, -1, 480, Bytes(24, 0x55));
  constexpr std::uint16_t kLong = 48 + 4040;
  std::memcpy(piece.data() + 6, &kLong, sizeof(kLong));
  piece.insert(piece.begin() + 48, kLong - 48, 0);
  const Bytes behind = record(RecordType::finished_round, 0, {});
  const Bytes file = file_of(join(piece, behind));
  const Reader reader = open_bytes(file);
  auto cursor = reader.records();
  const auto records = read_all(cursor);
  EXPECT_EQ(cursor.damage_count(), 0u);
  ASSERT_EQ(records.size(), 2u);
  const auto& found = std::get<Auxtrace>(records[0].body);
  EXPECT_EQ(found.idx, 5u);
  EXPECT_EQ(found.offset, 480u);
  EXPECT_EQ(found.data_offset, kDataAt + kLong);
  Bytes data(found.data_size);
  EXPECT_TRUE(reader.read(found.data_offset, data));
  EXPECT_EQ(data, Bytes(24, 0x55));
  EXPECT_EQ(records[1].raw.type, RecordType::finished_round);
}

// Any single byte changed to anything: no crash, no endless loop.
TEST(Reader, EveryByteDamagedIsSurvived) {
  const Bytes whole = small_file();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x47, 0x7f, 0xff}) {
      Bytes bytes = whole;
      bytes[at] = static_cast<std::uint8_t>(value);
      const auto reader = Reader::open_memory(bytes);
      if (!reader) continue;
      auto cursor = reader->records();
      EXPECT_LE(read_all(cursor).size(), whole.size() / 8);
    }
  }
}

TEST(Reader, TellsEventsApartByIdentifier) {
  // The second event has no CPU in its trailer.
  const TestAttr second{
      .sample_type = kUsualType & ~std::uint64_t{PERF_SAMPLE_CPU}, .ids = {2}, .type = 1};
  const Bytes other =
      record(RecordType::comm, 0,
             join(pack(5, 5), text("five"), pack(5, 5, std::uint64_t{50}, std::uint64_t{2})));
  const Bytes bytes = file_of(join(comm_record(1, 1, "one", 10), other), {TestAttr{}, second});
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  const auto records = read_all(cursor);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].id.cpu, 0);
  EXPECT_EQ(records[1].id.time, 50u);
  EXPECT_EQ(records[1].id.cpu, -1);
  ASSERT_NE(reader.attr_of(records[1].id), nullptr);
  EXPECT_EQ(reader.attr_of(records[1].id)->attr.type, 1u);
}

TEST(Reader, PipeModeFilesCarryTheirHeaderInRecords) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.sample_type = kUsualType;
  attr.sample_id_all = 1;
  const Bytes tracing =
      join(record(RecordType::header_tracing_data, 0, pack(12u)), Bytes(16, 0xee));
  const Bytes bytes =
      join(Bytes{'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'}, pack(std::uint64_t{16}),
           record(RecordType::header_attr, 0, pack(attr, std::uint64_t{1})), tracing,
           record(RecordType::header_feature, 0,
                  join(pack(std::uint64_t{3}, 64u), text("host", 64), pack(0u))),
           record(RecordType::event_update, 0,
                  join(pack(std::uint64_t{2}, std::uint64_t{1}), text("intel_pt//"))),
           kThree);
  const Reader reader = open_bytes(bytes);
  EXPECT_TRUE(reader.pipe_mode());
  ASSERT_EQ(reader.attrs().size(), 1u);
  EXPECT_EQ(reader.attrs()[0].name, "intel_pt//");
  EXPECT_EQ(reader.facts().hostname, "host");
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "two", "three"));
  EXPECT_EQ(cursor.damage_count(), 0u);
}

Bytes compressed_record(ZSTD_CCtx* context, const Bytes& in) {
  Bytes out(ZSTD_compressBound(in.size()) + 64);
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  EXPECT_EQ(ZSTD_compressStream2(context, &to, &from, ZSTD_e_flush), 0u);
  out.resize(to.pos);
  return record(RecordType::compressed, 0, out);
}

class CompressedRecords : public ::testing::Test {
 protected:
  CompressedRecords() : context_(ZSTD_createCCtx()) {}
  ~CompressedRecords() override { ZSTD_freeCCtx(context_); }
  ZSTD_CCtx* context_;
};

TEST_F(CompressedRecords, RecordsRunFromOneIntoTheNext) {
  const auto middle = kThree.begin() + 70;  // inside the second record
  const Bytes first = compressed_record(context_, Bytes(kThree.begin(), middle));
  const Bytes second = compressed_record(context_, Bytes(middle, kThree.end()));
  const Bytes bytes = file_of(join(first, second, comm_record(4, 4, "plain", 40)));
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one", "two", "three", "plain"));
  EXPECT_EQ(cursor.damage_count(), 0u);
}

TEST_F(CompressedRecords, GarbageIsDamage) {
  const Bytes bytes = file_of(
      join(record(RecordType::compressed, 0, Bytes(40, 0xee)), comm_record(4, 4, "plain", 40)));
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("plain"));
  EXPECT_EQ(cursor.damage_count(), 1u);
}

TEST_F(CompressedRecords, AnUnfinishedRecordAtTheEndIsDamage) {
  const Bytes bytes =
      file_of(compressed_record(context_, Bytes(kThree.begin(), kThree.begin() + 70)));
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("one"));
  ASSERT_EQ(cursor.damage_count(), 1u);
  EXPECT_THAT(cursor.damages()[0].what, HasSubstr("inside a record"));
}

TEST_F(CompressedRecords, WhatInflatesWithoutEndIsRefused) {
  const Bytes bytes = file_of(join(compressed_record(context_, Bytes(std::size_t{80} << 20, 0)),
                                   comm_record(4, 4, "plain", 40)));
  ASSERT_LT(bytes.size(), 65536u);
  const Reader reader = open_bytes(bytes);
  auto cursor = reader.records();
  EXPECT_THAT(comms(cursor), ElementsAre("plain"));
  ASSERT_EQ(cursor.damage_count(), 1u);
  EXPECT_THAT(cursor.damages()[0].what, HasSubstr("larger than allowed"));
}

}  // namespace
}  // namespace hodo::perfdata
