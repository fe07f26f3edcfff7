// Processes that run already.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <thread>

#include "perf_event_fixture.h"

namespace hodo::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

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
  play_small_recording(kernel, [] {});
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
  play_small_recording(kernel, [&] { process.reset(); });
  EXPECT_TRUE(record().complete);
}

}  // namespace
}  // namespace hodo::capture
