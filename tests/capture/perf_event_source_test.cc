#include "hodo/capture/perf_event_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <thread>
#include <variant>

#include "fake_kernel.h"
#include "fake_sysfs.h"
#include "hodo/perfdata/model.h"
#include "hodo/perfdata/reader.h"
#include "perf/perf_event_limits.h"

namespace hodo::capture {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::size_t kKiB = 1024;

// `count` TSC packets that count up from `first`: 8 bytes each, all different, genuine Intel PT.
ByteVector tsc_packets(std::uint64_t first, std::size_t count) {
  ByteVector out;
  for (std::uint64_t i = first; i < first + count; ++i) append(out, i << 8 | 0x19);
  return out;
}
// PSB, TSC, PSBEND, padded to 32 bytes.
ByteVector psb_group(std::uint64_t tsc) {
  ByteVector out;
  for (int i = 0; i < 8; ++i) append(out, std::uint16_t{0x8202});
  append(out, tsc << 8 | 0x19);
  append(out, std::uint16_t{0x2302});
  out.resize(32);
  return out;
}

ByteVector psb_group_and_tsc_packets() {
  ByteVector out = psb_group(2);
  const ByteVector more = tsc_packets(3, 100);
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

class SourceTest : public ::testing::Test {
 protected:
  SourceTest() {
    system.add_pmu("intel_pt", skylake_pt());
    options.output = path("out.data");
    options.buffer_size = 64 * kKiB;
    options.command = {"true"};
    context.paths = system.paths();
    context.kernel = &kernel;
    context.cmdline = {"hodo", "record"};
    context.version = "hodoscope test";
  }

  std::string path(const std::string& name) const { return system.root() + "/" + name; }
  void touch(const std::string& name) const { std::ofstream out(path(name)); }
  bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
  // A program that ends with `status` when the file `name` appears: the script says when it is
  // done.
  void program_waits_for(const std::string& name, int status = 0) {
    options.command = {
        "sh", "-c",
        "while [ ! -e " + path(name) + " ]; do sleep 0.01; done; exit " + std::to_string(status)};
  }
  RecordResult record() {
    auto result = record_perf_event(options, context);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *result : RecordResult{};
  }
  Error refusal() {
    auto result = record_perf_event(options, context);
    EXPECT_FALSE(result);
    return result ? Error{} : result.error();
  }

  FakeSystem system;
  FakeKernel kernel;
  RecordOptions options;
  PerfEventContext context;
};

// A recording read back, buffer by buffer.
struct ReadBack {
  explicit ReadBack(const std::string& path) : reader(perfdata::Reader::open(path).value()) {
    perfdata::Cursor cursor = reader.records();
    while (const auto record = cursor.next()) add(*record);
    EXPECT_EQ(cursor.damage_count(), 0u);
    EXPECT_THAT(reader.damages(), IsEmpty());
  }

  void add(const perfdata::Record& record) {
    ++counts[record.raw.type];
    if (const auto* info = std::get_if<perfdata::AuxtraceInfo>(&record.body)) {
      for (std::size_t i = 0; i < info->words.size(); ++i) words.push_back(info->words[i]);
      info_bytes.assign(info->bytes.begin(), info->bytes.end());
    } else if (const auto* aux = std::get_if<perfdata::Auxtrace>(&record.body)) {
      EXPECT_EQ(aux->cpu, static_cast<int>(aux->idx));
      EXPECT_EQ(aux->tid, -1);
      EXPECT_EQ(aux->data_size, aux->size);
      ByteVector data(aux->data_size);
      EXPECT_TRUE(reader.read(aux->data_offset, data));
      ByteVector& bytes = traces[aux->cpu];
      offsets[aux->cpu].push_back(aux->offset);
      bytes.insert(bytes.end(), data.begin(), data.end());
    } else if (const auto* flags = std::get_if<perfdata::Aux>(&record.body)) {
      if (flags->flags != 0) aux_flags.push_back(flags->flags);
    } else if (const auto* comm = std::get_if<perfdata::Comm>(&record.body)) {
      comms.push_back({std::string(comm->comm), comm->exec});
    }
  }

  perfdata::Reader reader;
  std::map<perfdata::RecordType, int> counts;
  std::vector<std::uint64_t> words;  // of AUXTRACE_INFO
  ByteVector info_bytes;
  std::map<int, ByteVector> traces;  // by processor; padding to 8 bytes included
  std::map<int, std::vector<std::uint64_t>> offsets;
  std::vector<std::uint64_t> aux_flags;
  std::vector<std::pair<std::string, bool>> comms;
};

std::string output_of(const std::string& command, int* status) {
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, n);
  *status = ::pclose(pipe);
  return out;
}

TEST_F(SourceTest, OpensTwoEventsPerProcessorOnTheProgram) {
  record();
  ASSERT_THAT(kernel.opened, SizeIs(4));
  EXPECT_EQ(kernel.opened[0].attr.type, 8u);
  EXPECT_EQ(kernel.opened[0].attr.config, 0x300e601u);
  EXPECT_EQ(kernel.opened[0].attr.aux_watermark, 16 * kKiB);
  EXPECT_EQ(kernel.opened[0].attr.enable_on_exec, 1u);
  EXPECT_EQ(kernel.opened[1].attr.type, 1u);
  EXPECT_EQ(kernel.opened[1].attr.context_switch, 1u);
  EXPECT_EQ(kernel.opened[0].cpu, 0);
  EXPECT_EQ(kernel.opened[2].cpu, 1);
  EXPECT_GT(kernel.opened[0].pid, 0);
  EXPECT_NE(kernel.opened[0].pid, ::getpid());
  EXPECT_THAT(kernel.aux_sizes, ElementsAre(64 * kKiB, 64 * kKiB));
  EXPECT_THAT(kernel.aux_writable, Each(true));
}

// Processor 0 sees the program start and trace a little, processor 1 traces more.
// The processors run side by side, so the last of them says `done`.
void play_small_recording(SourceTest&, FakeKernel& kernel, const std::function<void()>& done) {
  auto playing = std::make_shared<std::atomic<int>>(2);
  const auto finished = [done, playing] {
    if (--*playing == 0) done();
  };
  kernel.scripts[0] = [finished](FakeCpu& cpu) {
    const auto pid = static_cast<std::uint32_t>(cpu.pid());
    ByteVector comm, mmap2, itrace;
    for (const std::uint32_t v : {pid, pid}) append(comm, v);
    for (const char c : {'s', 'h', '\0'}) append(comm, c);
    cpu.record(PERF_RECORD_COMM, comm, PERF_RECORD_MISC_COMM_EXEC);
    for (const std::uint32_t v : {pid, pid}) append(mmap2, v);
    for (const std::uint64_t v : {0x400000, 0x1000, 0x2000}) append(mmap2, v);
    for (const std::uint32_t v : {8, 1}) append(mmap2, v);   // device
    for (const std::uint64_t v : {77, 0}) append(mmap2, v);  // inode
    for (const std::uint32_t v : {5, 2}) append(mmap2, v);   // PROT_READ | PROT_EXEC
    for (const char c : std::string("/bin/sh")) append(mmap2, c);
    append(mmap2, '\0');
    cpu.record(PERF_RECORD_MMAP2, mmap2, PERF_RECORD_MISC_USER);
    for (const std::uint32_t v : {pid, pid}) append(itrace, v);
    cpu.record(PERF_RECORD_ITRACE_START, itrace);
    cpu.trace(psb_group(1));
    cpu.record(PERF_RECORD_SWITCH, {}, PERF_RECORD_MISC_SWITCH_OUT);
    finished();
  };
  kernel.scripts[1] = [finished](FakeCpu& cpu) {
    cpu.record(PERF_RECORD_SWITCH, {});
    cpu.trace(psb_group_and_tsc_packets());  // at once: how it is cut into records is not by chance
    finished();
  };
}

TEST_F(SourceTest, ARecordingReadsBackAsItWasPlayed) {
  program_waits_for("done", 3);
  play_small_recording(*this, kernel, [this] { touch("done"); });
  const RecordResult result = record();
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_EQ(result.trace_bytes, 32u + 32 + 800);
  EXPECT_EQ(result.processes, 1u);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.overflows, 0u);
  EXPECT_THAT(result.warnings, IsEmpty());

  const ReadBack file(options.output);
  EXPECT_TRUE(file.reader.finished());
  EXPECT_EQ(file.traces.at(0), psb_group(1));
  EXPECT_EQ(file.traces.at(1), psb_group_and_tsc_packets());
  EXPECT_THAT(file.comms, ElementsAre(::testing::Pair("hodo", false), ::testing::Pair("sh", true)));
  EXPECT_EQ(file.counts.at(perfdata::RecordType::mmap2), 1);
  EXPECT_EQ(file.counts.at(perfdata::RecordType::itrace_start), 1);
  EXPECT_EQ(file.counts.at(perfdata::RecordType::switch_), 2);
  EXPECT_EQ(file.counts.at(perfdata::RecordType::aux), 2);
  ASSERT_THAT(file.reader.attrs(), SizeIs(2));
  EXPECT_THAT(file.reader.attrs()[0].ids, ElementsAre(101, 103));
  EXPECT_THAT(file.reader.attrs()[1].ids, ElementsAre(102, 104));
  EXPECT_EQ(file.reader.attrs()[0].name, "intel_pt//u");
}

// The words of AUXTRACE_INFO, in the order of perf's intel_pt_info_fill.
// A process with two threads that wait to be killed.
class Waiting {
 public:
  Waiting() : pid_(::fork()) {
    if (pid_ == 0) {
      std::thread([] { ::pause(); }).detach();
      ::pause();
      ::_exit(0);
    }
    while (threads().size() < 2) ::usleep(1000);
  }
  ~Waiting() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  std::vector<pid_t> threads() const {
    std::vector<pid_t> found;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
      found.push_back(std::stoi(task.path().filename()));
    }
    std::sort(found.begin(), found.end());
    return found;
  }

 private:
  pid_t pid_;
};

TEST_F(SourceTest, AttachesToAllThreadsOfAProcess) {
  const Waiting process;
  options.command.clear();
  options.pids = {process.pid()};
  options.duration = 300'000'000;
  play_small_recording(*this, kernel, [] {});
  const RecordResult result = record();
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.threads, 2u);
  EXPECT_EQ(result.processes, 1u);

  ASSERT_THAT(kernel.opened, SizeIs(8));  // two events, of two threads, on two processors
  const std::vector<pid_t> threads = process.threads();
  for (const std::size_t i : {0, 1, 2, 3, 4, 5, 6, 7}) {
    EXPECT_EQ(kernel.opened[i].pid, threads[i / 2 % 2]) << i;
    EXPECT_EQ(kernel.opened[i].cpu, static_cast<int>(i / 4)) << i;
    EXPECT_EQ(kernel.opened[i].attr.enable_on_exec, 0u) << i;
    EXPECT_EQ(kernel.switched.at(101 + i), false) << i;
  }
  // All of a processor's events in the buffers of its first.
  EXPECT_THAT(kernel.aux_sizes, SizeIs(2));
  using ::testing::Pair;
  EXPECT_THAT(kernel.joined, ElementsAre(Pair(102, 101), Pair(103, 101), Pair(104, 101),
                                         Pair(106, 105), Pair(107, 105), Pair(108, 105)));

  const ReadBack file(options.output);
  EXPECT_EQ(file.traces.at(0), psb_group(1));
  ASSERT_THAT(file.reader.attrs(), SizeIs(2));
  EXPECT_THAT(file.reader.attrs()[0].ids, ElementsAre(101, 103, 105, 107));
  EXPECT_THAT(file.reader.attrs()[1].ids, ElementsAre(102, 104, 106, 108));
  EXPECT_THAT(file.comms, SizeIs(3));  // its two threads, and the script's
  EXPECT_EQ(file.counts.at(perfdata::RecordType::fork), 1);
  EXPECT_GT(file.counts.at(perfdata::RecordType::mmap2), 2);
}

TEST_F(SourceTest, AttachesToSomeThreads) {
  const Waiting process;
  options.command.clear();
  options.pids = {process.pid()};
  options.threads = {process.threads()[1]};
  options.duration = 1;
  record();
  ASSERT_THAT(kernel.opened, SizeIs(4));
  EXPECT_EQ(kernel.opened[0].pid, process.threads()[1]);
}

// Their events are not there any more when they are to be opened.
TEST_F(SourceTest, AThreadThatHasEndedMeanwhileIsLeftOut) {
  const Waiting process;
  options.command.clear();
  options.pids = {process.pid()};
  options.duration = 1;
  kernel.refuse = [&](const FakeKernel::Opened& event) {
    return event.pid == process.threads()[1] ? ESRCH : 0;
  };
  record();
  EXPECT_THAT(kernel.opened, SizeIs(4));
}

TEST_F(SourceTest, AttachedUntilTheProcessEnds) {
  auto process = std::make_unique<Waiting>();
  options.command.clear();
  options.pids = {process->pid()};
  play_small_recording(*this, kernel, [&] { process.reset(); });
  EXPECT_TRUE(record().complete);
}

TEST_F(SourceTest, TheFileSaysHowItWasTraced) {
  record();
  EXPECT_THAT(ReadBack(options.output).words,
              ElementsAre(8,               // PMU type
                          10, 512, 5000,   // time shift, mult, zero
                          1,               // ... which are valid
                          0x400, 0x800,    // tsc, noretcomp
                          2,               // SWITCH records
                          0, 1,            // no snapshot, per cpu
                          0x200, 0x3c000,  // mtc, mtc_period
                          284, 2,          // TSC : crystal clock
                          2, 34,           // cyc, max non-turbo ratio
                          0,               // length of the filter
                          0));             // no event trace
}

TEST_F(SourceTest, PerfOpensTheFile) {
  int status = 0;
  if (output_of("command -v perf", &status).empty()) GTEST_SKIP() << "perf is not installed";
  program_waits_for("done");
  play_small_recording(*this, kernel, [this] { touch("done"); });
  record();
  const std::string dump = output_of("perf script -D -i " + options.output + " 2>&1", &status);
  EXPECT_EQ(status, 0) << dump;
  EXPECT_THAT(dump, HasSubstr("PERF_RECORD_AUXTRACE_INFO type: 1"));
  EXPECT_THAT(dump, HasSubstr("Per-cpu maps        1"));
  EXPECT_THAT(dump, HasSubstr("PERF_RECORD_COMM exec: sh"));
  EXPECT_THAT(dump, HasSubstr("PERF_RECORD_AUXTRACE size: 0x340"));
  EXPECT_THAT(dump, HasSubstr("PSBEND"));
  EXPECT_THAT(dump, HasSubstr("TSC 0x66"));  // the last one: 3 + 99
  output_of("perf script --itrace=b -i " + options.output + " 2>&1", &status);
  EXPECT_EQ(status, 0);
}

TEST_F(SourceTest, AStreamLargerThanTheBufferArrivesWhole) {
  options.buffer_size = 8 * kKiB;
  program_waits_for("done");
  std::uint64_t next = 0;
  kernel.scripts[1] = [&](FakeCpu& cpu) {
    for (; next < 200'000; next += 101) {
      if (!cpu.trace(tsc_packets(next, 101))) break;
    }
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_EQ(result.trace_bytes, next * 8);
  EXPECT_THAT(result.warnings, IsEmpty());
  const ReadBack file(options.output);
  EXPECT_EQ(file.traces.at(1), tsc_packets(0, next));
}

TEST_F(SourceTest, PiecesThatEndInsideAWordAreJoinedWithoutPadding) {
  program_waits_for("done");
  ByteVector all;
  for (int i = 0; i < 1000; ++i) all.push_back(static_cast<std::uint8_t>(i % 250 + 1));
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    for (std::size_t at = 0; at < all.size(); at += 5) {
      cpu.trace({all.begin() + at, all.begin() + at + 5});
      if (at % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    touch("done");
  };
  EXPECT_EQ(record().trace_bytes, 1000u);
  EXPECT_EQ(ReadBack(options.output).traces.at(0), all);
}

TEST_F(SourceTest, TheLastBytesNeedNotFillAWord) {
  program_waits_for("done");
  ByteVector bytes = tsc_packets(1, 1);
  bytes.insert(bytes.end(), {0x59, 7, 0x59, 8});  // two MTC packets
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    cpu.trace(bytes);
    touch("done");
  };
  EXPECT_EQ(record().trace_bytes, 12u);
  bytes.resize(16);  // padded in the file
  EXPECT_EQ(ReadBack(options.output).traces.at(0), bytes);
}

TEST_F(SourceTest, AFullBufferIsSaidAndTracingGoesOn) {
  options.buffer_size = 8 * kKiB;
  program_waits_for("done");
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    cpu.trace(tsc_packets(0, 1024));
    cpu.truncate();  // returns when hodo has made room and enabled the event again
    cpu.trace(tsc_packets(5000, 10));
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("1 gaps of unknown size")));
  EXPECT_EQ(result.overflows, 1u);
  EXPECT_FALSE(result.complete);
  const ReadBack file(options.output);
  ByteVector expected = tsc_packets(0, 1024);
  const ByteVector more = tsc_packets(5000, 10);
  expected.insert(expected.end(), more.begin(), more.end());
  EXPECT_EQ(file.traces.at(0), expected);
  EXPECT_THAT(file.aux_flags, ElementsAre(PERF_AUX_FLAG_TRUNCATED));
}

TEST_F(SourceTest, AnEventThatIsDisabledLateIsEnabledAgain) {
  options.buffer_size = 8 * kKiB;
  program_waits_for("done");
  bool resumed = false;
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    cpu.trace(tsc_packets(0, 1024));
    resumed = cpu.truncate(true) && cpu.trace(tsc_packets(5000, 10));
    touch("done");
  };
  EXPECT_EQ(record().overflows, 1u);
  EXPECT_TRUE(resumed);
}

TEST_F(SourceTest, LostRecordsPartialTraceAndChildrenAreCounted) {
  program_waits_for("done");
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    ByteVector lost, thread, child;
    for (const std::uint64_t v : {101, 12}) append(lost, v);
    cpu.record(PERF_RECORD_LOST, lost);
    cpu.trace(psb_group(1), PERF_AUX_FLAG_PARTIAL);
    const auto pid = static_cast<std::uint32_t>(cpu.pid());
    for (const std::uint32_t v : {pid, pid, pid + 1, pid}) append(thread, v);
    for (const std::uint32_t v : {pid + 2, pid, pid + 2, pid}) append(child, v);
    append(thread, std::uint64_t{1});
    append(child, std::uint64_t{2});
    cpu.record(PERF_RECORD_FORK, thread);
    cpu.record(PERF_RECORD_FORK, child);
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(result.warnings,
              ElementsAre(HasSubstr("1 stretches with parts missing"), HasSubstr("12 records")));
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.processes, 2u);
  EXPECT_EQ(result.threads, 3u);
}

TEST_F(SourceTest, SnapshotsKeepTheNewestPart) {
  options.snapshot = true;
  options.buffer_size = 8 * kKiB;  // 1024 packets
  options.pt.psb_period = 0;
  program_waits_for("done");
  kernel.scripts[1] = [&](FakeCpu& cpu) {
    cpu.overwrite(tsc_packets(0, 3000));
    ::kill(::getpid(), SIGUSR2);
    // The first snapshot is in the file when it has grown.
    while (!exists("out.data") || std::filesystem::file_size(path("out.data")) < 8 * kKiB) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    cpu.overwrite(tsc_packets(3000, 100));
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(kernel.aux_writable, Each(false));
  EXPECT_EQ(result.trace_bytes, (1024u + 100) * 8);
  const ReadBack file(options.output);
  EXPECT_EQ(file.words.at(8), 1u);  // snapshot
  EXPECT_EQ(file.traces.at(1), tsc_packets(3000 - 1024, 1024 + 100));
  ASSERT_THAT(file.offsets.at(1), SizeIs(2));
  EXPECT_EQ(file.offsets.at(1)[1], file.offsets.at(1)[0] + 8 * kKiB);
}

TEST_F(SourceTest, AnInterruptEndsTheRecordingButNotTheData) {
  options.command = {
      "sh", "-c",
      "trap 'sleep 0.4; exit 9' INT; : > " + path("ready") + "; while :; do sleep 0.01; done"};
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    cpu.trace(psb_group(1));
    while (!exists("ready")) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(::getpid(), SIGINT);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    cpu.trace(psb_group(2));  // the program goes on, the recording does not
  };
  const RecordResult result = record();
  EXPECT_EQ(result.exit_status, 9);
  const ReadBack file(options.output);
  EXPECT_TRUE(file.reader.finished());
  EXPECT_EQ(file.traces.at(0), psb_group(1));
}

TEST_F(SourceTest, MaxSizeEndsTheRecordingAndTheProgramGoesOn) {
  options.max_size = 100'000;
  options.command = {"sh", "-c", "sleep 0.3; exit 4"};
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    for (std::uint64_t i = 0; cpu.trace(tsc_packets(i, 100)); i += 100) {
    }
  };
  const RecordResult result = record();
  EXPECT_EQ(result.exit_status, 4);
  EXPECT_THAT(result.unrecorded, Contains(HasSubstr("--max-size")));
  EXPECT_FALSE(result.complete);
  EXPECT_GE(result.trace_bytes, 80'000u);
  EXPECT_LE(result.trace_bytes, 400'000u);
  const ReadBack file(options.output);
  EXPECT_TRUE(file.reader.finished());
  const auto summary = file.reader.facts().sections.at(255);
  EXPECT_THAT(std::string(summary.begin(), summary.end()), HasSubstr("--max-size: what ran later"));
}

TEST_F(SourceTest, AnEventThatCannotBeSwitchedIsAnError) {
  kernel.refuse_switch = EIO;
  EXPECT_THAT(refusal().message, HasSubstr("on or off: Input/output error"));
}

TEST_F(SourceTest, FiltersReachEveryEventAndTheFile) {
  system.add_pmu("intel_pt", {{"nr_addr_filters", "2"}});
  options.filters = {{"/bin/ls", 0x1000, 0x20}};
  record();
  EXPECT_THAT(kernel.filters,
              ElementsAre("filter 0x1000/0x20@/bin/ls", "filter 0x1000/0x20@/bin/ls"));
  const ByteVector info = ReadBack(options.output).info_bytes;
  EXPECT_THAT(std::string(info.begin(), info.end()), HasSubstr("filter 0x1000/0x20@/bin/ls"));
}

TEST_F(SourceTest, WithoutChildrenOnlyThreadsInherit) {
  options.follow_children = false;
  record();
  EXPECT_EQ(kernel.opened[0].attr.inherit_thread, 1u);
  EXPECT_EQ(kernel.opened[1].attr.inherit_thread, 1u);
}

TEST_F(SourceTest, AnOlderKernelGetsATrackingEventWithoutBuildIds) {
  kernel.refuse = [](const FakeKernel::Opened& event) { return event.attr.build_id ? EINVAL : 0; };
  record();
  const ReadBack file(options.output);
  ASSERT_THAT(file.reader.attrs(), SizeIs(2));
  EXPECT_EQ(file.reader.attrs()[1].attr.build_id, 0u);
  EXPECT_EQ(file.reader.attrs()[1].attr.mmap2, 1u);
}

// Nothing that is refused may run the program, leave a file, or replace an old one.
class RefusalTest : public SourceTest {
 protected:
  RefusalTest() {
    std::ofstream(path("out.data")) << "old";
    options.command = {"touch", path("ran")};
  }
  ~RefusalTest() override {
    EXPECT_FALSE(exists("ran"));
    EXPECT_FALSE(exists("out.data.old"));
    std::ifstream in(path("out.data"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "old");
  }
};

TEST_F(RefusalTest, MissingCommand) {
  options.command = {"no-such-command-anywhere"};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
}
TEST_F(RefusalTest, CommandThatFailsInExecItself) {
  std::ofstream(path("script")) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
  options.command = {path("script")};
  EXPECT_THAT(refusal().message, HasSubstr("interpreter"));
}
TEST_F(RefusalTest, NoCommand) {
  options.command.clear();
  EXPECT_EQ(refusal().code, ErrorCode::usage);
}
TEST_F(RefusalTest, ProcessesThatAreNotThere) {
  options.command.clear();
  options.pids = {999'999'999};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
  options.pids = {::getpid()};
  options.threads = {999'999'999};
  EXPECT_EQ(refusal().code, ErrorCode::not_found);
}
TEST_F(RefusalTest, NoPt) {
  std::filesystem::remove_all(system.paths().event_source + "/intel_pt");
  EXPECT_EQ(refusal().code, ErrorCode::unsupported);
}
TEST_F(RefusalTest, OptionsThatTheProcessorLacks) {
  options.pt.mtc_period = 4;
  EXPECT_THAT(refusal().message, HasSubstr("0,3,6,9"));
}
TEST_F(RefusalTest, TooManyFilters) {
  options.filters = std::vector<FilterRange>(3, {"/bin/ls", 0, 1});
  EXPECT_THAT(refusal().message, HasSubstr("2 address filters"));
}
TEST_F(RefusalTest, AFilterThatTheKernelRefuses) {
  options.filters = {{"/bin/ls", 0x1000, 0x20}};
  kernel.refuse_filter = EINVAL;
  EXPECT_THAT(refusal().message, HasSubstr("filter 0x1000/0x20@/bin/ls"));
}
TEST_F(RefusalTest, NoMemoryForBuffersOfTheSizeAskedFor) {
  options.buffer_size = 4096 * kKiB;
  kernel.most_memory = 1024 * kKiB;
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::not_permitted);
  EXPECT_THAT(error.message, HasSubstr("perf_event_mlock_kb is 516"));
}
TEST_F(RefusalTest, BusyOnTheSecondProcessor) {
  kernel.refuse = [](const FakeKernel::Opened& event) { return event.cpu == 1 ? EBUSY : 0; };
  EXPECT_THAT(refusal().message, HasSubstr("in use"));
}

TEST_F(SourceTest, AnUnwritableOutputIsRefusedBeforeTheProgramRuns) {
  options.output = path("no/such/folder/out.data");
  options.command = {"touch", path("ran")};
  EXPECT_THAT(refusal().message, HasSubstr("no/such/folder"));
  EXPECT_FALSE(exists("ran"));
}

TEST_F(SourceTest, DefaultBuffersShrinkUntilTheyFit) {
  options.buffer_size = 0;
  kernel.most_memory = 70 * kKiB;
  record();
  EXPECT_THAT(kernel.aux_sizes, SizeIs(2));
  EXPECT_THAT(kernel.aux_sizes, Each(::testing::Le(64 * kKiB)));
}

TEST_F(SourceTest, AFullDiskIsAnErrorAndTheProgramRunsToItsEnd) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = 64 * kKiB;
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  options.command = {"sh", "-c", "sleep 0.3; : > " + path("ran")};
  kernel.scripts[0] = [&](FakeCpu& cpu) {
    for (std::uint64_t i = 0; cpu.trace(tsc_packets(i, 100)); i += 100) {
    }
  };
  const Error error = refusal();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(error.message, HasSubstr("out.data"));
  EXPECT_TRUE(exists("ran"));
  auto reader = perfdata::Reader::open(options.output);
  if (reader) {
    EXPECT_FALSE(reader->finished());
  }
}

struct OpenRefusal {
  int reason;
  ErrorCode code;
  const char* words;
};
void PrintTo(const OpenRefusal& refusal, std::ostream* out) {
  *out << std::strerror(refusal.reason);
}

class ProbeTest : public SourceTest, public ::testing::WithParamInterface<OpenRefusal> {};
TEST_P(ProbeTest, TheRefusalNamesTheRemedy) {
  kernel.refuse = [](const FakeKernel::Opened&) { return GetParam().reason; };
  const Status status = probe_perf_event(SourceKind::pt, context);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, GetParam().code);
  EXPECT_THAT(status.error().message, HasSubstr(GetParam().words));
}
INSTANTIATE_TEST_SUITE_P(
    Errno, ProbeTest,
    ::testing::Values(OpenRefusal{EACCES, ErrorCode::not_permitted, "seccomp"},
                      OpenRefusal{EPERM, ErrorCode::not_permitted, "CAP_PERFMON"},
                      OpenRefusal{EBUSY, ErrorCode::io, "in use"},
                      OpenRefusal{ENODEV, ErrorCode::unsupported, "virtual machine"},
                      OpenRefusal{EOPNOTSUPP, ErrorCode::unsupported, "--source qemu"},
                      OpenRefusal{EINVAL, ErrorCode::unsupported, "combination"},
                      OpenRefusal{EMFILE, ErrorCode::io, "ulimit -n"},
                      OpenRefusal{ENOSYS, ErrorCode::unsupported, "without perf events"},
                      OpenRefusal{EIO, ErrorCode::io, "Input/output error"}));

TEST_F(SourceTest, ParanoiaIsNamedWithItsRemedy) {
  system.write("kernel/perf_event_paranoid", "3");
  kernel.refuse = [](const FakeKernel::Opened&) { return EACCES; };
  EXPECT_THAT(probe_perf_event(SourceKind::pt, context).error().message,
              HasSubstr("sysctl kernel.perf_event_paranoid=2"));
}

TEST_F(SourceTest, ProbeOpensOneEventOnItselfAndNothingElse) {
  EXPECT_TRUE(probe_perf_event(SourceKind::pt, context));
  ASSERT_THAT(kernel.opened, SizeIs(1));
  EXPECT_EQ(kernel.opened[0].pid, 0);
  EXPECT_EQ(kernel.opened[0].attr.disabled, 1u);
  EXPECT_THAT(kernel.aux_sizes, IsEmpty());
}

// 24 bytes each: from, to, flags.
ByteVector bts_records(std::uint64_t first, std::size_t count) {
  ByteVector out;
  for (std::uint64_t i = first; i < first + count; ++i) {
    for (const std::uint64_t v : {0x401000 + i, 0x402000 + i, std::uint64_t{16}}) append(out, v);
  }
  return out;
}

TEST_F(SourceTest, BtsComesFromThePmuOfThatName) {
  system.add_pmu("intel_bts", {{"type", "12"}});
  options.source = SourceKind::bts;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    cpu.trace(bts_records(0, 3));
    cpu.trace(bts_records(3, 2));
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_EQ(result.trace_bytes, 5u * 24);
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(kernel.opened[0].attr.type, 12u);
  EXPECT_THAT(kernel.filters, IsEmpty());

  const auto reader = perfdata::Reader::open(options.output).value();
  const auto session = perfdata::Model::load(reader).value();
  EXPECT_EQ(session.trace(), perfdata::TraceKind::intel_bts);
  EXPECT_EQ(session.pt().pmu_type, 12u);
  ASSERT_THAT(session.queues(), SizeIs(1));
  ByteVector found;
  for (const auto& piece : session.queues()[0].pieces) {
    EXPECT_FALSE(piece.gap_before) << "the null record behind a piece is no data";
    ByteVector bytes(piece.size);
    EXPECT_TRUE(reader.read(piece.file_offset, bytes));
    found.insert(found.end(), bytes.begin(), bytes.end());
  }
  found.resize(std::min<std::size_t>(found.size(), 5 * 24));
  EXPECT_EQ(found, bts_records(0, 5));
  EXPECT_THAT(session.queues()[0].handovers, SizeIs(2));
  EXPECT_EQ(session.queues()[0].handovers[1].aux_size, 2u * 24);
}

TEST_F(SourceTest, BtsSnapshotsKeepTheNewestRecords) {
  system.add_pmu("intel_bts", {{"type", "12"}});
  options.source = SourceKind::bts;
  options.snapshot = true;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    for (int i = 0; i < 100; ++i) cpu.overwrite(bts_records(100 * i, 100));
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(kernel.aux_writable, Each(false));
  EXPECT_GT(result.trace_bytes, 60u * kKiB);
  EXPECT_LE(result.trace_bytes, 64u * kKiB);
}

TEST_F(SourceTest, WithoutBtsTheReasonIsGiven) {
  options.source = SourceKind::bts;
  const Error error = refusal();
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("BTS_UNAVAILABLE"));
  EXPECT_THAT(kernel.opened, IsEmpty());
}

TEST_F(SourceTest, BranchStacksNeedNoAuxArea) {
  options.source = SourceKind::lbr;
  options.sample_period = 500;
  options.level = Level::both;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    cpu.sample({{0x401010, 0x401000, 2}, {0x401020, 0x401010, 1}});
    cpu.sample({{0x401030, 0x401000, 2}});
    touch("done");
  };
  const RecordResult result = record();
  EXPECT_THAT(kernel.aux_sizes, IsEmpty());
  EXPECT_EQ(kernel.opened[0].attr.sample_period, 500u);
  EXPECT_EQ(kernel.opened[0].attr.exclude_kernel, 0u);
  EXPECT_GT(result.trace_bytes, 0u);

  const auto reader = perfdata::Reader::open(options.output).value();
  const auto session = perfdata::Model::load(reader).value();
  EXPECT_EQ(session.trace(), perfdata::TraceKind::branch_stacks);
  EXPECT_EQ(session.branch_stacks(), 2u);
  perfdata::BranchStacks stacks(reader);
  const auto first = stacks.next();
  ASSERT_TRUE(first);
  ASSERT_EQ(first->branches.size(), 2u);
  EXPECT_EQ(first->branches[1].from, 0x401020u);
  EXPECT_TRUE(first->branches[1].mispredicted());
}

TEST_F(SourceTest, ASnapshotOfBranchStacksKeepsTheNewestSamples) {
  options.source = SourceKind::lbr;
  options.snapshot = true;
  options.buffer_size = 8 * kKiB;
  program_waits_for("done");
  kernel.scripts[0] = [this](FakeCpu& cpu) {
    for (std::uint64_t i = 1; i <= 1000; ++i) cpu.sample({{i, i, 2}});
    touch("done");
  };
  record();
  const auto reader = perfdata::Reader::open(options.output).value();
  perfdata::BranchStacks stacks(reader);
  std::vector<std::uint64_t> kept;
  while (const auto sample = stacks.next()) kept.push_back(sample->branches[0].from);
  // A sample has 80 bytes: header 8, id to cpu 40, the number 8, an entry 24.
  ASSERT_THAT(kept, SizeIs(8 * kKiB / 80));
  EXPECT_EQ(kept.back(), 1000u);
  EXPECT_EQ(kept.front(), 1000u - kept.size() + 1);
}

TEST_F(SourceTest, WithoutLbrTheReasonIsGiven) {
  options.source = SourceKind::lbr;
  kernel.refuse = [](const auto&) { return EOPNOTSUPP; };
  EXPECT_THAT(refusal().message, HasSubstr("last branches (LBR)"));
}

// On the machine that runs the tests: an answer either way, with a reason where it is no.
TEST(ProbeHereTest, GivesAReason) {
  const Status status = probe_perf_event(SourceKind::pt);
  if (!status) {
    EXPECT_GT(status.error().message.size(), 20u);
  }
}

TEST(MemoryLimitsTest, ComeFromTheKernelsFiles) {
  FakeSystem system;
  system.write("kernel/perf_event_mlock_kb", "1000");
  EXPECT_EQ(read_memory_limits(system.paths()).per_cpu, 1000 * kKiB);
  std::filesystem::remove(system.paths().sys_kernel + "/perf_event_mlock_kb");
  EXPECT_EQ(read_memory_limits(system.paths()).per_cpu, 516 * kKiB);
  system.write("kernel/perf_event_paranoid", "-1");
  EXPECT_TRUE(read_memory_limits(system.paths()).unlimited);
}

constexpr MemoryLimits kDebian{.unlimited = false, .per_cpu = 516 * kKiB, .shared = 8192 * kKiB};

TEST(PlanBuffersTest, Privileged) {
  const auto plan = plan_buffers(0, {.unlimited = true}, 8, 4096);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->data, 512 * kKiB);
  EXPECT_EQ(plan->aux, 4096 * kKiB);
}
TEST(PlanBuffersTest, UnprivilegedTakesItsShareOfBothLimits) {
  EXPECT_EQ(plan_buffers(0, kDebian, 2, 4096)->aux, 4096 * kKiB);    // 516 + 4096 KiB each
  EXPECT_EQ(plan_buffers(0, kDebian, 8, 4096)->aux, 1024 * kKiB);    // 516 + 1024
  EXPECT_EQ(plan_buffers(0, kDebian, 1024, 4096)->aux, 256 * kKiB);  // 516 + 8
  EXPECT_EQ(plan_buffers(0, kDebian, 1024, 4096)->data, 128 * kKiB);
}
TEST(PlanBuffersTest, RequestsAreRoundedUpToAPowerOfTwo) {
  EXPECT_EQ(plan_buffers(100'000, kDebian, 2, 4096)->aux, 128 * kKiB);
  EXPECT_EQ(plan_buffers(1, kDebian, 2, 4096)->aux, kMinAux);
}
TEST(PlanBuffersTest, RequestsOverTheLimitAreRefusedWithTheRemedy) {
  const auto plan = plan_buffers(8192 * kKiB, kDebian, 2, 4096);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, ErrorCode::not_permitted);
  EXPECT_THAT(plan.error().message, HasSubstr("sysctl kernel.perf_event_mlock_kb=8324"));
}
TEST(PlanBuffersTest, LimitsTooSmallForAnythingAreRefused) {
  EXPECT_FALSE(plan_buffers(0, {.per_cpu = 64 * kKiB, .shared = 0}, 1, 4096));
}
TEST(PlanBuffersTest, NonsenseIsAUsageError) {
  EXPECT_EQ(plan_buffers(~std::uint64_t{0}, {.unlimited = true}, 1, 4096).error().code,
            ErrorCode::usage);
}

}  // namespace
}  // namespace hodo::capture
