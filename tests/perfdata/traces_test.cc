// Files that perf record made on real processors, where a collection of them is at hand
// (HODO_SHARED or ../shared beside the repository).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "hodo/perfdata/model.h"

namespace hodo::perfdata {
namespace {

using ::testing::IsEmpty;

std::filesystem::path traces() {
  const char* shared = std::getenv("HODO_SHARED");
  const std::filesystem::path root =
      shared ? std::filesystem::path(shared)
             : std::filesystem::path(HODO_SOURCE_DIR).parent_path() / "shared";
  return root / "traces" / "perfdata";
}

class Traces : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(traces())) GTEST_SKIP() << traces() << " is not there";
  }
};

using Counts = std::map<std::string, std::uint64_t>;

// Numbers of records as `perf script -D` of perf 6.1 prints them.
struct Expected {
  const char* file;
  Counts counts;
  std::uint64_t branch_stacks;
};

const Expected kExpected[] = {
    {"perf.data.branch-4.14",
     {{"COMM", 3},
      {"EXIT", 1},
      {"FINISHED_ROUND", 1},
      {"MMAP", 21},
      {"MMAP2", 10},
      {"SAMPLE", 13},
      {"TIME_CONV", 1}},
     13},
    {"perf.data.branch_stack_spec",
     {{"BPF_EVENT", 35},
      {"COMM", 2},
      {"CPU_MAP", 1},
      {"EXIT", 1},
      {"FINISHED_ROUND", 3},
      {"KSYMBOL", 47},
      {"MMAP", 21},
      {"MMAP2", 9},
      {"SAMPLE", 8},
      {"THREAD_MAP", 1},
      {"THROTTLE", 2},
      {"TIME_CONV", 1},
      {"UNTHROTTLE", 1}},
     8},
    {"perf.data.callgraph_and_branch-3.8",
     {{"COMM", 229}, {"EXIT", 4}, {"FORK", 1}, {"MMAP", 1793}, {"SAMPLE", 1856}},
     0},
    {"perf.data.intel_pt-4.14",
     {{"AUX", 10},
      {"AUXTRACE", 2},
      {"AUXTRACE_INFO", 1},
      {"COMM", 3},
      {"EXIT", 1},
      {"FINISHED_ROUND", 4},
      {"ITRACE_START", 2},
      {"MMAP", 56},
      {"MMAP2", 10},
      {"SAMPLE", 15},
      {"SWITCH_CPU_WIDE", 152},
      {"TIME_CONV", 1}},
     0},
};

TEST_F(Traces, RecordsAreThoseThatPerfFinds) {
  for (const auto& expected : kExpected) {
    SCOPED_TRACE(expected.file);
    const auto reader = Reader::open(traces() / expected.file);
    ASSERT_TRUE(reader) << reader.error().message;
    const auto session = Model::load(*reader);
    ASSERT_TRUE(session) << session.error().message;
    EXPECT_THAT(session->damages(), IsEmpty());
    EXPECT_TRUE(session->finished());
    Counts counts;
    for (const auto& [type, count] : session->counts()) counts[std::string(name(type))] = count;
    EXPECT_EQ(counts, expected.counts);
    if (expected.branch_stacks != 0) {
      EXPECT_EQ(session->branch_stacks(), expected.branch_stacks);
    }
  }
}

TEST_F(Traces, IntelPtBuffersAndConfiguration) {
  const auto reader = Reader::open(traces() / "perf.data.intel_pt-4.14");
  ASSERT_TRUE(reader);
  const auto session = Model::load(*reader);
  ASSERT_TRUE(session);
  EXPECT_EQ(session->trace(), TraceKind::intel_pt);
  EXPECT_EQ(session->pt().config, 0x300e601u);
  EXPECT_EQ(session->pt().pmu_type, 6u);
  EXPECT_TRUE(session->pt().per_cpu);
  EXPECT_TRUE(session->pt().has_mtc());
  EXPECT_EQ(reader->attrs().at(0).name, "intel_pt//");
  EXPECT_EQ(reader->facts().cpuid, "GenuineIntel,6,78,3");
  // `perf script -D` finds 10 PSB packets in the AUX data.
  constexpr std::array<std::uint8_t, 16> psb = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
                                                2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};
  int found = 0;
  for (const auto& queue : session->queues()) {
    EXPECT_NE(queue.cpu, -1);
    for (const auto& piece : queue.pieces) {
      std::vector<std::uint8_t> bytes(piece.size);
      ASSERT_TRUE(reader->read(piece.file_offset, bytes));
      for (auto at = bytes.begin();; at += 16) {
        at = std::search(at, bytes.end(), psb.begin(), psb.end());
        if (at == bytes.end()) break;
        ++found;
      }
    }
  }
  EXPECT_EQ(found, 10);
}

TEST_F(Traces, TheTracedProcessIsFound) {
  const auto reader = Reader::open(traces() / "perf.data.intel_pt-4.14");
  ASSERT_TRUE(reader);
  const auto session = Model::load(*reader);
  ASSERT_TRUE(session);
  const auto echo =
      std::ranges::find_if(session->processes(), [](const Process& p) { return p.comm == "echo"; });
  ASSERT_NE(echo, session->processes().end());
  bool libc = false;
  for (const auto& mapping : echo->mappings) {
    libc |= session->files().at(mapping.file).path.find("libc") != std::string::npos;
  }
  EXPECT_TRUE(libc);
  bool ran = false;
  for (const auto& [cpu, timeline] : session->on_cpu()) {
    for (const auto& entry : timeline) ran |= entry.pid == echo->pid;
  }
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace hodo::perfdata
