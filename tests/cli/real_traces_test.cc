// Traces of real processors, where they are at hand: HODO_SHARED or ../shared names the folder.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "run_fixture.h"

namespace hodo::cli {
namespace {

using ::nlohmann::json;

class RealTraces : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    folder_of_traces_ = real_traces();
    if (folder_of_traces_.empty()) GTEST_SKIP() << "no folder with traces of real processors here";
  }
  // The raw-trace options for one of the folders, the trace file last.
  std::string raw(const std::string& name, const std::string& filter, const std::string& bits) {
    std::filesystem::path folder = std::filesystem::path(folder_of_traces_) / name;
    std::string trace;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (!entry.path().filename().string().starts_with("pages")) trace = entry.path().string();
    }
    return " --raw pt --bits " + bits + " --filter " + filter +
           " --image pages:" + (folder / "pages.addr").string() + ":" +
           (folder / "pages.dump").string() + " " + trace;
  }
  std::string data(const std::string& name) {
    return (std::filesystem::path(folder_of_traces_) / "perfdata" / name).string();
  }

  std::string folder_of_traces_;
};

// What libipt 2.0.5 counts; its tool calls both kinds of jump one.
void expect_counts(const json& stats, std::uint64_t cond, std::uint64_t call, std::uint64_t ret,
                   std::uint64_t jump) {
  const json& branches = stats["branches"];
  auto count = [&](const char* kind) { return branches["kinds"][kind].get<std::uint64_t>(); };
  EXPECT_EQ(count("cond") + branches["not_taken"].get<std::uint64_t>(), cond);
  EXPECT_EQ(count("call") + count("icall"), call);
  EXPECT_EQ(count("ret"), ret);
  EXPECT_EQ(count("jmp") + count("ijmp"), jump);
  std::uint64_t bytes = stats["skipped_bytes"];
  for (const json& packet : stats["packets"]["kinds"])
    bytes += packet["bytes"].get<std::uint64_t>();
  EXPECT_EQ(bytes, stats["bytes"].get<std::uint64_t>()) << "every byte is in one packet";
}

TEST_F(RealTraces, BranchesByKindAreThoseOfLibipt) {
  auto stats = [&](const std::string& input) {
    return json::parse(hodo("stats --json" + input).out);
  };
  expect_counts(stats(raw("unzip", "0x400000-0x426fff", "64")), 45'985, 219, 111, 446);
  expect_counts(stats(raw("foo", "0x7ffff7819000-0x7ffff79c9fff", "64")), 22'298, 2'840, 2'164,
                1'923);
}

// The edges and blocks of a raw trace with its memory pages, as a fuzzer of virtual machines has
// it.
TEST_F(RealTraces, CoverageAddsUp) {
  std::string input = raw("unzip", "0x400000-0x426fff", "64");
  json stats = json::parse(hodo("stats --json" + input).out);
  json coverage = json::parse(hodo("coverage --json" + input).out);
  std::uint64_t taken = 0;
  std::uint64_t not_taken = 0;
  for (const json& module : coverage["modules"]) {
    for (const json& edge : module["edges"]) {
      (edge["taken"].get<bool>() ? taken : not_taken) += edge["count"].get<std::uint64_t>();
    }
  }
  EXPECT_EQ(not_taken, stats["branches"]["not_taken"].get<std::uint64_t>());
  EXPECT_GT(taken, 20'000u);
  EXPECT_EQ(hodo("calls" + input).status, 0);
}

TEST_F(RealTraces, UnzipDecodesWithoutLoss) {
  Ran ran = hodo("stats --json" + raw("unzip", "0x400000-0x426fff", "64"));
  EXPECT_EQ(ran.status, 0) << ran.err;
  json stats = json::parse(ran.out);
  EXPECT_EQ(stats["instructions"], 149'576);
  EXPECT_EQ(
      stats["branches"]["kinds"]["cond"].get<int>() + stats["branches"]["not_taken"].get<int>(),
      45'985);
  EXPECT_EQ(stats["losses"], json::array());
}

TEST_F(RealTraces, BranchLinesAgreeWithTheCounts) {
  std::string input = raw("foo", "0x7ffff7819000-0x7ffff79c9fff", "64");
  json stats = json::parse(hodo("stats --json" + input).out);
  EXPECT_EQ(stats["instructions"], 117'967);
  Ran ran = hodo("branches --format csv --not-taken" + input);
  EXPECT_EQ(ran.status, 0) << ran.err;
  std::uint64_t all = stats["branches"]["not_taken"];
  for (const auto& [kind, count] : stats["branches"]["kinds"].items()) {
    all += count.get<std::uint64_t>();
  }
  EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(ran.out, '\n')), all + 1);
}

TEST_F(RealTraces, CodeOf32Bits) {
  Ran ran = hodo("stats --json" + raw("avscript", "0x1000-0x7ffffffff000", "32"));
  EXPECT_EQ(ran.status, 0) << ran.err;
  // libipt finds 1,091,780: it gives up the first 22,414 (erratum BDM70, Errata::bdm70).
  EXPECT_EQ(json::parse(ran.out)["instructions"], 1'091'780 + 22'414);
}

TEST_F(RealTraces, PacketsOfAPerfRecording) {
  Ran ran = hodo("packets --json " + data("perf.data.intel_pt-4.14"));
  EXPECT_TRUE(ran.status == 0 || ran.status == 3) << ran.err;
  std::map<std::string, int> counts;
  std::stringstream lines(ran.out);
  std::string line;
  while (std::getline(lines, line)) ++counts[json::parse(line)["type"]];
  // What `perf script -D` of Linux 6.1 prints; it shows a run of PADs as one.
  const std::map<std::string, int> expected{
      {"TNT", 69'516}, {"TIP", 12'039}, {"MTC", 2'802}, {"PIP", 441},      {"FUP", 149},
      {"TSC", 24},     {"TMA", 24},     {"CBR", 24},    {"MODE.Exec", 18}, {"TIP.PGE", 10},
      {"TIP.PGD", 10}, {"PSB", 10},     {"PSBEND", 10}, {"MODE.TSX", 16}};
  for (const auto& [type, count] : expected) EXPECT_EQ(counts[type], count) << type;
}

TEST_F(RealTraces, BranchStacksAreListed) {
  for (const char* name : {"perf.data.branch-4.14", "perf.data.branch_stack_spec",
                           "perf.data.callgraph_and_branch-3.8"}) {
    Ran packets = hodo("packets " + data(name));
    EXPECT_TRUE(packets.status == 0 || packets.status == 3) << packets.err;
    EXPECT_NE(packets.out.find("branch stack of"), std::string::npos) << name;
  }
}

// An entry of a branch stack: from, to, and whether it was predicted (P), mispredicted (M) or -.
using Entry = std::tuple<std::uint64_t, std::uint64_t, char>;

// What `perf script -F brstack` prints, each stack oldest first. Registers that were never written
// are printed as 0x0/0x0 and are no branches.
std::vector<Entry> stacks_of_perf(const std::string& text) {
  std::vector<Entry> all;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<Entry> stack;
    std::stringstream words(line);
    for (std::string word; words >> word;) {
      unsigned long from = 0;
      unsigned long to = 0;
      char predicted = 0;
      if (std::sscanf(word.c_str(), "0x%lx/0x%lx/%c", &from, &to, &predicted) != 3) continue;
      if (from != 0 || to != 0) stack.emplace_back(from, to, predicted);
    }
    all.insert(all.end(), stack.rbegin(), stack.rend());
  }
  return all;
}

std::vector<Entry> branches_of_hodo(const std::string& text) {
  std::vector<Entry> all;
  std::stringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    json branch = json::parse(line);
    if (branch["kind"] == "begin" || branch["kind"] == "lost") continue;
    const auto address = [&](const char* name) {
      return std::stoull(branch.value(name, "0x0"), nullptr, 16);
    };
    const auto flags = branch.value("flags", json::array());
    const bool missed = std::ranges::find(flags, "mispredicted") != flags.end();
    all.emplace_back(address("from"), address("to"), missed ? 'M' : 'P');
  }
  return all;
}

TEST_F(RealTraces, BranchStacksAreWhatPerfPrints) {
  if (std::system("perf version > /dev/null 2>&1") != 0) GTEST_SKIP() << "perf is not installed";
  for (const char* name : {"perf.data.branch-4.14", "perf.data.branch_stack_spec",
                           "perf.data.callgraph_and_branch-3.8"}) {
    const std::string perf =
        "perf script -F brstack -i " + data(name) + " > " + at("perf") + " 2> " + at("errors");
    ASSERT_EQ(std::system(perf.c_str()), 0) << contents(at("errors"));
    Ran ran = hodo("branches --format jsonl " + data(name));
    EXPECT_EQ(ran.status, 3) << "the code is not at hand: " << ran.err;
    const std::vector<Entry> expected = stacks_of_perf(contents(at("perf")));
    EXPECT_GT(expected.size(), 100u);
    EXPECT_EQ(branches_of_hodo(ran.out), expected) << name;
  }
}

// Of a processor's trace, where nothing else names a thread than that it ran.
TEST_F(RealTraces, EveryThreadThatRanCanBeAskedFor) {
  for (const char* name : {"perf.data.intel_pt-4.14", "perf.data.callgraph_and_branch-3.8"}) {
    std::map<int, std::string> threads;
    std::stringstream lines(hodo("branches --format jsonl " + data(name)).out);
    for (std::string line; std::getline(lines, line);) {
      threads[json::parse(line)["tid"]] += line + "\n";
    }
    EXPECT_GT(threads.size(), 2u) << name;
    for (const auto& [tid, branches] : threads) {
      const Ran ran =
          hodo("branches --format jsonl --tid " + std::to_string(tid) + " " + data(name));
      EXPECT_EQ(ran.out, branches) << name << ", thread " << tid << ": " << ran.err;
    }
    const Ran none = hodo("branches --tid 99999 " + data(name));
    EXPECT_EQ(none.status, 2) << name;
    EXPECT_NE(none.err.find("no thread 99999 is in the recording"), std::string::npos) << none.err;
  }
}

}  // namespace
}  // namespace hodo::cli
