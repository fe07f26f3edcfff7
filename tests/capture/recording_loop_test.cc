// What ends a recording, and what is said of it, whatever is recorded.
#include "run/recording_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace hodo::capture {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Is over when it was stopped, or after so many rounds.
struct Rounds final : Recorder {
  bool over() override { return stops != 0 || rounds == most; }
  Status wait() override { return waited; }
  ProgramEvents take_events() override { return events; }
  Status drain() override {
    ++rounds;
    if (each) each();
    return {};
  }
  void snapshot() override { ++snapshots; }
  bool stop() override {
    ++stops;
    return runs_on;
  }
  Status flush() override {
    ++flushes;
    return flushed;
  }

  int most = 3;
  bool runs_on = false;
  std::function<void()> each;
  Status waited, flushed;
  ProgramEvents events;
  int rounds = 0, snapshots = 0, stops = 0, flushes = 0;
};

struct RecordingLoopTest : testing::Test {
  ~RecordingLoopTest() override { std::filesystem::remove(path); }

  Status run() {
    loop.emplace(options, recorder, *writer);
    return loop->run();
  }
  std::vector<std::string> warnings() const {
    RecordResult result;
    loop->add_warnings(result);
    return result.warnings;
  }

  std::string path = testing::TempDir() + "recording-loop-" + std::to_string(::getpid());
  Result<perfdata::Writer> writer = perfdata::Writer::create(path, {});
  RecordOptions options;
  Rounds recorder;
  std::optional<RecordingLoop> loop;
};

TEST_F(RecordingLoopTest, EndsWhenTheRecorderSaysSo) {
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.rounds, 3);
  EXPECT_EQ(recorder.stops, 0);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(RecordingLoopTest, ASignalEndsItAndIsTold) {
  recorder.events.stop = true;
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.rounds, 1);
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("ended by a signal")));
}

TEST_F(RecordingLoopTest, WhatRunsOnThenIsNotRecorded) {
  recorder.events.stop = true;
  recorder.runs_on = true;
  ASSERT_TRUE(run());
  RecordResult result;
  loop->add_warnings(result);
  EXPECT_THAT(result.warnings, IsEmpty());
  EXPECT_THAT(result.unrecorded, ElementsAre(HasSubstr("signal: what ran later")));
}

TEST_F(RecordingLoopTest, ASignalIsHowWhatRanBeforeIsLetGo) {
  options.pids = {1};
  recorder.events.stop = true;
  recorder.runs_on = true;
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.stops, 1);
  EXPECT_THAT(warnings(), IsEmpty());
  EXPECT_FALSE(loop->cut_short());
}

TEST_F(RecordingLoopTest, EndsAtItsSize) {
  options.max_size = writer->bytes_written() + 1;
  recorder.each = [&] {
    if (recorder.rounds != 2) return;
    ASSERT_TRUE(writer->comm({.pid = 1, .tid = 1, .comm = "x"}, {}));
  };
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.rounds, 2);
  EXPECT_TRUE(loop->full());
  EXPECT_THAT(warnings(), ElementsAre(HasSubstr("--max-size")));
}

TEST_F(RecordingLoopTest, EndsWhenItsTimeIsOver) {
  options.duration = 1;
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.rounds, 1);
  EXPECT_EQ(recorder.stops, 1);
  EXPECT_THAT(warnings(), IsEmpty());
}

TEST_F(RecordingLoopTest, TakesASnapshotWhenAsked) {
  recorder.events.snapshot = true;
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.snapshots, 3);
}

TEST_F(RecordingLoopTest, WritesOutFirstOfAll) {
  recorder.most = 1;
  ASSERT_TRUE(run());
  EXPECT_EQ(recorder.flushes, 1);
}

TEST_F(RecordingLoopTest, AnErrorEndsIt) {
  recorder.waited = fail(ErrorCode::io, "no more");
  EXPECT_EQ(run().error().message, "no more");
  EXPECT_EQ(recorder.rounds, 0);
}

TEST_F(RecordingLoopTest, AnErrorOfWritingOutEndsIt) {
  recorder.flushed = fail(ErrorCode::io, "disk full");
  EXPECT_EQ(run().error().message, "disk full");
  EXPECT_EQ(recorder.rounds, 1);
}

}  // namespace
}  // namespace hodo::capture
