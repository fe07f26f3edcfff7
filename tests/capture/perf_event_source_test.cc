#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

#include "perf_event_fixture.h"

namespace hodo::capture {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

TEST_F(SourceTest, ARecordingReadsBackAsItWasPlayed) {
  program_waits_for("done", 3);
  play_small_recording(kernel, [this] { touch("done"); });
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
  play_small_recording(kernel, [this] { touch("done"); });
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

}  // namespace
}  // namespace hodo::capture
