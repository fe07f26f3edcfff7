// perf itself reads what Writer wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <sstream>

#include "sample_trace.h"
#include "temp_dir.h"

namespace hodo::perfdata {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct Output {
  int status = -1;
  std::string text;  // stdout and stderr
};

Output run(const std::string& command) {
  Output out;
  FILE* pipe = ::popen((command + " 2>&1 </dev/null").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> buffer;
  while (const auto size = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    out.text.append(buffer.data(), size);
  }
  out.status = ::pclose(pipe);
  return out;
}

class Perf : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::access("/usr/bin/perf", X_OK) != 0) GTEST_SKIP() << "perf is not installed";
  }

  // Runs perf on the recording; it must succeed and complain of nothing.
  std::string perf(const std::string& command, const std::string& options = "") {
    const auto out = run("cd " + dir_.file("") + " && HOME=. PERF_PAGER=cat /usr/bin/perf " +
                         command + " -i " + path() + " " + options);
    EXPECT_EQ(out.status, 0) << out.text;
    std::string lower = out.text;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const char* complaint :
         {"error", "warning", "corrupt", "failed", "invalid", "bad packet"}) {
      EXPECT_EQ(lower.find(complaint), std::string::npos) << complaint << " in\n" << out.text;
    }
    return out.text;
  }

  // Branches of one thread as "from => to", or of all.
  std::vector<std::string> branches(int tid = 0) {
    std::vector<std::string> out;
    std::istringstream lines(perf("script", "--itrace=be -F tid,ip,addr"));
    std::string from, arrow, to;
    for (int thread; lines >> thread >> from >> arrow >> to;) {
      EXPECT_EQ(arrow, "=>");
      if (tid == 0 || tid == thread) out.push_back(from + " => " + to);
    }
    return out;
  }

  Writer create(WriterOptions options = sample_options()) {
    auto writer = Writer::create(path(), std::move(options));
    EXPECT_TRUE(writer) << writer.error().message;
    return std::move(*writer);
  }
  std::string path() const { return dir_.file("hodo.data"); }

  TempDir dir_;
};

TEST_F(Perf, DecodesCodeThatTheRecordingKeeps) {
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.finish("{}"));
  EXPECT_THAT(branches(), ElementsAreArray(kBranches));
}

TEST_F(Perf, DecodesCodeFromAFileWithABuildId) {
  std::vector<std::uint8_t> file(0x1000);
  file.insert(file.end(), kCode.begin(), kCode.end());
  spill(dir_.file("prog"), file);
  const std::string prog = dir_.file("prog");
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, [&](Writer& out, const Stamp& stamp) {
    Mmap mmap;
    mmap.pid = mmap.tid = 100;
    mmap.address = kCodeAddress;
    mmap.size = kCode.size();
    mmap.file_offset = 0x1000;
    mmap.path = prog;
    mmap.prot = PROT_READ | PROT_EXEC;
    mmap.flags = MAP_PRIVATE;
    mmap.build_id = {{1, 2, 3}, 20};
    return out.mmap(mmap, stamp);
  }));
  ASSERT_TRUE(writer.finish("{}"));
  EXPECT_THAT(branches(), ElementsAreArray(kBranches));
  EXPECT_THAT(perf("buildid-list"), HasSubstr("0102030000000000000000000000000000000000"));
}

TEST_F(Perf, DecodesTwoThreadsAndAFork) {
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.fork({200, 100, 200, 100, 900}, {100, 100, 900, 0}));
  ASSERT_TRUE(write_run(writer, 200, keep_code));
  ASSERT_TRUE(writer.finish("{}"));
  EXPECT_THAT(branches(100), ElementsAreArray(kBranches));
  EXPECT_THAT(branches(200), ElementsAreArray(kBranches));
}

// Without TSC packets perf decodes each thread in one go when it ends.
TEST_F(Perf, DecodesWithoutTimingPackets) {
  auto options = sample_options();
  options.pt.config = 0x3002001;  // pt, branch, psb_period 3
  std::vector<std::uint8_t> packets(kPackets.begin(), kPackets.begin() + 16);
  packets.insert(packets.end(), kPackets.begin() + 24, kPackets.end());
  const std::span<const std::uint8_t> span(packets);
  const Stamp end{100, 100, 4000, 0};
  Writer writer = create(options);
  ASSERT_TRUE(writer.comm({100, 100, "prog", true}, {100, 100, 1000, 0}));
  ASSERT_TRUE(keep_code(writer, {100, 100, 1000, 0}));
  ASSERT_TRUE(writer.aux({0, packets.size(), 0}, end));
  ASSERT_TRUE(writer.auxtrace(Auxtrace{.tid = 100}, {&span, 1}));
  ASSERT_TRUE(writer.exit({100, 1, 100, 1, 4000}, end));
  ASSERT_TRUE(writer.finish("{}"));
  EXPECT_THAT(branches(), ElementsAreArray(kBranches));
}

// Pieces of whole packets but odd sizes, and between them other threads' data.
TEST_F(Perf, DecodesAStreamInPieces) {
  const Stamp begin{100, 100, 1000, 0};
  Writer writer = create();
  ASSERT_TRUE(writer.comm({100, 100, "prog", true}, begin));
  ASSERT_TRUE(keep_code(writer, begin));
  const std::span<const std::uint8_t> first = std::span(kPackets).first(28);
  const std::span<const std::uint8_t> second = std::span(kPackets).subspan(28);
  ASSERT_TRUE(writer.auxtrace(Auxtrace{.idx = 0, .tid = 100}, {&first, 1}));
  ASSERT_TRUE(write_run(writer, 200, keep_code));
  ASSERT_TRUE(writer.auxtrace(Auxtrace{.offset = 28, .idx = 0, .tid = 100}, {&second, 1}));
  ASSERT_TRUE(writer.exit({100, 1, 100, 1, 4000}, {100, 100, 5000, 0}));
  ASSERT_TRUE(writer.finish("{}"));
  EXPECT_THAT(branches(100), ElementsAreArray(kBranches));
  EXPECT_THAT(branches(200), ElementsAreArray(kBranches));
}

// The same address holds other code later: perf must see each at its time.
TEST_F(Perf, DecodesCodeThatChanges) {
  // 401000 jmp 401002; 401002 syscall
  const std::vector<std::uint8_t> other = {0xeb, 0x00, 0x0f, 0x05};
  std::vector<std::uint8_t> again(kPackets.begin(), kPackets.begin() + 35);
  again[16 + 1] = 0x70;  // TSC 6000
  again[16 + 2] = 0x17;
  again.push_back(0x01);  // TIP.PGD
  const std::span<const std::uint8_t> span(again);
  Writer writer = create();
  ASSERT_TRUE(writer.comm({100, 100, "prog", true}, {100, 100, 1000, 0}));
  ASSERT_TRUE(keep_code(writer, {100, 100, 1000, 0}));
  const std::span<const std::uint8_t> first(kPackets);
  ASSERT_TRUE(writer.auxtrace(Auxtrace{.reference = 4000, .tid = 100}, {&first, 1}));
  ASSERT_TRUE(writer.code(kCodeAddress, other, {100, 100, 5000, 0}));
  ASSERT_TRUE(writer.auxtrace(Auxtrace{.offset = 40, .reference = 7000, .tid = 100}, {&span, 1}));
  ASSERT_TRUE(writer.exit({100, 1, 100, 1, 8000}, {100, 100, 8000, 0}));
  ASSERT_TRUE(writer.finish("{}"));
  auto expected = kBranches;
  expected.insert(expected.end(), {"0 => 401000", "401000 => 401002", "401002 => 0"});
  EXPECT_THAT(branches(), ElementsAreArray(expected));
}

TEST_F(Perf, OpensWhatADeadRecorderLeft) {
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.flush());
  const std::string text = perf("script", "--itrace=be");
  EXPECT_THAT(text, HasSubstr("401007"));
}

TEST_F(Perf, OpensFiltersAndClocks) {
  auto options = sample_options();
  options.pt.filter = "filter 0x401000/0x20";
  options.pt.tsc_ctc_n = 2;
  options.pt.tsc_ctc_d = 1;
  options.clock = ClockData{1, 1'700'000'000'000'000'000, 1000};
  Writer writer = create(options);
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.finish("{}"));
  EXPECT_THAT(branches(), ElementsAreArray(kBranches));
  EXPECT_THAT(perf("script", "-D"), HasSubstr("filter 0x401000/0x20"));
}

TEST_F(Perf, DumpsEveryRecord) {
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.finished_init());
  ASSERT_TRUE(writer.switch_({.out = true}, {100, 100, 4600, 0}));
  ASSERT_TRUE(writer.finish("{}"));
  const std::string text = perf("script", "-D");
  for (const char* record :
       {"AUXTRACE_INFO", "TIME_CONV", "COMM exec: prog:100/100", "TEXT_POKE 401000",
        "MMAP2 100/100", "ITRACE_START", "RECORD_AUX ", "AUXTRACE size: 0x28", "EXIT(100:100)",
        "FINISHED_ROUND", "FINISHED_INIT", "SWITCH OUT", "TIP.PGE 0x401000"}) {
    EXPECT_THAT(text, HasSubstr(record));
  }
}

TEST_F(Perf, WarnsOfLostRecords) {
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.lost(3, {100, 100, 4500, 0}));
  ASSERT_TRUE(writer.finish("{}"));
  const auto out = run("HOME=. /usr/bin/perf report --stdio -i " + path());
  EXPECT_EQ(out.status, 0);
  EXPECT_THAT(out.text, HasSubstr("lost 1 chunks"));
}

TEST_F(Perf, ReportsTheHeader) {
  Writer writer = create();
  ASSERT_TRUE(write_run(writer, 100, keep_code));
  ASSERT_TRUE(writer.finish("{\"a summary\": 1}"));
  const std::string text = perf("report", "--stdio --header");
  for (const char* fact : {"# perf version : hodoscope test", "# cmdline : hodo record -- prog",
                           "# arch : x86_64", "name = intel_pt//u", "name = dummy:u",
                           "intel_pt = 8", "contains AUX area data", "time of first sample"}) {
    EXPECT_THAT(text, HasSubstr(fact));
  }
}

}  // namespace
}  // namespace hodo::perfdata
