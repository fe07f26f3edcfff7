#include "hodo/guest/tasks.h"

#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;

// Two processes, the second with two threads:
//   swapper (init_task) -> init -> back, and init's thread list: leader, worker.
class Tasks : public testing::Test {
 protected:
  static constexpr std::uint64_t kSwapper = 0xffff'8880'0000'1000;
  static constexpr std::uint64_t kInit = 0xffff'8880'0000'2000;
  static constexpr std::uint64_t kWorker = 0xffff'8880'0000'3000;
  static constexpr std::uint64_t kSignal = 0xffff'8880'0000'4000;
  static constexpr std::uint64_t kMm = 0xffff'8880'0000'5000;
  static constexpr std::uint64_t kPgd = 0xffff'8880'0000'6000;

  Tasks() {
    task(kSwapper, 0, 0, "swapper/0", 0);
    task(kInit, 1, 1, "init", kMm);
    task(kWorker, 7, 1, "worker", kMm);
    space_.put(kSwapper + kernel_.layout.task.tasks, kInit + kernel_.layout.task.tasks);
    space_.put(kInit + kernel_.layout.task.tasks, kSwapper + kernel_.layout.task.tasks);
    const std::uint32_t node = kernel_.layout.task.thread_node;
    space_.put(kSignal + kernel_.layout.signal.thread_head, kInit + node);
    space_.put(kInit + node, kWorker + node);
    space_.put(kWorker + node, kSignal + kernel_.layout.signal.thread_head);
    space_.put(kMm + kernel_.layout.mm.pgd, kPgd);
    space_.map(kPgd, 0x77000);
  }

  void task(std::uint64_t address, std::int32_t pid, std::int32_t tgid, std::string_view comm,
            std::uint64_t mm) {
    const auto& l = kernel_.layout.task;
    space_.put(address + l.pid, pid);
    space_.put(address + l.tgid, tgid);
    space_.put(address + l.mm, mm);
    space_.put(address + l.signal, kSignal);
    space_.put(address + l.real_parent, kSwapper);
    space_.text(address + l.comm, comm);
  }

  Kernel kernel_ = test::fake_kernel();
  FakeMemory memory_;
  FakeSpace space_{memory_};
};

TEST_F(Tasks, AreListedWithTheirThreads) {
  const auto processes = read_processes(space_.view(), kernel_);
  ASSERT_TRUE(processes);
  ASSERT_EQ(processes->size(), 2);
  EXPECT_EQ((*processes)[0].leader.comm, "swapper/0");
  EXPECT_EQ((*processes)[0].leader.cr3, 0);
  const Process& init = (*processes)[1];
  EXPECT_EQ(init.leader.pid, 1);
  EXPECT_EQ(init.leader.cr3, 0x77000);
  ASSERT_EQ(init.threads.size(), 2);
  EXPECT_EQ(init.threads[1].pid, 7);
  EXPECT_EQ(init.threads[1].tgid, 1);
  EXPECT_EQ(init.threads[1].comm, "worker");
}

TEST_F(Tasks, OfABrokenListAreNone) {
  space_.put<std::uint64_t>(kInit + kernel_.layout.task.tasks, 0x1234);
  EXPECT_FALSE(read_processes(space_.view(), kernel_));
}

TEST_F(Tasks, OfAListWithoutEndAreLimited) {
  space_.put(kInit + kernel_.layout.task.tasks, kInit + kernel_.layout.task.tasks);
  space_.put(kSignal + kernel_.layout.signal.thread_head, std::uint64_t{0});
  const auto processes = read_processes(space_.view(), kernel_);
  ASSERT_TRUE(processes);
  EXPECT_EQ(processes->size(), 65'536);
}

TEST_F(Tasks, WithNegativeNumbersAreNone) {
  space_.put<std::int32_t>(kInit + kernel_.layout.task.pid, -5);
  EXPECT_FALSE(read_task(space_.view(), kernel_, kInit));
}

}  // namespace
}  // namespace hodo::guest
