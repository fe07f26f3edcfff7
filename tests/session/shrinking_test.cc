// Inputs of every kind that somebody shortens between being opened and being decoded.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "../cli/recording_fixture.h"
#include "hodo/perfdata/records.h"
#include "hodo/session/session.h"

namespace hodo::session {
namespace {

struct Nothing final : BranchSink, PacketSink {
  bool branches(const Context&, std::span<const Branch>) override { return true; }
  void queue(std::uint32_t, const Queue&) override {}
  bool packet(const PacketAt&) override { return true; }
  void gap(std::uint64_t) override {}
};

class ShrinkingInput : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "hodo-shrinking-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    options_.path = folder_ / "input";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::vector<std::uint8_t>& bytes) const {
    std::ofstream(options_.path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::unique_ptr<Session> open() const {
    auto opened = Session::open(options_);
    EXPECT_TRUE(opened.has_value()) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  // Half of it is left.
  void shrink() const {
    std::filesystem::resize_file(options_.path, std::filesystem::file_size(options_.path) / 2);
  }
  void expect_error(const Result<Outcome>& outcome) const {
    ASSERT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().code, ErrorCode::truncated);
    const auto is = std::filesystem::file_size(options_.path);
    EXPECT_TRUE(outcome.error().message.starts_with("the file became shorter while it was read"))
        << outcome.error().message;
    EXPECT_NE(outcome.error().message.find("is " + std::to_string(is) + ")"), std::string::npos)
        << outcome.error().message;
  }

  std::filesystem::path folder_;
  Options options_;
  Nothing nothing_;
};

std::vector<std::uint8_t> long_trace() {
  std::vector<std::uint8_t> trace;
  while (trace.size() < (18 << 20)) {
    const auto one = cli::sample_trace().bytes();
    trace.insert(trace.end(), one.begin(), one.end());
  }
  return trace;
}

TEST_F(ShrinkingInput, RawPackets) {
  options_.raw.emplace();
  for (const auto& trace : {cli::sample_trace().bytes(), long_trace()}) {
    write(trace);
    const auto opened = open();
    shrink();
    expect_error(opened->decode({}, nothing_));
    expect_error(opened->count({}));
    expect_error(opened->packets({}, nothing_));
  }
}

TEST_F(ShrinkingInput, RawRecords) {
  options_.raw = RawInput{.kind = RawKind::bts, .record_size = 24};
  write(std::vector<std::uint8_t>(24 << 10));
  const auto opened = open();
  shrink();
  expect_error(opened->decode({}, nothing_));
}

TEST_F(ShrinkingInput, Recordings) {
  for (const auto& trace : {cli::sample_trace().bytes(), long_trace()}) {
    cli::FixtureOptions options;
    options.threads = {{42, 42, trace}};
    cli::write_recording(options_.path, options);
    const auto opened = open();
    std::filesystem::resize_file(options_.path, 400);
    expect_error(opened->decode({}, nothing_));
    expect_error(opened->count({}));
    expect_error(opened->packets({}, nothing_));
  }
}

// The records are walked again for the branch stacks: what is gone then is a loss.
TEST_F(ShrinkingInput, BranchStacks) {
  perfdata::WriterOptions how;
  how.trace = perfdata::TraceKind::branch_stacks;
  perfdata::Attr attr;
  attr.attr.type = PERF_TYPE_HARDWARE;
  attr.attr.size = sizeof(attr.attr);
  attr.attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                          PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_BRANCH_STACK;
  attr.attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER;
  attr.attr.sample_id_all = 1;
  attr.ids = {1};
  how.attrs = {attr};
  auto writer = perfdata::Writer::create(options_.path, how);
  ASSERT_TRUE(writer.has_value()) << writer.error().message;
  std::vector<std::uint8_t> sample;
  const auto put = [&sample](std::uint64_t word) {
    const auto* at = reinterpret_cast<const std::uint8_t*>(&word);
    sample.insert(sample.end(), at, at + sizeof(word));
  };
  for (int i = 0; i < 3000; ++i) {
    put(PERF_RECORD_SAMPLE | std::uint64_t{80} << 48);  // header: type, misc, size
    put(1);                                             // identifier
    put(0x401000);                                      // ip
    put(std::uint64_t{42} << 32 | 42);                  // pid, tid
    put(static_cast<std::uint64_t>(1000 + i));          // time
    put(0);                                             // cpu
    put(1);                                             // branches
    put(0x401000);                                      // from
    put(0x401010);                                      // to
    put(0);                                             // flags
  }
  cli::must(writer->raw(sample));
  cli::must(writer->finish("{}"));
  const auto opened = open();
  shrink();
  const auto outcome = opened->decode({}, nothing_);
  ASSERT_TRUE(outcome.has_value()) << outcome.error().message;
  const auto says_so = [](const LossLine& line) {
    return !line.sites.empty() && line.sites[0].reason.starts_with("the file became shorter");
  };
  EXPECT_EQ(std::ranges::count_if(outcome->losses, says_so), 1);
}

}  // namespace
}  // namespace hodo::session
