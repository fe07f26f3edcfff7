// hodo coverage on a recording made by hand.
#include <nlohmann/json.hpp>

#include "recording_fixture.h"
#include "run_fixture.h"

namespace hodo::cli {
namespace {

using ::nlohmann::json;

class CoverageCommand : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    write_recording(at("hodo.data"));
  }
};

TEST_F(CoverageCommand, JsonHasEveryBlockAndEdgeWithItsCount) {
  Ran ran = hodo("coverage --json");
  EXPECT_EQ(ran.status, 0) << ran.err;
  json coverage = json::parse(ran.out);
  ASSERT_EQ(coverage["modules"].size(), 1u);
  const json& code = coverage["modules"][0];
  EXPECT_EQ(code["path"], "[anon]");
  EXPECT_EQ(code["blocks"], json::parse(R"([
    {"address": "0x401000", "size": 5, "count": 2},
    {"address": "0x401005", "size": 2, "count": 2},
    {"address": "0x401007", "size": 2, "count": 1},
    {"address": "0x401009", "size": 2, "count": 2},
    {"address": "0x40100b", "size": 2, "count": 1},
    {"address": "0x401010", "size": 1, "count": 2}])"));
  EXPECT_EQ(code["edges"], json::parse(R"([
    {"from": "0x401000", "to": "0x401010", "to_module": 0, "kind": "call", "taken": true,
     "count": 2},
    {"from": "0x401005", "to": "0x401007", "to_module": 0, "kind": "cond", "taken": false,
     "count": 1},
    {"from": "0x401005", "to": "0x401009", "to_module": 0, "kind": "cond", "taken": true,
     "count": 1},
    {"from": "0x40100b", "to": "0x401000", "to_module": 0, "kind": "jmp", "taken": true,
     "count": 1},
    {"from": "0x401010", "to": "0x401005", "to_module": 0, "kind": "ret", "taken": true,
     "count": 2}])"));
}

TEST_F(CoverageCommand, Text) {
  Ran ran = hodo("coverage");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "Files\n"
            "  functions    blocks    lines    edges  file\n"
            "          -         6        -        5  [anon]\n");
}

TEST_F(CoverageCommand, DrcovHasTheBlocksThatRan) {
  for (const char* format : {"drcov", "drcov2"}) {
    std::string out = hodo(std::string("coverage --format ") + format).out;
    std::size_t table = out.find("BB Table: 6 bbs\n");
    ASSERT_NE(table, std::string::npos) << out;
    EXPECT_EQ(out.size(), table + 16 + 6 * 8);
    EXPECT_EQ(out.substr(table + 16, 8), std::string("\x00\x10\x40\x00\x05\x00\x00\x00", 8));
  }
}

TEST_F(CoverageCommand, BitmapHasAByteForEachEdge) {
  std::string map = hodo("coverage --format bitmap --map-size 4096").out;
  ASSERT_EQ(map.size(), 4096u);
  EXPECT_EQ(std::ranges::count(map, '\2'), 2);
  EXPECT_EQ(std::ranges::count(map, '\1'), 3);
  EXPECT_EQ(hodo("coverage --format bitmap --map-size 1000").status, 2);
}

TEST_F(CoverageCommand, AModuleThatIsNowhereIsAnError) {
  for (const char* how : {"", " --json"}) {
    const Ran ran = hodo(std::string("coverage --module other") + how);
    EXPECT_EQ(ran.status, 2);
    EXPECT_NE(ran.err.find("no code of a module 'other' ran; what ran is"), std::string::npos);
    EXPECT_TRUE(ran.out.empty()) << ran.out;
  }
}

// An interrupt before the nop at 401007: the block was entered, but not executed.
TEST_F(CoverageCommand, WhatWasInterruptedBeforeItRanDidNotRun) {
  Packets p;
  p.start(2000).ip(pt::PacketType::tip_pge, 0x401005).tnt(1, 0);
  p.ip(pt::PacketType::fup, 0x401007).add({.type = pt::PacketType::tip_pgd});
  write_recording(at("cut.data"), {.threads = {{42, 42, p.bytes()}}});
  json coverage = json::parse(hodo("coverage --json cut.data").out);
  const json& blocks = coverage["modules"][0]["blocks"];
  ASSERT_EQ(blocks.size(), 1u) << blocks;
  EXPECT_EQ(blocks[0]["address"], "0x401005");
}

}  // namespace
}  // namespace hodo::cli
