// What Writer writes, read back; and what it leaves behind when things go wrong.
#include "hodo/perfdata/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <deque>

#include "file_builder.h"
#include "sample_trace.h"
#include "temp_dir.h"

namespace hodo::perfdata {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Stamp kStamp{10, 11, 5000, 3};

void ok(const Status& status) { EXPECT_TRUE(status) << status.error().message; }

class WriterTest : public ::testing::Test {
 protected:
  Writer create(WriterOptions options = sample_options()) {
    auto writer = Writer::create(path(), std::move(options));
    EXPECT_TRUE(writer) << writer.error().message;
    return std::move(*writer);
  }
  std::string path() const { return dir_.file("hodo.data"); }
  // What is read of it points into `files_`.
  Reader reopen() {
    auto reader = Reader::open_memory(files_.emplace_back(slurp(path())));
    EXPECT_TRUE(reader) << reader.error().message;
    return std::move(*reader);
  }

  TempDir dir_;
  std::deque<Bytes> files_;
};

// The only T of the file.
template <class T>
std::pair<Record, T> only(const Reader& reader) {
  auto cursor = reader.records();
  std::optional<std::pair<Record, T>> found;
  while (const auto one = cursor.next()) {
    if (const auto* body = std::get_if<T>(&one->body)) {
      EXPECT_FALSE(found) << "more than one";
      found = {*one, *body};
    }
  }
  EXPECT_EQ(cursor.damage_count(), 0u);
  EXPECT_TRUE(found);
  return found.value_or(std::pair<Record, T>{});
}

void expect_stamp(const Record& record, std::uint64_t id) {
  EXPECT_EQ(record.id.pid, kStamp.pid);
  EXPECT_EQ(record.id.tid, kStamp.tid);
  EXPECT_EQ(record.id.time, kStamp.time);
  EXPECT_EQ(record.id.cpu, 3);
  EXPECT_EQ(record.id.id, id);
}

// Who recorded, and where, is known from the beginning; that it is complete only in the end.
void expect_origin_only(const Reader& reader) {
  EXPECT_EQ(reader.facts().cmdline, sample_options().cmdline);
  EXPECT_EQ(reader.facts().version, sample_options().version);
  EXPECT_FALSE(reader.facts().hostname.empty());
  EXPECT_FALSE(reader.facts().sections.contains(static_cast<std::uint8_t>(Feature::hodoscope)));
}

// Whoever records has the file locked: nothing of it is cut off, it only goes on.
TEST_F(WriterTest, WhileItIsWrittenItIsReadToTheLastFlush) {
  auto writer = std::make_optional(create());
  ok(writer->comm({10, 11, "prog", false}, kStamp));
  ok(writer->flush());
  // Comes into the file at once, all but its end.
  const Bytes trace(5 << 20, 0x99);
  const std::span<const std::uint8_t> piece(trace);
  ok(writer->auxtrace({.offset = 0, .reference = 1, .idx = 0, .tid = 11, .cpu = -1}, {&piece, 1}));
  auto reader = Reader::open(path());
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_GT(reader->size(), trace.size() / 2);
  EXPECT_TRUE(reader->growing());
  EXPECT_FALSE(reader->finished());
  EXPECT_THAT(reader->damages(), IsEmpty());
  only<Comm>(*reader);
  expect_origin_only(*reader);

  ok(writer->flush());
  reader = Reader::open(path());
  ASSERT_TRUE(reader && reader->growing());
  EXPECT_EQ(only<Auxtrace>(*reader).second.data_size, trace.size());

  ok(writer->finish("{}"));
  reader = Reader::open(path());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->finished() && !reader->growing());
}

TEST_F(WriterTest, WhatIsLeftBehindIsNotBeingWritten) {
  ok(create().comm({10, 11, "prog", false}, kStamp));
  const auto reader = Reader::open(path());
  ASSERT_TRUE(reader);
  EXPECT_FALSE(reader->finished() || reader->growing());
}

TEST_F(WriterTest, EveryRecordComesBack) {
  Writer writer = create();
  std::array<std::uint8_t, 20> id{};
  id[3] = 7;
  ok(writer.comm({10, 11, "sort", true}, kStamp));
  Mmap mmap;
  mmap.pid = 10;
  mmap.tid = 11;
  mmap.address = 0x1000;
  mmap.size = 0x2000;
  mmap.file_offset = 0x3000;
  mmap.path = "/bin/sort";
  mmap.prot = 5;
  mmap.flags = 2;
  mmap.build_id = {id, 20};
  ok(writer.mmap(mmap, kStamp));
  ok(writer.fork({10, 1, 11, 1, 5000}, kStamp));
  ok(writer.itrace_start({10, 11}, kStamp));
  ok(writer.aux({16, 32, PERF_AUX_FLAG_TRUNCATED}, kStamp));
  ok(writer.lost(42, kStamp));
  ok(writer.switch_({.out = true, .preempt = true}, kStamp));
  ok(writer.finished_init());
  ok(writer.finished_round());
  ok(writer.finish("{\"branches\": 6}"));

  const Reader reader = reopen();
  EXPECT_TRUE(reader.finished());
  EXPECT_THAT(reader.damages(), IsEmpty());
  const auto [comm_record, comm] = only<Comm>(reader);
  EXPECT_EQ(comm.comm, "sort");
  EXPECT_TRUE(comm.exec);
  expect_stamp(comm_record, 2);
  const auto [mmap_record, mapped] = only<Mmap>(reader);
  EXPECT_EQ(mapped.path, "/bin/sort");
  EXPECT_EQ(mapped.file_offset, 0x3000u);
  EXPECT_EQ(mapped.prot, 5u);
  EXPECT_EQ(mapped.build_id, mmap.build_id);
  const auto [task_record, task] = only<Task>(reader);
  EXPECT_EQ(task_record.raw.type, RecordType::fork);
  EXPECT_EQ(task.tid, 11);
  EXPECT_EQ(only<ItraceStart>(reader).second.tid, 11);
  const auto [aux_record, aux] = only<Aux>(reader);
  EXPECT_EQ(aux.offset, 16u);
  EXPECT_EQ(aux.flags, PERF_AUX_FLAG_TRUNCATED);
  expect_stamp(aux_record, 1);
  EXPECT_EQ(only<Lost>(reader).second.count, 42u);
  EXPECT_TRUE(only<Switch>(reader).second.preempt);
  only<FinishedInit>(reader);
  only<FinishedRound>(reader);
  EXPECT_EQ(only<TimeConv>(reader).second.mult, 1u);
  const auto info = only<AuxtraceInfo>(reader).second;
  EXPECT_EQ(info.type, kAuxtraceIntelPt);

  const FileFacts& facts = reader.facts();
  EXPECT_EQ(facts.version, "hodoscope test");
  EXPECT_EQ(facts.arch, "x86_64");
  EXPECT_FALSE(facts.hostname.empty());
  EXPECT_FALSE(facts.cpudesc.empty());
  EXPECT_GT(facts.total_mem_kib.value_or(0), 0u);
  EXPECT_THAT(facts.cmdline, ElementsAre("hodo", "record", "--", "prog"));
  ASSERT_EQ(facts.build_ids.size(), 1u);
  EXPECT_EQ(facts.build_ids[0].path, "/bin/sort");
  EXPECT_EQ(facts.build_ids[0].build_id, mmap.build_id);
  ASSERT_TRUE(facts.sample_time);
  EXPECT_EQ(facts.sample_time->last, 5000u);
  const auto summary = facts.sections.at(255);
  EXPECT_EQ(std::string(summary.begin(), summary.end()), "{\"branches\": 6}");
  ASSERT_EQ(reader.attrs().size(), 2u);
  EXPECT_EQ(reader.attrs()[0].name, "intel_pt//u");
  EXPECT_EQ(reader.attrs()[1].name, "dummy:u");
}

TEST_F(WriterTest, TheConfigurationComesBack) {
  auto options = sample_options();
  options.pt.config = 0x300ec03;
  options.pt.tsc_ctc_n = 250;
  options.pt.tsc_ctc_d = 2;
  options.pt.max_nonturbo_ratio = 30;
  options.pt.filter = "filter 0x1000/0x2000@/bin/x";
  options.pt.snapshot = true;
  options.clock = ClockData{1, 1'700'000'000'000'000'000, 5000};
  Writer writer = create(options);
  ok(writer.finish(""));
  const Reader reader = reopen();
  const auto session = Model::load(reader);
  ASSERT_TRUE(session);
  const PtConfig& pt = session->pt();
  EXPECT_EQ(pt.config, 0x300ec03u);
  EXPECT_TRUE(pt.has_cyc());
  EXPECT_FALSE(pt.return_compression());
  EXPECT_EQ(pt.tsc_ctc_n, 250u);
  EXPECT_EQ(pt.tsc_ctc_d, 2u);
  EXPECT_EQ(pt.max_nonturbo_ratio, 30u);
  EXPECT_EQ(pt.filter, options.pt.filter);
  EXPECT_TRUE(pt.snapshot);
  EXPECT_EQ(session->facts().clock->wall_clock_ns, 1'700'000'000'000'000'000u);
  EXPECT_EQ(reader.attrs()[0].attr.clockid, 1);
}

TEST_F(WriterTest, KeptCodeIsFoundAgainAlsoUnderAnotherName) {
  std::vector<std::uint8_t> big(150'000);
  for (std::size_t i = 0; i < big.size(); ++i) big[i] = static_cast<std::uint8_t>(i * 7);
  Writer writer = create();
  ok(writer.code(0x7000, big, kStamp));
  ok(writer.finish(""));
  const auto moved = dir_.file("moved.data");
  std::filesystem::rename(path(), moved);
  const auto reader = Reader::open(moved);
  ASSERT_TRUE(reader);
  const auto session = Model::load(*reader);
  ASSERT_TRUE(session);
  EXPECT_THAT(session->damages(), IsEmpty());
  const auto* process = session->process_at(10, 5000);
  ASSERT_NE(process, nullptr);
  std::vector<std::uint8_t> got;
  for (const auto& mapping : process->mappings) {
    ASSERT_NE(mapping.kept, kNone);
    EXPECT_EQ(mapping.address, 0x7000 + got.size());
    const auto& kept = session->kept()[mapping.kept].bytes;
    got.insert(got.end(), kept.begin(), kept.end());
  }
  EXPECT_EQ(got, big);
  // The records that show perf where the bytes lie point to the same ones.
  auto cursor = reader->records();
  std::vector<std::uint8_t> shown;
  while (const auto one = cursor.next()) {
    if (const auto* mmap = std::get_if<Mmap>(&one->body)) {
      Bytes bytes(mmap->size);
      ok(reader->read(mmap->file_offset, bytes));
      shown.insert(shown.end(), bytes.begin(), bytes.end());
    }
  }
  EXPECT_EQ(shown, big);
}

TEST_F(WriterTest, WholeFilesComeBack) {
  BuildId id;
  id.size = 3;
  id.bytes[2] = 9;
  Writer writer = create();
  writer.whole_file({.path = "/gone/a", .inode = 7, .build_id = id}, Bytes{1, 2, 3});
  writer.whole_file({.path = "/gone/b (deleted)", .inode = 8, .build_id = {}}, Bytes{4});
  ok(writer.finish("{}"));
  const Reader reader = reopen();
  const auto& files = reader.facts().whole_files;
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "/gone/a");
  EXPECT_EQ(files[0].inode, 7u);
  EXPECT_EQ(files[0].build_id, id);
  EXPECT_EQ(files[1].path, "/gone/b (deleted)");
  Bytes bytes(files[0].size);
  ok(reader.read(files[0].offset, bytes));
  EXPECT_EQ(bytes, (Bytes{1, 2, 3}));
  EXPECT_EQ(files[1].size, 1u);
  EXPECT_EQ(files[1].offset, files[0].offset + 3 + 48 + files[1].path.size());
  EXPECT_TRUE(reader.damages().empty());
}

TEST_F(WriterTest, AuxDataFromSeveralPlacesIsOnePaddedPiece) {
  const std::vector<std::uint8_t> a(5, 'a'), b, c(6, 'c');
  const std::span<const std::uint8_t> pieces[] = {a, b, c};
  Writer writer = create();
  ok(writer.comm({10, 11, "before", false}, kStamp));  // pending when the data comes
  Auxtrace where;
  where.idx = 4;
  where.tid = 11;
  where.offset = 100;
  ok(writer.auxtrace(where, pieces));
  ok(writer.auxtrace(where, {}));  // nothing: no record
  ok(writer.finish(""));
  const Reader reader = reopen();
  const auto [record, piece] = only<Auxtrace>(reader);
  Bytes bytes(piece.data_size);
  ok(reader.read(piece.data_offset, bytes));
  EXPECT_EQ(bytes, join(a, c, Bytes(5)));
  EXPECT_EQ(piece.idx, 4u);
  EXPECT_EQ(piece.tid, 11);
  EXPECT_EQ(piece.cpu, -1);
  EXPECT_EQ(piece.offset, 100u);
  EXPECT_EQ(piece.reference, 5000u);  // the newest time
  // perf's index of AUXTRACE records points to it.
  const auto index = reader.facts().sections.at(static_cast<std::uint8_t>(Feature::auxtrace));
  EXPECT_THAT(index, ElementsAreArray(pack(std::uint64_t{1}, record.raw.offset,
                                           std::uint64_t{record.raw.bytes.size()})));
  EXPECT_EQ(record.raw.bytes.size(), 56u);  // 48, a sum and its padding
}

TEST_F(WriterTest, LargeAuxDataFromManyPlaces) {
  // One block seen from more places than one system call takes.
  const std::vector<std::uint8_t> block(std::size_t{1} << 20, 0x55);
  const std::vector<std::span<const std::uint8_t>> pieces(100, block);
  Writer writer = create();
  ok(writer.auxtrace(Auxtrace{.offset = 8, .tid = 11}, pieces));
  ok(writer.finish(""));
  const Reader reader = reopen();
  const auto session = Model::load(reader);
  ASSERT_TRUE(session);
  const auto& queue = session->queues().at(0);
  ASSERT_EQ(queue.pieces.size(), 1u);
  Bytes bytes(queue.pieces[0].size);
  EXPECT_EQ(bytes.size(), std::size_t{100} << 20);
  ok(reader.read(queue.pieces[0].file_offset, bytes));
  EXPECT_TRUE(bytes == Bytes(std::size_t{100} << 20, 0x55));
}

TEST_F(WriterTest, ManyRecordsGoThroughTheBuffer) {
  Writer writer = create();
  for (int i = 0; i < 20'000; ++i) ok(writer.comm({i, i, "x", false}, kStamp));
  ok(writer.finish(""));
  const Reader reader = reopen();
  auto cursor = reader.records();
  int next = 0;
  while (const auto one = cursor.next()) {
    if (const auto* comm = std::get_if<Comm>(&one->body)) {
      ASSERT_EQ(comm->pid, next++);
    }
  }
  EXPECT_EQ(next, 20'000);
}

TEST_F(WriterTest, LongNamesAreCutAndLongRecordsRefused) {
  Writer writer = create();
  const std::string name(70'000, 'n');
  ok(writer.comm({10, 11, name, false}, kStamp));
  const Bytes too_long = record(RecordType::comm, 0, Bytes(100, 0));
  EXPECT_EQ(writer.raw(Bytes(too_long.begin(), too_long.end() - 1)).error().code, ErrorCode::usage);
  ok(writer.finish(""));
  EXPECT_EQ(only<Comm>(reopen()).second.comm.size(), 4095u);
}

TEST_F(WriterTest, RawRecordsAreCopied) {
  Writer writer = create();
  ok(writer.raw(join(comm_record(1, 1, "one", 10), comm_record(2, 2, "two", 90))));
  ok(writer.finish(""));
  const Reader reader = reopen();
  auto cursor = reader.records();
  std::vector<std::string> names;
  while (const auto one = cursor.next()) {
    if (const auto* comm = std::get_if<Comm>(&one->body)) names.emplace_back(comm->comm);
  }
  EXPECT_THAT(names, ElementsAre("one", "two"));
  EXPECT_EQ(reader.facts().sample_time->first, 10u);
  EXPECT_EQ(reader.facts().sample_time->last, 90u);
}

// perf puts bytes of the kernel's TEXT_POKE where a KSYMBOL says that code is: no MMAP2 is needed.
TEST_F(WriterTest, KernelCodeHasANameAndItsBytes) {
  Writer writer = create();
  const std::vector<std::uint8_t> code = {0x90, 0xc3};
  const std::uint64_t address = 0xffff'ffff'8100'0000;
  const Stamp kernel{.pid = -1, .tid = -1, .time = 50, .cpu = 0};
  ok(writer.ksymbol({.address = address, .size = 2, .name = "do_nothing [nothing]"}, kernel));
  ok(writer.code(address, code, kernel));
  ok(writer.finish(""));
  const Reader reader = reopen();
  const auto session = Model::load(reader);
  ASSERT_TRUE(session);
  const auto symbols = read_kernel_symbols(reader);
  ASSERT_EQ(symbols.size(), 1u);
  const KernelSymbol& symbol = symbols[0];
  EXPECT_EQ(symbol.address, address);
  EXPECT_EQ(symbol.size, 2u);
  EXPECT_EQ(symbol.from, 50u);
  EXPECT_EQ(symbol.name, "do_nothing [nothing]");
  ASSERT_EQ(session->kept().size(), 1u);
  EXPECT_EQ(session->kept()[0].pid, -1);
  EXPECT_EQ(session->kernel_mappings().size(), 1u);
  EXPECT_EQ(session->counts().count(RecordType::mmap2), 0u);
}

TEST_F(WriterTest, EventsThatCannotBeToldApartAreRefused) {
  auto options = sample_options();
  options.attrs = pt_attrs(options.pt);
  options.attrs[1].attr.sample_type = PERF_SAMPLE_TID;
  const auto writer = Writer::create(path(), options);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().code, ErrorCode::usage);
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(WriterTest, AnOldRecordingIsKept) {
  spill(path(), {'o', 'l', 'd'});
  spill(path() + ".old", {'o', 'l', 'd', 'e', 'r'});
  ok(create().finish(""));
  EXPECT_EQ(slurp(path() + ".old").size(), 3u);
  struct stat st{};
  ASSERT_EQ(::stat(path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(WriterTest, AnEmptyFileIsNotKept) {
  spill(path(), {});
  ok(create().finish(""));
  EXPECT_FALSE(std::filesystem::exists(path() + ".old"));
}

TEST_F(WriterTest, WhereNoFileCanBe) {
  EXPECT_EQ(Writer::create(dir_.file("no/such/dir"), {}).error().code, ErrorCode::not_found);
  EXPECT_EQ(Writer::create("/dev/full", {}).error().code, ErrorCode::no_space);
  ASSERT_EQ(::mkfifo(dir_.file("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(Writer::create(dir_.file("fifo"), {}));
}

TEST_F(WriterTest, WithoutFinishTheFileOpensToTheLastFlush) {
  Writer writer = create();
  ok(writer.comm({10, 11, "kept", false}, kStamp));
  ok(writer.flush());
  ok(writer.comm({10, 11, "pending", false}, kStamp));
  // As kill -9 would leave it:
  const Reader reader = reopen();
  EXPECT_FALSE(reader.finished());
  EXPECT_EQ(only<Comm>(reader).second.comm, "kept");
  expect_origin_only(reader);
}

TEST_F(WriterTest, ADestroyedWriterFlushes) {
  {
    Writer writer = create();
    ok(writer.comm({10, 11, "kept", false}, kStamp));
  }
  const Reader reader = reopen();
  EXPECT_FALSE(reader.finished());
  EXPECT_EQ(only<Comm>(reader).second.comm, "kept");
}

TEST_F(WriterTest, AfterFinishNothingCanBeAdded) {
  Writer writer = create();
  ok(writer.finish(""));
  EXPECT_EQ(writer.flush().error().code, ErrorCode::usage);
  EXPECT_EQ(writer.finish("").error().code, ErrorCode::usage);
}

// A disk that fills up, by way of the limit on the size of files.
class FullDisk : public WriterTest {
 protected:
  FullDisk() {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    old_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~FullDisk() override {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, old_);
  }
  void limit(std::uint64_t bytes) {
    rlimit now = before_;
    now.rlim_cur = bytes;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &now), 0);
  }

 private:
  rlimit before_{};
  void (*old_)(int) = nullptr;
};

TEST_F(FullDisk, TheFileEndsBehindTheLastWholeRecord) {
  Writer writer = create();
  ok(writer.comm({10, 11, "kept", false}, kStamp));
  ok(writer.flush());
  const auto size = writer.bytes_written();
  limit(size + 100);
  const std::vector<std::uint8_t> data(4096, 1);
  const std::span<const std::uint8_t> piece(data);
  ok(writer.auxtrace(Auxtrace{.tid = 11}, {&piece, 1}));
  const auto status = writer.flush();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::no_space);
  EXPECT_THAT(status.error().message, HasSubstr("hodo.data"));
  EXPECT_EQ(writer.comm({1, 1, "x", false}, kStamp).error().message, status.error().message);
  EXPECT_FALSE(writer.finish("complete"));
  EXPECT_EQ(slurp(path()).size(), size);
  const Reader reader = reopen();
  EXPECT_FALSE(reader.finished());
  EXPECT_EQ(only<Comm>(reader).second.comm, "kept");
}

// What came after the last flush and is in the file stays, too, as far as it is whole.
TEST_F(FullDisk, PiecesThatFitStay) {
  Writer writer = create();
  ok(writer.comm({10, 11, "kept", false}, kStamp));
  limit(2 << 20);
  const std::vector<std::uint8_t> data(512 << 10, 1);
  const std::span<const std::uint8_t> piece(data);
  Status status;
  int written = 0;
  for (; status && written < 10; ++written) {
    status = writer.auxtrace(Auxtrace{.offset = written * data.size(), .tid = 11}, {&piece, 1});
  }
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::no_space);
  const Reader reader = reopen();
  EXPECT_EQ(only<Comm>(reader).second.comm, "kept");
  const auto size = slurp(path()).size();
  EXPECT_GT(size, 2u * data.size());
  EXPECT_LT(size, 4u * data.size());
  expect_origin_only(reader);
}

TEST_F(FullDisk, WithoutRoomForTheEndItIsNoCompleteRecording) {
  Writer writer = create();
  ok(writer.comm({10, 11, "kept", false}, kStamp));
  ok(writer.flush());
  limit(writer.bytes_written() + 100);
  EXPECT_EQ(writer.finish("complete").error().code, ErrorCode::no_space);
  const Reader reader = reopen();
  EXPECT_FALSE(reader.finished());
  EXPECT_EQ(only<Comm>(reader).second.comm, "kept");
}

}  // namespace
}  // namespace hodo::perfdata
