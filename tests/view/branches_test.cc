#include "hodo/view/branches.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>

#include "fixture.h"

namespace hodo::view {
namespace {

const std::vector<Branch> kBatch{
    {.from = 0, .to = 0x401000, .time = 100, .kind = BranchKind::begin},
    {.from = 0x401010, .to = 0x401020, .time = 100, .kind = BranchKind::cond},
    {.from = 0x401030, .to = 0x401032, .time = 100, .kind = BranchKind::cond, .flags = kNotTaken},
    {.from = 0x401040,
     .to = 0xffffffff81000000,
     .time = 0,
     .kind = BranchKind::call,
     .flags = kInTx | kFar | kResync},
    {.from = 0x401050, .to = 0, .time = 200, .kind = BranchKind::syscall, .flags = kTraceEnd}};

std::string list(const BranchListOptions& options, const session::Context& context,
                 const session::Names* names = nullptr, const std::vector<Branch>& batch = kBatch) {
  Caught caught;
  BranchList list(options, caught.out(), names);
  list.begin();
  EXPECT_TRUE(list.branches(context, batch));
  return caught.text();
}

TEST(BranchList, Csv) {
  EXPECT_EQ(list({.format = BranchFormat::csv}, {.pid = 7, .tid = 8, .cpu = 0}),
            "time,cpu,pid,tid,cr3,from,to,kind,flags\n"
            "100,0,7,8,,,0x401000,begin,\n"
            "100,0,7,8,,0x401010,0x401020,cond,\n"
            ",0,7,8,,0x401040,0xffffffff81000000,call,in_tx|far|resync\n"
            "200,0,7,8,,0x401050,,syscall,trace_end\n");
}

TEST(BranchList, CsvLeavesUnknownIdentityEmptyAndShowsCr3) {
  std::string text = list({.format = BranchFormat::csv}, {.cr3 = 0x1a2b000});
  EXPECT_NE(text.find("\n100,,,,0x1a2b000,0x401010,0x401020,cond,\n"), std::string::npos) << text;
}

TEST(BranchList, NotTakenBranchesOnRequest) {
  std::string text = list({.format = BranchFormat::csv, .not_taken = true}, {});
  EXPECT_NE(text.find("100,,,,,0x401030,0x401032,cond,not_taken\n"), std::string::npos) << text;
}

TEST(BranchList, TimeRangeIncludesBothEnds) {
  EXPECT_EQ(list({.format = BranchFormat::csv, .from_time = 101, .until_time = 200}, {}),
            "time,cpu,pid,tid,cr3,from,to,kind,flags\n"
            "200,,,,,0x401050,,syscall,trace_end\n");
}

TEST(BranchList, TimesAreConvertedToNanoseconds) {
  perfdata::TimeConversion conversion{.shift = 1, .mult = 1, .zero = 1000};
  std::string text =
      list({.format = BranchFormat::csv, .clock = session::Clock(conversion)}, {.pid = 1});
  EXPECT_NE(text.find("\n1050,,1,,,,0x401000,begin,\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n,,1,,,0x401040,"), std::string::npos) << "no time stays no time: " << text;
}

TEST(BranchList, JsonLines) {
  EXPECT_EQ(list({.format = BranchFormat::jsonl}, {.pid = 7, .tid = 8, .cr3 = 0x1000}),
            R"({"time":100,"pid":7,"tid":8,"cr3":"0x1000","to":"0x401000","kind":"begin"})"
            "\n"
            R"({"time":100,"pid":7,"tid":8,"cr3":"0x1000","from":"0x401010","to":"0x401020",)"
            R"("kind":"cond"})"
            "\n"
            R"({"pid":7,"tid":8,"cr3":"0x1000","from":"0x401040","to":"0xffffffff81000000",)"
            R"("kind":"call","flags":["in_tx","far","resync"]})"
            "\n"
            R"({"time":200,"pid":7,"tid":8,"cr3":"0x1000","from":"0x401050","kind":"syscall",)"
            R"("flags":["trace_end"]})"
            "\n");
}

TEST(BranchList, BinHasAHeaderAndFixedRecords) {
  std::string text = list({.format = BranchFormat::bin}, {.pid = 7, .tid = 8, .cpu = 3});
  ASSERT_EQ(text.size(), 16 + 4 * sizeof(BinBranch));
  EXPECT_EQ(text.substr(0, 8), "HODOBR01");
  std::uint64_t size = 0;
  std::memcpy(&size, text.data() + 8, sizeof size);
  EXPECT_EQ(size, 48u);
  BinBranch last;
  std::memcpy(&last, text.data() + 16 + 3 * sizeof last, sizeof last);
  EXPECT_EQ(last.time, 200u);
  EXPECT_EQ(last.from, 0x401050u);
  EXPECT_EQ(last.to, 0u);
  EXPECT_EQ(last.cr3, ~std::uint64_t{0});
  EXPECT_EQ(last.cpu, 3);
  EXPECT_EQ(last.pid, 7);
  EXPECT_EQ(last.tid, 8);
  EXPECT_EQ(last.kind, static_cast<std::uint8_t>(BranchKind::syscall));
  EXPECT_EQ(last.flags, kTraceEnd);
}

TEST(BranchList, BinWritesWhatTheOtherFormatsDo) {
  const perfdata::TimeConversion conversion{.shift = 1, .mult = 1, .zero = 1000};
  std::vector<Branch> batch = kBatch;
  batch[1].cycles = 0x1234;
  const std::string text = list({.format = BranchFormat::bin,
                                 .not_taken = true,
                                 .from_time = 1050,
                                 .until_time = 1050,
                                 .clock = session::Clock(conversion)},
                                {.cr3 = 0x1000}, nullptr, batch);
  std::vector<BinBranch> records((text.size() - 16) / sizeof(BinBranch));
  std::memcpy(records.data(), text.data() + 16, records.size() * sizeof(BinBranch));
  ASSERT_EQ(records.size(), 3u);
  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].time, 1050u);
    EXPECT_EQ(records[i].from, batch[i].from);
    EXPECT_EQ(records[i].to, batch[i].to);
    EXPECT_EQ(records[i].cr3, 0x1000u);
    EXPECT_EQ(records[i].tid, -1);
    EXPECT_EQ(records[i].kind, static_cast<std::uint8_t>(batch[i].kind));
    EXPECT_EQ(records[i].flags, batch[i].flags);
    EXPECT_EQ(records[i].cycles, batch[i].cycles);
  }
}

TEST(BranchList, TextNamesBothSides) {
  TableNames names;
  names.places[0x401010] = {.symbol = "main", .offset = 0x10, .object = "/usr/bin/ls"};
  names.places[0x401020] = {.offset = 0x1020, .object = "/usr/bin/ls"};
  std::string text = list({}, {.pid = 7, .tid = 8, .cpu = 2}, &names);
  EXPECT_EQ(text,
            "      7/8       [002] 100:  begin   - => 401000 [unknown]\n"
            "      7/8       [002] 100:  cond    401010 main+0x10 (ls) => 401020 [ls+0x1020]\n"
            "      7/8       [002]  call    401040 [unknown] => ffffffff81000000 [unknown]"
            "  in_tx|far|resync\n"
            "      7/8       [002] 200:  syscall 401050 [unknown] => -  trace_end\n");
}

TEST(BranchList, TextEscapesNames) {
  TableNames names;
  names.places[0x401010] = {.symbol = "\033]0;owned\a", .offset = 0, .object = "/tmp/\x1b[2J"};
  std::string text = list({}, {}, &names);
  EXPECT_EQ(text.find('\033'), std::string::npos);
  EXPECT_NE(text.find("\\x1b]0;owned\\x07+0x0 (\\x1b[2J)"), std::string::npos) << text;
}

TEST(BranchList, TextAsksForEachPlaceOncePerGeneration) {
  TableNames names;
  Caught caught;
  BranchList list({}, caught.out(), &names);
  list.branches({}, kBatch);
  int first = names.asked;
  list.branches({}, kBatch);
  EXPECT_EQ(names.asked, first);
  names.changes_at = 0;  // another file is mapped there now
  list.branches({}, kBatch);
  EXPECT_EQ(names.asked, 2 * first);
}

TEST(BranchList, StopsWhenTheOutputFails) {
  int fd = open("/dev/full", O_WRONLY);
  ASSERT_GE(fd, 0);
  Output out(fd);
  BranchList list({.format = BranchFormat::csv}, out, nullptr);
  bool going = true;
  for (int i = 0; i < 100'000 && going; ++i) going = list.branches({}, kBatch);
  EXPECT_FALSE(going);
  Status status = out.finish();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::no_space);
  close(fd);
}

}  // namespace
}  // namespace hodo::view
