#include "hodo/guest/census.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_guest.h"

namespace hodo::guest {
namespace {

using test::FakeMemory;
using test::FakeSpace;
using testing::ElementsAre;

// Two processes with address spaces of their own, `shown` in the task list and `other` not:
//   task list:  swapper -> shown -> back          pgd_list: shown's table -> other's -> back
class CensusTest : public testing::Test {
 protected:
  struct Fake {
    std::uint64_t task, signal, mm, pgd, table;
  };
  static constexpr std::uint64_t kSwapper = 0xffff'8880'0000'1000;
  static constexpr std::uint64_t kPgdList = 0xffff'8880'0000'2000;
  static constexpr std::uint64_t kVmemmapBase = 0xffff'8880'0000'2100;
  static constexpr std::uint64_t kPages = 0xffff'ea00'0000'0000;
  static constexpr Fake kShown = {0xffff'8880'0001'0000, 0xffff'8880'0001'1000,
                                  0xffff'8880'0001'2000, 0xffff'8880'0001'3000, 0x70'0000};
  static constexpr Fake kOther = {0xffff'8880'0002'0000, 0xffff'8880'0002'1000,
                                  0xffff'8880'0002'2000, 0xffff'8880'0002'3000, 0x80'0000};

  CensusTest() {
    running_.kernel = test::fake_kernel();
    Layout& l = running_.kernel.layout;
    l.task.state = 0x60;
    l.mm.owner = 0x28, l.mm.has_owner = true;
    l.page = {.size = 64, .list = 8, .mm = 0x28, .known = true};
    running_.kernel.symbols = {{kPgdList, 'D', "pgd_list"}, {kVmemmapBase, 'D', "vmemmap_base"}};
    space_.put(kVmemmapBase, kPages);
    space_.put(kSwapper + l.task.tasks, kShown.task + l.task.tasks);
    space_.put(kShown.task + l.task.tasks, kSwapper + l.task.tasks);
    task(kSwapper, kShown.signal, 0, "swapper/0", 0);
    process(kShown, 7, "shown");
    process(kOther, 8, "other");
    space_.put(kPgdList, page(kShown) + l.page.list);
    space_.put(page(kShown) + l.page.list, page(kOther) + l.page.list);
    space_.put(page(kOther) + l.page.list, kPgdList);
    running_.paging = space_.paging();
  }

  static std::uint64_t page(const Fake& fake) { return kPages + (fake.table >> 12) * 64; }

  void task(std::uint64_t at, std::uint64_t signal, std::int32_t pid, std::string_view comm,
            std::uint64_t mm) {
    const auto& l = running_.kernel.layout.task;
    space_.put(at + l.pid, pid);
    space_.put(at + l.tgid, pid);
    space_.put(at + l.mm, mm);
    space_.put(at + l.signal, signal);
    space_.put(at + l.real_parent, kSwapper);
    space_.put(at + l.group_leader, at);
    space_.put(at + l.state, std::uint32_t{1});
    space_.text(at + l.comm, comm);
  }

  void process(const Fake& fake, std::int32_t pid, std::string_view comm) {
    const Layout& l = running_.kernel.layout;
    task(fake.task, fake.signal, pid, comm, fake.mm);
    space_.put(fake.signal + l.signal.thread_head, fake.task + l.task.thread_node);
    space_.put(fake.task + l.task.thread_node, fake.signal + l.signal.thread_head);
    space_.put(fake.mm + l.mm.pgd, fake.pgd);
    space_.put(fake.mm + l.mm.owner, fake.task);
    space_.put(fake.mm + l.mm.exe_file, std::uint64_t{0});
    space_.map(fake.pgd, fake.table);
    space_.put(page(fake) + l.page.mm, fake.mm);
  }

  Census census(std::vector<std::uint64_t> seen = {}) {
    auto found = take_census(memory_, running_, seen);
    EXPECT_TRUE(found) << found.error().message;
    return *found;
  }

  RunningKernel running_;
  FakeMemory memory_;
  FakeSpace space_{memory_};
};

TEST_F(CensusTest, MarksWhoIsNotInTheTaskList) {
  const Census found = census();
  EXPECT_TRUE(found.cross_checked);
  ASSERT_EQ(found.residents.size(), 3);
  EXPECT_EQ(found.residents[1].process.leader.comm, "shown");
  EXPECT_EQ(found.residents[1].cr3, 0x70'0000);
  EXPECT_FALSE(found.residents[1].hidden);
  EXPECT_EQ(found.residents[2].process.leader.comm, "other");
  EXPECT_EQ(found.residents[2].process.leader.pid, 8);
  EXPECT_EQ(found.residents[2].cr3, 0x80'0000);
  EXPECT_TRUE(found.residents[2].hidden);
}

// kthreadd, which is listed, has two children: shown, and a thread that is in no task list and has
// no address space.
TEST_F(CensusTest, MarksKernelThreadsThatOnlyTheirParentKnows) {
  const auto& l = running_.kernel.layout.task;
  constexpr std::uint64_t kThread = 0xffff'8880'0003'0000, kSignal = 0xffff'8880'0003'1000;
  task(kThread, kSignal, 9, "kworker", 0);
  const std::uint64_t head = kSwapper + l.children;
  space_.put(head, kShown.task + l.sibling);
  space_.put(kShown.task + l.sibling, kThread + l.sibling);
  space_.put(kThread + l.sibling, head);
  Census found = census();
  ASSERT_EQ(found.residents.size(), 4);
  EXPECT_EQ(found.residents[3].process.leader.comm, "kworker");
  EXPECT_EQ(found.residents[3].cr3, 0);
  EXPECT_TRUE(found.residents[3].hidden);
  for (const std::uint32_t state : {0x800u, 0x80u}) {  // being made, and gone
    space_.put(kThread + l.state, state);
    EXPECT_EQ(census().residents.size(), 3);
  }
}

TEST_F(CensusTest, DoesNotFollowChildrenWithoutEnd) {
  const auto& l = running_.kernel.layout.task;
  space_.put(kSwapper + l.children, kShown.task + l.sibling);
  space_.put(kShown.task + l.sibling, kShown.task + l.sibling);
  EXPECT_EQ(census().residents.size(), 3);
}

TEST_F(CensusTest, FindsByItsCr3WhoIsInNoListAtAll) {
  space_.put(page(kShown) + running_.kernel.layout.page.list, kPgdList);
  EXPECT_EQ(census().residents.size(), 2);
  const Census found = census({kOther.table});
  ASSERT_EQ(found.residents.size(), 3);
  EXPECT_TRUE(found.residents[2].hidden);
}

TEST_F(CensusTest, TakesBothHalvesForOneOnlyWithIsolation) {
  EXPECT_THAT(census({kShown.table + 0x1000}).others, ElementsAre(kShown.table + 0x1000));
  running_.isolated = true;
  EXPECT_THAT(census({kShown.table + 0x1000}).others, ElementsAre());
}

TEST_F(CensusTest, DoesNotTakeAProcessInTheMakingForHidden) {
  space_.put(kOther.task + running_.kernel.layout.task.state, std::uint32_t{0x800});
  EXPECT_EQ(census().residents.size(), 2);
}

TEST_F(CensusTest, DoesNotTakeWhatAnEndedProcessLeftForHidden) {
  space_.put(kOther.task + running_.kernel.layout.task.mm, std::uint64_t{0});
  const Census found = census({kOther.table});
  EXPECT_EQ(found.residents.size(), 2);
  EXPECT_THAT(found.others, ElementsAre(kOther.table));
}

TEST_F(CensusTest, SaysWhereItCannotBeTaken) {
  running_.kernel.layout.mm.has_owner = false;
  const Census found = census();
  EXPECT_FALSE(found.cross_checked);
  EXPECT_EQ(found.residents.size(), 2);
}

TEST_F(CensusTest, OfABrokenTaskListIsAnError) {
  space_.put<std::uint64_t>(kShown.task + running_.kernel.layout.task.tasks, 0x1234);
  EXPECT_FALSE(take_census(memory_, running_, {}));
}

TEST_F(CensusTest, OfAPageTableListWithoutEndEnds) {
  const Layout& l = running_.kernel.layout;
  space_.put(page(kShown) + l.page.list, page(kShown) + l.page.list);
  EXPECT_EQ(census().residents.size(), 2);
}

}  // namespace
}  // namespace hodo::guest
