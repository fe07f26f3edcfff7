// Sideband turned into lives and mappings.
#include "hodo/perfdata/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "file_builder.h"

namespace hodo::perfdata {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Bytes mmap_record(std::int32_t pid, std::uint64_t address, std::uint64_t size, std::uint64_t offset,
                  std::string_view path, std::uint64_t time,
                  std::uint32_t prot = PROT_READ | PROT_EXEC, std::uint32_t flags = MAP_PRIVATE) {
  return record(RecordType::mmap2, PERF_RECORD_MISC_USER,
                join(pack(pid, pid, address, size, offset, 8u, 1u, std::uint64_t{5},
                          std::uint64_t{0}, prot, flags),
                     text(path), stamp(pid, pid, time)));
}

Bytes task_record(RecordType type, std::int32_t pid, std::int32_t ppid, std::int32_t tid,
                  std::int32_t ptid, std::uint64_t time, std::uint16_t misc = 0) {
  return record(type, misc, join(pack(pid, ppid, tid, ptid, time), stamp(pid, tid, time)));
}

struct Loaded {
  Bytes bytes;
  Reader reader;
  Model session;
  explicit Loaded(const Bytes& records, const std::vector<TestAttr>& attrs = {TestAttr{}})
      : bytes(file_of(records, attrs)),
        reader(*Reader::open_memory(bytes)),
        session(*Model::load(reader)) {}

  // "address+size:file_offset@[from,until) path", one a line.
  std::string mappings(const Process* process) const {
    std::string out;
    if (process == nullptr) return "no such process";
    for (const auto& m : process->mappings) {
      const auto number = [](std::uint64_t n) {
        return n == kForever ? std::string("ever") : std::to_string(n);
      };
      out += std::to_string(m.address) + "+" + std::to_string(m.size) + ":" +
             std::to_string(m.file_offset) + "@[" + number(m.from) + "," + number(m.until) + ") " +
             (m.kept != kNone ? "kept" : session.files().at(m.file).path) + "\n";
    }
    return out;
  }
};

TEST(Model, NamesThreadsOverTime) {
  const Loaded in(join(comm_record(1, 1, "sh", 10), comm_record(1, 1, "ls", 20, true),
                       task_record(RecordType::fork, 1, 1, 2, 1, 30),
                       comm_record(1, 2, "worker", 40)));
  ASSERT_EQ(in.session.threads().size(), 2u);
  const Thread* leader = in.session.thread_at(1, 0);
  ASSERT_NE(leader, nullptr);
  ASSERT_EQ(leader->names.size(), 2u);
  EXPECT_EQ(leader->names[0].comm, "sh");
  EXPECT_TRUE(leader->names[1].exec);
  const Thread* second = in.session.thread_at(2, 35);
  EXPECT_EQ(second->start, 30u);
  EXPECT_EQ(second->names[0].comm, "ls");  // as its creator
  EXPECT_EQ(second->comm(), "worker");
  ASSERT_EQ(in.session.processes().size(), 1u);
  EXPECT_EQ(in.session.processes()[0].comm, "ls");
  EXPECT_EQ(in.session.processes()[0].threads.size(), 2u);
}

TEST(Model, ANewMappingCutsWhatItCovers) {
  const Loaded in(
      join(mmap_record(1, 1000, 100, 0, "a", 10), mmap_record(1, 1040, 20, 7, "b", 20)));
  EXPECT_EQ(in.mappings(in.session.process_at(1, 0)),
            "1000+100:0@[10,20) a\n"
            "1000+40:0@[20,ever) a\n"
            "1060+40:60@[20,ever) a\n"
            "1040+20:7@[20,ever) b\n");
}

TEST(Model, ANewMappingReplacesSeveral) {
  const Loaded in(join(mmap_record(1, 1000, 100, 0, "a", 10), mmap_record(1, 1100, 100, 0, "b", 10),
                       mmap_record(1, 1050, 100, 0, "c", 20)));
  EXPECT_EQ(in.mappings(in.session.process_at(1, 0)),
            "1000+100:0@[10,20) a\n"
            "1100+100:0@[10,20) b\n"
            "1000+50:0@[20,ever) a\n"
            "1150+50:50@[20,ever) b\n"
            "1050+100:0@[20,ever) c\n");
}

TEST(Model, DataMappingsAreMarked) {
  const Loaded in(join(mmap_record(1, 1000, 100, 0, "a", 10),
                       mmap_record(1, 1000, 100, 0, "b", 20, PROT_READ)));
  const auto& mappings = in.session.process_at(1, 0)->mappings;
  ASSERT_EQ(mappings.size(), 2u);
  EXPECT_TRUE(mappings[0].executable);
  EXPECT_EQ(mappings[0].until, 20u);
  EXPECT_FALSE(mappings[1].executable);
}

TEST(Model, ForkCopiesMappingsAndExecEndsThem) {
  const Loaded in(join(comm_record(1, 1, "sh", 5), mmap_record(1, 1000, 100, 0, "sh", 10),
                       task_record(RecordType::fork, 2, 1, 2, 1, 20),
                       comm_record(2, 2, "ls", 30, true), mmap_record(2, 5000, 100, 0, "ls", 31),
                       mmap_record(1, 2000, 100, 0, "late", 40)));
  const Process* child = in.session.process_at(2, 25);
  EXPECT_EQ(in.mappings(child), "1000+100:0@[20,30) sh\n5000+100:0@[31,ever) ls\n");
  EXPECT_EQ(child->ppid, 1);
  EXPECT_EQ(child->start, 20u);
  EXPECT_EQ(child->comm, "ls");
  EXPECT_EQ(in.mappings(in.session.process_at(1, 25)),
            "1000+100:0@[10,ever) sh\n2000+100:0@[40,ever) late\n");
}

TEST(Model, SaysWhoseSystemCallMadeMemoryExecutableAlsoToTheChild) {
  constexpr std::uint32_t kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  const Loaded in(
      join(mmap_record(1, 1000, 100, 0, "//anon", 10, kAll),
           mmap_record(1, 2000, 100, 0, "//anon", 11, kAll, MAP_PRIVATE | MAP_ANONYMOUS),
           task_record(RecordType::fork, 2, 1, 2, 1, 20)));
  for (const std::int32_t pid : {1, 2}) {
    const auto& mappings = in.session.process_at(pid, 25)->mappings;
    ASSERT_EQ(mappings.size(), 2u);
    EXPECT_EQ(mappings[0].granted_to, -1);
    EXPECT_EQ(mappings[1].granted_to, 1);
    EXPECT_EQ(mappings[1].granted_at, 11u);
  }
}

TEST(Model, ForksThatPerfMadeUpCopyNothing) {
  const Loaded in(join(mmap_record(1, 1000, 100, 0, "sh", 0),
                       task_record(RecordType::fork, 2, 1, 2, 1, 0, PERF_RECORD_MISC_FORK_EXEC),
                       mmap_record(2, 5000, 100, 0, "ls", 0)));
  EXPECT_EQ(in.mappings(in.session.process_at(2, 0)), "5000+100:0@[0,ever) ls\n");
}

TEST(Model, RecordsAreSortedByTime) {
  // Two cpus' rings: the child's mapping lies in the file before the fork that made the child.
  const Loaded in(join(mmap_record(2, 5000, 100, 0, "ls", 31), comm_record(2, 2, "ls", 30, true),
                       mmap_record(1, 1000, 100, 0, "sh", 10),
                       task_record(RecordType::fork, 2, 1, 2, 1, 20)));
  EXPECT_EQ(in.mappings(in.session.process_at(2, 25)),
            "1000+100:0@[20,30) sh\n5000+100:0@[31,ever) ls\n");
}

TEST(Model, ExitEndsThreadsAndWithTheLastTheProcess) {
  const Loaded in(join(comm_record(1, 1, "x", 5), task_record(RecordType::fork, 1, 1, 2, 1, 10),
                       task_record(RecordType::exit, 1, 1, 1, 1, 20),
                       task_record(RecordType::exit, 1, 1, 2, 1, 30)));
  EXPECT_EQ(in.session.thread_at(1, 0)->end, 20u);
  EXPECT_EQ(in.session.process_at(1, 0)->end, 30u);
}

TEST(Model, APidThatIsUsedAgainIsAnotherProcess) {
  const Loaded in(
      join(comm_record(9, 9, "sh", 1), task_record(RecordType::fork, 2, 9, 2, 9, 10),
           comm_record(2, 2, "first", 11), task_record(RecordType::exit, 2, 9, 2, 9, 20),
           task_record(RecordType::fork, 2, 9, 2, 9, 30), comm_record(2, 2, "second", 31)));
  EXPECT_EQ(in.session.process_at(2, 15)->comm, "first");
  EXPECT_EQ(in.session.process_at(2, 35)->comm, "second");
  EXPECT_EQ(in.session.process_at(2, 25)->comm, "first");
  EXPECT_EQ(in.session.process_at(2, 5)->comm, "first");
  EXPECT_EQ(in.session.thread_at(2, 35)->comm(), "second");
  EXPECT_EQ(in.session.process_at(3, 5), nullptr);
}

Bytes poke_record(std::int32_t pid, std::uint64_t address, const Bytes& code, std::uint64_t time) {
  Bytes padded =
      join(pack(address, std::uint16_t{0}, static_cast<std::uint16_t>(code.size())), code);
  padded.resize((padded.size() + 7) / 8 * 8);
  return record(RecordType::text_poke, PERF_RECORD_MISC_USER, join(padded, stamp(pid, pid, time)));
}

TEST(Model, KeptCodeReplacesTheMappingThatShowsItToPerf) {
  const Bytes poke = poke_record(1, 1000, {1, 2, 3, 4}, 10);
  const Loaded in(join(poke, mmap_record(1, 1000, 4, kDataAt + 20, "/moved/since.data", 10),
                       poke_record(1, 1002, {9}, 20)));
  ASSERT_EQ(in.session.kept().size(), 2u);
  EXPECT_EQ(in.session.kept()[0].file_offset, kDataAt + 20);
  EXPECT_EQ(in.session.kept()[0].bytes[3], 4);
  const auto& mappings = in.session.process_at(1, 0)->mappings;
  ASSERT_EQ(mappings.size(), 4u);
  EXPECT_EQ(mappings[0].kept, 0u);
  EXPECT_EQ(mappings[0].until, 20u);
  EXPECT_EQ(mappings[2].address, 1003u);
  EXPECT_EQ(mappings[2].kept, 0u);
  EXPECT_EQ(mappings[2].kept_offset, 3u);
  EXPECT_EQ(mappings[3].kept, 1u);
}

TEST(Model, KeptCodeHasItsPlaceInTheFileThatItLiesOver) {
  const Loaded in(join(mmap_record(1, 1000, 100, 4000, "/bin/x", 10),
                       poke_record(1, 1010, {1, 2}, 20), poke_record(1, 1099, {3, 4}, 20)));
  const auto& mappings = in.session.process_at(1, 0)->mappings;
  const auto kept = [&](std::uint32_t i) {
    return *std::ranges::find(mappings, i, &Mapping::kept);
  };
  EXPECT_EQ(kept(0).file, mappings[0].file);
  EXPECT_EQ(kept(0).file_offset, 4010u);
  EXPECT_EQ(kept(1).file, kNone);  // one byte lies behind the mapping's end
}

TEST(Model, KeptCodeHasItsPlaceOverWhatWasKeptOfTheFileBefore) {
  const Loaded in(join(mmap_record(1, 1000, 100, 4000, "/bin/x", 10),
                       mmap_record(1, 1100, 100, 4000, "/bin/x", 10),
                       poke_record(1, 1010, {1, 2}, 20), poke_record(1, 1008, {1, 2, 3, 4, 5}, 21),
                       poke_record(1, 1098, {1, 2, 3, 4, 5}, 22)));
  const auto& mappings = in.session.process_at(1, 0)->mappings;
  const auto kept = [&](std::uint32_t i) {
    return *std::ranges::find(mappings, i, &Mapping::kept);
  };
  EXPECT_EQ(kept(1).file, mappings[0].file);
  EXPECT_EQ(kept(1).file_offset, 4008u);
  EXPECT_EQ(kept(2).file, kNone);  // half of it at another place in the file
}

TEST(Model, AFileMappedAtTheOffsetOfKeptCodeIsStillAFile) {
  const Bytes poke = poke_record(1, 1000, {1, 2, 3, 4}, 10);
  const Loaded in(join(poke, mmap_record(1, 8000, 4, kDataAt + 20, "/lib/x", 10)));
  EXPECT_EQ(in.mappings(in.session.process_at(1, 0)),
            "1000+4:" + std::to_string(kDataAt + 20) +
                "@[10,ever) kept\n8000+4:" + std::to_string(kDataAt + 20) + "@[10,ever) /lib/x\n");
}

TEST(Model, KernelMappingsAreApart) {
  const Loaded in(record(RecordType::mmap, PERF_RECORD_MISC_KERNEL,
                         join(pack(-1, 0, std::uint64_t{0xffffffff81000000}, ~std::uint64_t{0},
                                   std::uint64_t{0xffffffff81000000}),
                              text("[kernel.kallsyms]_text"), stamp(-1, 0, 0))));
  ASSERT_EQ(in.session.kernel_mappings().size(), 1u);
  const auto& kernel = in.session.kernel_mappings()[0];
  EXPECT_EQ(kernel.address + kernel.size, 0u);  // up to the end of the address space
  EXPECT_THAT(in.session.processes(), IsEmpty());
}

Bytes switch_record(bool out, std::int32_t pid, std::int32_t next, std::uint64_t time,
                    std::uint32_t cpu) {
  return record(RecordType::switch_cpu_wide, out ? PERF_RECORD_MISC_SWITCH_OUT : 0,
                join(pack(next, next), stamp(pid, pid, time, cpu)));
}

TEST(Model, TellsWhoRanWhere) {
  const Loaded in(
      join(switch_record(true, 1, 2, 20, 0), switch_record(false, 2, 1, 21, 0),
           switch_record(true, 2, 0, 40, 0), switch_record(false, 5, 0, 30, 1),
           record(RecordType::switch_, 0, stamp(7, 8, 10, 2)),
           record(RecordType::switch_, PERF_RECORD_MISC_SWITCH_OUT, stamp(7, 8, 15, 2))));
  EXPECT_EQ(in.session.running(0, 19).pid, -1);
  EXPECT_EQ(in.session.running(0, 20).pid, 2);
  EXPECT_EQ(in.session.running(0, 39).pid, 2);
  EXPECT_EQ(in.session.running(0, 100).pid, 0);
  EXPECT_EQ(in.session.running(1, 30).pid, 5);
  EXPECT_EQ(in.session.running(2, 12).tid, 8);
  EXPECT_EQ(in.session.running(2, 16).tid, -1);
  EXPECT_EQ(in.session.running(3, 16).tid, -1);
  EXPECT_EQ(in.session.on_cpu().at(0).size(), 2u);  // out and in of one switch are one entry
}

TEST(Model, LostRecordsAreLocated) {
  const Bytes first = comm_record(1, 1, "x", 5);
  const Loaded in(
      join(first, record(RecordType::lost, 0,
                         join(pack(std::uint64_t{1}, std::uint64_t{33}), stamp(1, 1, 9, 3)))));
  ASSERT_EQ(in.session.lost().size(), 1u);
  EXPECT_EQ(in.session.lost()[0].count, 33u);
  EXPECT_EQ(in.session.lost()[0].time, 9u);
  EXPECT_EQ(in.session.lost()[0].cpu, 3);
  EXPECT_EQ(in.session.lost()[0].offset, kDataAt + first.size());
}

TEST(Model, CountsRecordsAndTimes) {
  const Loaded in(join(comm_record(1, 1, "x", 50), comm_record(1, 1, "y", 5),
                       record(RecordType::finished_round, 0, {})));
  EXPECT_EQ(in.session.counts().at(RecordType::comm), 2u);
  EXPECT_EQ(in.session.counts().at(RecordType::finished_round), 1u);
  EXPECT_EQ(in.session.first_time(), 5u);
  EXPECT_EQ(in.session.last_time(), 50u);
}

TEST(Model, ReadsThePtConfiguration) {
  std::uint64_t words[17] = {8, 10,      683,        77,  1, 1u << 10, 1u << 11, 3, 0,
                             1, 1u << 9, 0xfu << 14, 250, 2, 2,        36,       12};
  const Loaded in(
      record(RecordType::auxtrace_info, 0,
             join(pack(1u, 0u, words), text("filter 0x1/2", 16), pack(std::uint64_t{0}))),
      {TestAttr{.type = 8, .config = 0x300ee01}});
  EXPECT_EQ(in.session.trace(), TraceKind::intel_pt);
  const PtConfig& pt = in.session.pt();
  EXPECT_TRUE(pt.has_tsc());
  EXPECT_TRUE(pt.has_mtc());
  EXPECT_FALSE(pt.has_cyc());
  EXPECT_FALSE(pt.return_compression());
  EXPECT_EQ(pt.mtc_period(), 3u);
  EXPECT_EQ(pt.tsc_ctc_n, 250u);
  EXPECT_EQ(pt.max_nonturbo_ratio, 36u);
  EXPECT_EQ(pt.have_sched_switch, 3u);
  EXPECT_TRUE(pt.per_cpu);
  EXPECT_EQ(pt.filter, "filter 0x1/2");
  EXPECT_EQ(pt.time.to_ns(1024 * 5 + 512), 77u + 5 * 683 + 341);
}

TEST(Model, PtWithoutItsEventIsDamage) {
  std::uint64_t words[17] = {99};
  const Loaded in(record(RecordType::auxtrace_info, 0, pack(1u, 0u, words)));
  ASSERT_EQ(in.session.damages().size(), 1u);
  EXPECT_THAT(in.session.damages()[0].what, HasSubstr("no Intel PT event"));
}

TEST(Model, FilterLongerThanTheRecordIsDamage) {
  std::uint64_t words[17] = {8};
  words[16] = ~std::uint64_t{0};
  const Loaded in(record(RecordType::auxtrace_info, 0, pack(1u, 0u, words)));
  ASSERT_EQ(in.session.damages().size(), 1u);
  EXPECT_THAT(in.session.damages()[0].what, HasSubstr("filter"));
  EXPECT_EQ(in.session.trace(), TraceKind::none);
}

TEST(Model, BtsHasTimesToo) {
  std::uint64_t words[6] = {9, 10, 683, 77, 1, 1};
  const Loaded in(record(RecordType::auxtrace_info, 0, pack(2u, 0u, words)));
  EXPECT_EQ(in.session.trace(), TraceKind::intel_bts);
  EXPECT_EQ(in.session.pt().time.mult, 683u);
  EXPECT_TRUE(in.session.pt().snapshot);
}

TEST(TimeConversion, GoesThereAndBack) {
  const TimeConversion identity;
  EXPECT_EQ(identity.to_ns(123), 123u);
  EXPECT_EQ(identity.to_tsc(123), 123u);
  const TimeConversion real{10, 683, 1000, true};
  for (const std::uint64_t tsc :
       {std::uint64_t{0}, std::uint64_t{1} << 20, std::uint64_t{1} << 50}) {
    EXPECT_NEAR(static_cast<double>(real.to_tsc(real.to_ns(tsc))), static_cast<double>(tsc), 2.0);
  }
}

// 2000 children of a process with 4000 mappings: 8 million copies from 300 KiB of file.
TEST(Model, HostileForksDoNotFillMemory) {
  Bytes records;
  const auto add = [&records](const Bytes& one) {
    records.insert(records.end(), one.begin(), one.end());
  };
  for (unsigned i = 0; i < 4000; ++i) add(mmap_record(1, 1000 + 10 * i, 10, 0, "a", 1));
  for (int i = 0; i < 2000; ++i) add(task_record(RecordType::fork, 10 + i, 1, 10 + i, 1, 2));
  const Loaded in(records);
  std::size_t total = 0;
  for (const auto& process : in.session.processes()) total += process.mappings.size();
  EXPECT_LE(total, std::size_t{1} << 22);
  ASSERT_EQ(in.session.damages().size(), 1u);
  EXPECT_THAT(in.session.damages()[0].what, HasSubstr("mappings"));
}

TEST(BranchStacks, GivesSamplesThatHoldOne) {
  const TestAttr attr{.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK};
  const Loaded in(join(record(RecordType::sample, 2,
                              pack(std::uint64_t{1}, std::uint64_t{1}, BranchEntry{1, 2, 0})),
                       record(RecordType::sample, 2, pack(std::uint64_t{2}, std::uint64_t{0}))),
                  {attr});
  EXPECT_EQ(in.session.branch_stacks(), 1u);
  BranchStacks stacks(in.reader);
  const auto first = stacks.next();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->branches[0].to, 2u);
}

}  // namespace
}  // namespace hodo::perfdata
