// The reading commands on a recording made by hand.
#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "file_builder.h"
#include "recording_fixture.h"
#include "run_fixture.h"

namespace hodo::cli {
namespace {

using ::nlohmann::json;

const char kCsv[] =
    "time,cpu,pid,tid,cr3,from,to,kind,flags\n"
    "2000,,42,42,,,0x401000,begin,\n"
    "2000,,42,42,,0x401000,0x401010,call,\n"
    "2000,,42,42,,0x401010,0x401005,ret,\n"
    "2000,,42,42,,0x401005,0x401009,cond,\n"
    "2000,,42,42,,0x401009,,syscall,trace_end\n"
    "2500,,42,42,,,0x40100b,begin,\n"
    "2500,,42,42,,0x40100b,0x401000,jmp,\n"
    "2500,,42,42,,0x401000,0x401010,call,\n"
    "2500,,42,42,,0x401010,0x401005,ret,\n"
    "2500,,42,42,,0x401009,,syscall,trace_end\n";

class Reading : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    write_recording(at("hodo.data"));
  }
};

TEST_F(Reading, BranchesAsCsv) {
  Ran ran = hodo("branches --format csv");
  EXPECT_EQ(ran.out, kCsv);
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.status, 0);
}

TEST_F(Reading, BranchesNotTaken) {
  Ran ran = hodo("branches --format csv --not-taken hodo.data");
  EXPECT_NE(ran.out.find("2500,,42,42,,0x401005,0x401007,cond,not_taken\n"), std::string::npos)
      << ran.out;
}

TEST_F(Reading, BranchesSelected) {
  const Ran ran = hodo("branches --format csv --tid 43");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.err.find("no thread 43 is in the recording"), std::string::npos) << ran.err;
  EXPECT_EQ(hodo("branches --format csv --pid 42 --tid 42").out, kCsv);
  std::string late = hodo("branches --format csv --time 2001-3000").out;
  EXPECT_EQ(std::ranges::count(late, '\n'), 6) << late;
}

TEST_F(Reading, BranchesAsTextHaveNoEscapesInAPipe) {
  Ran ran = hodo("branches");
  EXPECT_EQ(ran.status, 0);
  EXPECT_NE(ran.out.find("call"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find('\033'), std::string::npos);
  EXPECT_NE(hodo("report --color always").out.find("\033["), std::string::npos);
  EXPECT_EQ(hodo("report", "NO_COLOR=1").out.find('\033'), std::string::npos);
}

TEST_F(Reading, SourceLinesGoWithText) {
  EXPECT_EQ(hodo("branches --srcline").status, 0);
  Ran ran = hodo("branches --srcline --format csv");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("--format text"), std::string::npos) << ran.err;
}

TEST_F(Reading, BranchesAsBin) {
  std::string out = hodo("branches --format bin").out;
  EXPECT_EQ(out.size(), 16u + 10 * 48) << out.size();
}

TEST_F(Reading, SortedByTimeThreadsMix) {
  write_recording(at("two.data"), {.threads = {{42, 42, sample_trace(2000).bytes()},
                                               {42, 43, sample_trace(2200).bytes(), 1}}});
  auto tids = [&](const std::string& order) {
    std::stringstream lines(hodo("branches --format csv two.data --sort " + order).out);
    std::string line;
    std::string out;
    std::getline(lines, line);
    while (std::getline(lines, line)) out += line.find(",43,,") != std::string::npos ? 'b' : 'a';
    return out;
  };
  EXPECT_EQ(tids("queue"), "aaaaaaaaaabbbbbbbbbb");
  EXPECT_EQ(tids("time"), "aaaaabbbbbaaaaabbbbb");
}

TEST_F(Reading, Packets) {
  Ran ran = hodo("packets");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("queue 0: thread 42/42, ")) << ran.out;
  EXPECT_NE(ran.out.find("00000000  0282028202820282028202..  PSB\n"), std::string::npos)
      << ran.out;
  EXPECT_NE(ran.out.find("TIP.PGE 0x401000  ip 0x401000\n"), std::string::npos) << ran.out;
  std::stringstream lines(hodo("packets --json").out);
  std::string line;
  int tips = 0;
  while (std::getline(lines, line)) tips += json::parse(line)["type"] == "TIP.PGE";
  EXPECT_EQ(tips, 2);
}

TEST_F(Reading, PacketCounts) {
  std::string out = hodo("packets --counts").out;
  EXPECT_NE(out.find("PSBEND"), std::string::npos) << out;
  EXPECT_NE(out.find("all "), std::string::npos) << out;
}

TEST_F(Reading, Stats) {
  Ran ran = hodo("stats --json");
  EXPECT_EQ(ran.status, 0) << ran.err;
  json stats = json::parse(ran.out);
  EXPECT_EQ(stats["complete"], true);
  EXPECT_EQ(stats["instructions"], 11);  // call ret je syscall; jmp call ret je nop nop syscall
  EXPECT_EQ(stats["branches"]["taken"], 8);
  EXPECT_EQ(stats["branches"]["not_taken"], 1);
  EXPECT_EQ(stats["branches"]["kinds"]["call"], 2);
  EXPECT_EQ(stats["packets"]["kinds"]["TNT"]["count"], 2);
  EXPECT_EQ(stats["losses"], json::array());
  EXPECT_NE(hodo("stats").out.find("Nothing was lost."), std::string::npos);
}

TEST_F(Reading, Report) {
  Ran ran = hodo("report");
  EXPECT_EQ(ran.status, 0) << ran.err;
  for (const char* part :
       {"hodo record -- ./sample 'two words'", "complete, nothing lost", "sample 42",
        "Hottest functions", "Nothing was lost.", "recorded     20"}) {
    EXPECT_NE(ran.out.find(part), std::string::npos) << part << " is missing in\n" << ran.out;
  }
  json report = json::parse(hodo("report --json").out);
  EXPECT_EQ(report["tasks"][0]["comm"], "sample");
  EXPECT_EQ(report["tasks"][0]["instructions"], 11);
  EXPECT_EQ(report["finished"], true);
}

TEST_F(Reading, StringsFromTheTraceCannotSteerTheTerminal) {
  write_recording(at("evil.data"), {.comm = "\033[2Jx\n"});
  Ran ran = hodo("report evil.data");
  EXPECT_EQ(ran.out.find('\033'), std::string::npos);
  EXPECT_NE(ran.out.find("\\x1b[2Jx\\x0a"), std::string::npos) << ran.out;
}

TEST_F(Reading, ARecorderThatDiedIsALoss) {
  write_recording(at("died.data"), {.finish = false});
  Ran ran = hodo("branches --format csv died.data");
  EXPECT_EQ(ran.out, kCsv);
  EXPECT_EQ(ran.status, 3);
  EXPECT_NE(ran.err.find("hodo: died.data: lost: unfinished"), std::string::npos) << ran.err;
  Ran report = hodo("report died.data");
  EXPECT_EQ(report.status, 3);
  EXPECT_NE(report.out.find("did not finish"), std::string::npos) << report.out;
}

TEST_F(Reading, ADamagedPacketIsALossWithItsPlace) {
  std::vector<std::uint8_t> trace = sample_trace().bytes();
  std::size_t bad = trace.size();
  trace.insert(trace.end(), {0x05, 0x05, 0x05, 0x05});
  auto more = sample_trace(4000).bytes();
  trace.insert(trace.end(), more.begin(), more.end());
  write_recording(at("bad.data"), {.threads = {{42, 42, trace}}});
  json stats = json::parse(hodo("stats --json bad.data").out);
  ASSERT_EQ(stats["losses"].size(), 1u) << stats;
  EXPECT_EQ(stats["losses"][0]["cause"], "bad-packet");
  EXPECT_EQ(stats["losses"][0]["sites"][0]["offset"], bad);
  EXPECT_EQ(stats["branches"]["kinds"]["call"], 4) << "both sides of the damage are decoded";
  EXPECT_EQ(hodo("packets bad.data").status, 3);
}

TEST_F(Reading, ARecordingThatIsNotThereIsNamedOnce) {
  const std::string said = "hodo: no.data: cannot be opened: No such file or directory\n";
  EXPECT_EQ(hodo("stats no.data").err, said);
  EXPECT_EQ(hodo("diff no.data no.data").err, said);
}

TEST_F(Reading, AFileThatIsGoneIsNamed) {
  write_recording(at("gone.data"), {.mapped_file = "/nonexistent/program"});
  Ran ran = hodo("stats --json gone.data");
  EXPECT_EQ(ran.status, 3);
  json stats = json::parse(ran.out);
  EXPECT_EQ(stats["losses"][0]["cause"], "file-missing") << stats;
  EXPECT_NE(ran.out.find("/nonexistent/program"), std::string::npos);
}

TEST_F(Reading, AFileThatChangedIsNotUsed) {
  perfdata::BuildId other{.bytes = {1, 2, 3}, .size = 20};
  write_recording(at("changed.data"), {.mapped_file = "/bin/true", .build_id = other});
  json stats = json::parse(hodo("stats --json changed.data").out);
  EXPECT_EQ(stats["losses"][0]["cause"], "file-changed") << stats;
  std::string text = hodo("stats changed.data").out;
  EXPECT_NE(text.find("/bin/true is not the file that ran"), std::string::npos) << text;
  EXPECT_NE(text.find("the file on disk is not the one that ran"), std::string::npos) << text;
}

TEST_F(Reading, RawTraceWithAnElfImageHasNames) {
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  std::string find = "nm -D --defined-only " + libc + " | awk '/ puts@/{print $1}' > address";
  ASSERT_EQ(std::system(("cd '" + folder_.string() + "' && " + find).c_str()), 0);
  std::uint64_t puts = 0x10000000 + std::stoull(contents(folder_ / "address"), nullptr, 16);
  Packets trace;
  trace.start(2000).ip(pt::PacketType::tip_pge, puts);
  write("trace.pt", std::string(trace.bytes().begin(), trace.bytes().end()));
  std::string out = hodo("branches --raw pt --image elf:" + libc + "@0x10000000 trace.pt").out;
  EXPECT_NE(out.find(" puts+0x0 (libc.so.6)"), std::string::npos) << out;
}

TEST_F(Reading, RawTraceWithImage) {
  write("code.bin", std::string(kCode.begin(), kCode.end()));
  auto trace = sample_trace().bytes();
  write("trace.pt", std::string(trace.begin(), trace.end()));
  Ran ran = hodo("branches --raw pt --image bin:0x401000:code.bin --format csv trace.pt");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("\n2000,,,,,0x401000,0x401010,call,\n"), std::string::npos) << ran.out;
  EXPECT_EQ(hodo("branches --raw pt --format csv trace.pt").status, 3) << "no code";
  EXPECT_EQ(hodo("packets --raw pt trace.pt").status, 0) << "packets need no code";
}

TEST_F(Reading, RawTraceWithFilters) {
  write("code.bin", std::string(kCode.begin(), kCode.end()));
  auto trace = sample_trace().bytes();
  write("trace.pt", std::string(trace.begin(), trace.end()));
  const std::string raw = " --raw pt --image bin:0x401000:code.bin trace.pt";
  Ran ran = hodo("stats --filter 0x401000-0x40100f --filter 0x401010-0x401fff" + raw);
  EXPECT_EQ(ran.status, 0) << ran.out << ran.err;
  ran = hodo("stats --json --filter 0x402000-0x402fff" + raw);
  EXPECT_EQ(ran.status, 3);
  const json loss = json::parse(ran.out)["losses"][0];
  EXPECT_EQ(loss["cause"], "filter-mismatch");
  EXPECT_EQ(loss["sites"][0]["ip"], "0x401000");
  EXPECT_EQ(hodo("stats --filter 1" + raw).err,
            "hodo: --filter '1' is no range; write it as 0x400000-0x426fff\n");
  EXPECT_EQ(hodo("branches --time x" + raw).err,
            "hodo: --time 'x' is no range; write it as 1500000-2500000\n");
  EXPECT_EQ(hodo("stats --raw pt --image bin:x trace.pt").err.find("hodo: --image bin:x: "), 0u);
}

// Erratum SKZ84: a TMA with reserved bits and a byte too many.
constexpr std::array<std::uint8_t, 8> kCorruptTma = {0x02, 0x73, 1, 2, 3, 4, 5, 6};

TEST_F(Reading, RawTraceOfAProcessorWithErrata) {
  auto trace = sample_trace().bytes();
  trace.insert(trace.end(), kCorruptTma.begin(), kCorruptTma.end());
  write("trace.pt", std::string(trace.begin(), trace.end()));
  EXPECT_EQ(hodo("packets --raw pt trace.pt").status, 3);
  for (const char* cpu : {"6/85/4", "6/0x55", "0x13/1/0"}) {
    Ran ran = hodo(std::string("packets --raw pt trace.pt --cpu ") + cpu);
    EXPECT_EQ(ran.status, 0) << cpu << ran.err;
    EXPECT_NE(ran.out.find("TMA corrupt (erratum SKZ84)"), ran.out.npos) << ran.out;
  }
  for (const char* cpu : {"6", "6/x", "6/85/4/1", "6//4", "/", "6/99999999999999999999", "''"}) {
    EXPECT_EQ(hodo(std::string("stats --raw pt trace.pt --cpu ") + cpu).status,
              std::string_view(cpu) == "''" ? 3 : 2)
        << cpu;
  }
  EXPECT_EQ(hodo("stats --cpu 6/85").err,
            "hodo: --cpu goes with --raw pt; a perf.data file has its own\n");
}

// Of a perf.data file's feature CPUID: "GenuineIntel,6,94,3".
std::size_t find_processor(const std::string& file, std::size_t from) {
  return std::min(file.find("GenuineIntel,", from), file.find("AuthenticAMD,", from));
}

TEST_F(Reading, ARecordingNamesTheProcessorWithErrata) {
  Packets packets = sample_trace();
  auto trace = packets.bytes();
  trace.insert(trace.end(), kCorruptTma.begin(), kCorruptTma.end());
  write_recording(at("hodo.data"), {.threads = {{42, 42, trace}}});
  const std::string bytes = contents(at("hodo.data"));
  // Behind the records, where the features are: a record that was changed is damage.
  std::array<std::uint64_t, 2> records{};  // offset and size, of perf's header
  std::memcpy(records.data(), bytes.data() + 40, sizeof(records));
  for (const auto& [processor, status] :
       {std::pair<std::string_view, int>{"GenuineIntel,6,85,4", 0}, {"GenuineIntel,6,94,3", 3}}) {
    std::string other = bytes;
    unsigned found = 0;
    std::size_t place = records[0] + records[1];
    for (; (place = find_processor(other, place)) != other.npos; ++place) {
      other.replace(place, processor.size() + 1, processor.data(), processor.size() + 1);
      ++found;
    }
    ASSERT_GT(found, 0U);
    write("other.data", other);
    EXPECT_EQ(hodo("stats other.data").status, status) << processor;
    EXPECT_EQ(hodo("packets other.data").status, status) << processor;
  }
}

// As DRAKVUF's ipt plugin marks its streams: PTWRITE packets that no instruction made say which
// address space and which thread ran from there on.
TEST_F(Reading, MarksInARawTraceSayWhoRan) {
  const auto mark = [](std::uint64_t command, std::uint64_t value) {
    return pt::Packet{.type = pt::PacketType::ptw, .count = 8, .payload = command << 32 | value};
  };
  Packets trace;
  trace.start(2000).add(mark(0xc3000000, 0x1ad002)).add(mark(0x1d000000, 71));
  trace.ip(pt::PacketType::tip_pge, 0x401000).tnt(2, 0b11);
  trace.add({.type = pt::PacketType::tip_pgd});
  trace.add(mark(0xcc000000, 9)).add(mark(0xc3000000, 0x2be000)).add(mark(0x1d000000, 72));
  trace.ip(pt::PacketType::tip_pge, 0x40100b).tnt(2, 0b10);
  trace.add({.type = pt::PacketType::tip_pgd});
  write("code.bin", std::string(kCode.begin(), kCode.end()));
  write("ipt_stream_vcpu0", std::string(trace.bytes().begin(), trace.bytes().end()));
  const std::string command =
      "branches --raw pt --image bin:0x401000:code.bin --format csv ipt_stream_vcpu0";
  Ran ran = hodo(command);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_NE(ran.out.find("\n2000,,,71,0x1ad000,0x401000,0x401010,call,\n"), ran.out.npos)
      << ran.out;
  EXPECT_NE(ran.out.find("\n2000,,,72,0x2be000,0x40100b,0x401000,"), ran.out.npos) << ran.out;
  ran = hodo(command + " --tid 72");
  EXPECT_EQ(ran.out.find(",71,"), ran.out.npos) << ran.out;
  EXPECT_NE(ran.out.find(",72,"), ran.out.npos) << ran.out;
}

TEST_F(Reading, UnreadableInputIsOneLineAndStatusTwo) {
  write("empty", "");
  write("text", "This is not a perf.data file.\n");
  std::filesystem::create_directory(folder_ / "folder");
  for (const char* command : {"report", "branches", "packets", "stats"}) {
    for (const char* file : {"empty", "text", "folder", "absent", "/dev/null"}) {
      Ran ran = hodo(std::string(command) + " " + file);
      EXPECT_EQ(ran.status, 2) << command << " " << file;
      EXPECT_EQ(ran.out, "") << command << " " << file;
      EXPECT_TRUE(ran.err.starts_with(std::string("hodo: ") + file + ": ")) << ran.err;
      EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    }
  }
}

TEST_F(Reading, EveryTruncationIsAnErrorOrALoss) {
  std::string whole = contents(at("hodo.data"));
  ASSERT_GT(whole.size(), 500u);
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    write("cut.data", whole.substr(0, size));
    Ran ran = hodo("stats cut.data");
    EXPECT_TRUE(ran.status == 2 || ran.status == 3) << size << ": " << ran.status << ran.err;
  }
}

// Behind the trace, so that each has something to show; and within it.
TEST_F(Reading, EveryCommandSaysThatARecordingIsCut) {
  const std::string whole = contents(at("hodo.data"));
  for (const std::size_t left : {std::size_t{20}, std::size_t{400}}) {
    write("cut.data", whole.substr(0, whole.size() - left));
    for (const char* command : {"report", "check", "crash", "show end", "branches",
                                "branches --sort time", "calls", "coverage", "packets", "stats",
                                "diff cut.data", "export --to perfetto", "view --html x"}) {
      const Ran ran = hodo(std::string(command) + " cut.data");
      EXPECT_EQ(ran.status, 3) << command << left << ran.err;
      const std::string said = ran.out + ran.err;
      EXPECT_TRUE(said.contains("cut off") || said.contains("cut.data: lost: ")) << command << said;
    }
  }
}

TEST_F(Reading, AFileCutOffBeforeItsTraceSaysSo) {
  write("cut.data", contents(at("hodo.data")).substr(0, 500));
  Ran ran = hodo("stats cut.data");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("no branch trace can be read: the file is cut off"), std::string::npos)
      << ran.err;
}

TEST_F(Reading, WrongUsageIsStatusTwo) {
  for (const char* arguments :
       {"branches --format xml", "branches --time later", "branches --image bin:0:x",
        "branches --filter 1-2", "branches --raw bts hodo.data", "branches --raw pt --filter 9-1 x",
        "branches --raw pt --image nothing:x hodo.data", "stats a b", "packets --bits 8",
        "branches --sort size", "report --top many"}) {
    Ran ran = hodo(arguments);
    EXPECT_EQ(ran.status, 2) << arguments;
    EXPECT_TRUE(ran.err.starts_with("hodo: ")) << arguments << ": " << ran.err;
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
  }
}

TEST_F(Reading, AFullDiskIsReported) {
  std::string line = std::string("'") + HODO_BINARY + "' stats '" + at("hodo.data") +
                     "' > /dev/full 2> '" + at("stderr") + "'";
  int status = std::system(line.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_NE(contents(at("stderr")).find("No space left"), std::string::npos);
}

TEST_F(Reading, AReaderThatGoesAwayIsNoError) {
  std::string line = std::string("trap '' PIPE; '") + HODO_BINARY + "' branches '" +
                     at("hodo.data") + "' 2> '" + at("stderr") + "' | true";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_EQ(contents(at("stderr")), "");
}

// Records for the sample program: begin, call, ret, cond, and one that comes from elsewhere.
template <class Word>
std::string bts_records() {
  const Word words[] = {0, 0x401000, 16,       0x401000, 0x401010, 16,       0x401010, 0x401005,
                        0, 0x401005, 0x401009, 16,       0x401010, 0x401000, 16};
  return {reinterpret_cast<const char*>(words), sizeof(words)};
}

const char* const kRawBranches =
    "time,cpu,pid,tid,cr3,from,to,kind,flags\n"
    ",,,,,,0x401000,begin,\n"
    ",,,,,0x401000,0x401010,call,\n"
    ",,,,,0x401010,0x401005,ret,mispredicted\n"
    ",,,,,0x401005,0x401009,cond,\n"
    ",,,,,0x401009,0x401010,lost,resync\n"
    ",,,,,0x401010,0x401000,ret,\n";

TEST_F(Reading, RawBtsRecordsOfBothSizes) {
  write("code.bin", {kCode.begin(), kCode.end()});
  write("wide.bts", bts_records<std::uint64_t>());
  write("narrow.bts", bts_records<std::uint32_t>());
  const std::string common = "branches --format csv --raw bts --image bin:0x401000:code.bin ";
  for (const char* rest : {"wide.bts", "narrow.bts", "--record-size 24 wide.bts",
                           "--record-size 12 --bits 32 narrow.bts"}) {
    Ran ran = hodo(common + rest);
    EXPECT_EQ(ran.out, kRawBranches) << rest;
    EXPECT_EQ(ran.status, 3) << "a gap";
    EXPECT_NE(ran.err.find("lost: gap (1 times)"), std::string::npos) << ran.err;
  }
}

// A circular buffer, as it looks when it has been filled one and a half times:
//
//     record 2 | record 3 | record 0 | record 1
//                          ^ index
TEST_F(Reading, RawBtsOfACircularBufferBeginsAtItsIndex) {
  write("code.bin", {kCode.begin(), kCode.end()});
  const std::string whole = bts_records<std::uint64_t>();
  const std::size_t half = whole.size() / 48 * 24;
  write("turned.bts", whole.substr(half) + whole.substr(0, half));
  write("half.bts", whole + std::string(240, '\0'));
  const std::string common = "branches --format csv --raw bts --image bin:0x401000:code.bin ";
  const std::string index = std::to_string(whole.size() - half);
  EXPECT_EQ(hodo(common + "--index " + index + " turned.bts").out, kRawBranches);
  EXPECT_EQ(hodo(common + "--index " + std::to_string(whole.size()) + " half.bts").out,
            kRawBranches)
      << "what was never written to is no record";
  for (const char* wrong : {"--index 25 turned.bts", "--index 24000 turned.bts",
                            "--index x turned.bts", "--index 0x18 --record-size 12 half.txt"}) {
    EXPECT_EQ(hodo(common + wrong).status, 2) << wrong;
  }
  EXPECT_EQ(hodo("branches --index 24 hodo.data").status, 2);
}

TEST_F(Reading, RawBtsCountsWhatRanBetweenTheRecords) {
  write("code.bin", {kCode.begin(), kCode.end()});
  write("wide.bts", bts_records<std::uint64_t>());
  json stats =
      json::parse(hodo("stats --json --raw bts --image bin:0x401000:code.bin wide.bts").out);
  EXPECT_EQ(stats["instructions"], 4);
  EXPECT_EQ(stats["branches"]["taken"], 4);
}

TEST_F(Reading, RawBranchRecordsAreNoPacketsAndNotOffered) {
  const std::string help = hodo("packets --help").out;
  EXPECT_EQ(help.find("--record-size"), std::string::npos);
  EXPECT_EQ(help.find("--index"), std::string::npos);
  EXPECT_NE(help.find("hodo branches --raw"), std::string::npos);
  write("wide.bts", bts_records<std::uint64_t>());
  EXPECT_EQ(hodo("packets --raw bts wide.bts").status, 2);
}

TEST_F(Reading, RawBtsThatIsNone) {
  write("none.bts", "this is no branch trace store record, however long one looks at it");
  Ran ran = hodo("branches --raw bts none.bts");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("--record-size"), std::string::npos) << ran.err;
  EXPECT_EQ(hodo("branches --raw bts --record-size 24 none.bts").status, 3);
}

TEST_F(Reading, RawLbrDumpWithNames) {
  write("code.bin", {kCode.begin(), kCode.end()});
  write("lbr.txt",
        "family 6\nmodel 94\ntos 1\nfrom0 0x401000\nto0 0x401010\n"
        "from1 0x401010\nto1 0x401005\ninfo1 0x8000000000000011\n");
  Ran ran = hodo("branches --format jsonl --raw lbr --image bin:0x401000:code.bin lbr.txt");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "{\"to\":\"0x401000\",\"kind\":\"begin\",\"flags\":[\"resync\"]}\n"
            "{\"from\":\"0x401000\",\"to\":\"0x401010\",\"kind\":\"call\"}\n"
            "{\"from\":\"0x401010\",\"to\":\"0x401005\",\"kind\":\"ret\",\"cycles\":17,"
            "\"flags\":[\"mispredicted\"]}\n");
  write("lbr.json", R"({"format": 1, "tos": 0, "from": ["0x401000"], "to": ["0x401010"]})");
  EXPECT_EQ(hodo("branches --raw lbr --image bin:0x401000:code.bin lbr.json").status, 0);
  write("odd.txt", "format 1\nhello\n");
  ran = hodo("branches --raw lbr odd.txt");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.err.find("line 2: 'hello'"), std::string::npos) << ran.err;
}

// BR_TYPE of LBR_INFO (SDM): 0 conditional, 1 and 2 jumps, 3 and 4 calls, 5 return, 8 far.
TEST_F(Reading, RawLbrDumpTellsTheKindWhereThereIsNoCode) {
  std::string dump = "format arch\n";
  for (const char* n : {"0", "1", "2", "3", "4", "5", "8"}) {
    dump += std::string("from") + n + " 0x40" + n + "000\nto" + n + " 0x40" + n + "800\ninfo" + n +
            " 0x0" + n + "00000000000000\n";
  }
  write("lbr.txt", dump);
  const std::string out = hodo("branches --format csv --raw lbr lbr.txt").out;
  for (const char* line :
       {"0x400000,0x400800,cond", "0x401000,0x401800,ijmp", "0x402000,0x402800,jmp",
        "0x403000,0x403800,icall", "0x404000,0x404800,call", "0x405000,0x405800,ret",
        "0x408000,0x408800,unknown"}) {
    EXPECT_NE(out.find(line), std::string::npos) << line << " in\n" << out;
  }
}

// Both list what was executed, and both say that something is left out.
TEST_F(Reading, BranchesOfWrongPathsAreLeftOutAndCounted) {
  using perfdata::BranchEntry;
  constexpr std::uint64_t kWrongPath = 1ull << 24;
  constexpr std::uint64_t kTyped = 4ull << 20;  // a call: no code is needed
  const auto sample =
      perfdata::record(perfdata::RecordType::sample, PERF_RECORD_MISC_USER,
                       perfdata::pack(std::uint64_t{0x401000}, std::uint64_t{2},
                                      BranchEntry{0x402000, 0x403000, kTyped | kWrongPath},
                                      BranchEntry{0x401000, 0x402000, kTyped}));
  const auto bytes = perfdata::file_of(
      sample, {{.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
                .branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY}});
  write("amd.data", {bytes.begin(), bytes.end()});
  write("amd.txt",
        "format amd_v2\nfrom0 0x402000\nto0 0x4000000000403000\n"
        "from1 0x401000\nto1 0x8000000000402000\n");
  for (const char* input : {"amd.data", "--raw lbr amd.txt"}) {
    const Ran ran = hodo(std::string("branches --format csv ") + input);
    EXPECT_NE(ran.out.find("0x401000,0x402000"), std::string::npos) << ran.out;
    EXPECT_EQ(ran.out.find("0x403000"), std::string::npos) << ran.out;
    EXPECT_NE(ran.err.find("left out: branches of wrong paths"), std::string::npos) << ran.err;
    const json stats = json::parse(hodo(std::string("stats --json ") + input).out);
    EXPECT_EQ(stats["branches"]["wrong_path"], 1) << input;
    EXPECT_NE(hodo(std::string("stats ") + input).out.find("left out"), std::string::npos);
  }
  EXPECT_NE(hodo("packets amd.data").out.find("0x402000 => 0x403000 wrong_path"),
            std::string::npos);
}

}  // namespace
}  // namespace hodo::cli
