// hodo calls on a recording made by hand.
#include <nlohmann/json.hpp>

#include "recording_fixture.h"
#include "run_fixture.h"

namespace hodo::cli {
namespace {

using ::nlohmann::json;

class Calls : public Command {
 protected:
  void SetUp() override {
    Command::SetUp();
    write_recording(at("hodo.data"));
  }
};

TEST_F(Calls, Text) {
  Ran ran = hodo("calls");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("sample 42/42  11 instructions, 500 ns\n")) << ran.out;
  EXPECT_NE(ran.out.find("81.8%"), std::string::npos) << ran.out;
}

// call ret je syscall; jmp call ret je nop nop syscall: two of eleven in the function called.
TEST_F(Calls, Folded) {
  EXPECT_EQ(hodo("calls --format folded").out,
            "sample-42;[anon] 9\nsample-42;[anon];[anon+0x401010] 2\n");
  EXPECT_EQ(hodo("calls --format folded --depth 1").out, "sample-42;[anon] 11\n");
  EXPECT_EQ(hodo("calls --format folded --by time").out, "sample-42;[anon] 500\n");
}

TEST_F(Calls, Json) {
  Ran ran = hodo("calls --json");
  json tree = json::parse(ran.out);
  EXPECT_EQ(tree["complete"], true);
  ASSERT_EQ(tree["threads"].size(), 1u);
  const json& thread = tree["threads"][0];
  EXPECT_EQ(thread["comm"], "sample");
  EXPECT_EQ(thread["instructions"], 11);
  ASSERT_EQ(thread["paths"].size(), 2u);
  EXPECT_EQ(thread["paths"][0]["parent"], nullptr);
  EXPECT_EQ(thread["paths"][1]["parent"], 0);
  EXPECT_EQ(thread["paths"][1]["calls"], 2);
  EXPECT_EQ(thread["paths"][1]["self_instructions"], 2);
  EXPECT_EQ(tree["functions"][thread["paths"][1]["function"].get<std::size_t>()]["name"],
            "[anon+0x401010]");
  EXPECT_EQ(json::parse(hodo("calls --format json").out), tree);
}

TEST_F(Calls, SmallPathsAreLeftOut) {
  Ran ran = hodo("calls --min-percent 50");
  EXPECT_EQ(ran.out.find("0x10]"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("1 call paths are below 50%"), std::string::npos) << ran.out;
}

TEST_F(Calls, AnUnfinishedRecordingIsIncomplete) {
  write_recording(at("died.data"), {.finish = false});
  Ran ran = hodo("calls died.data");
  EXPECT_EQ(ran.status, 3);
  EXPECT_NE(ran.err.find("unfinished"), std::string::npos) << ran.err;
}

TEST_F(Calls, NamesCannotSteerTheTerminalNorBreakTheFoldedLines) {
  write_recording(at("evil.data"), {.comm = "\033[2Ja;b\n"});
  Ran ran = hodo("calls --format folded evil.data");
  EXPECT_TRUE(ran.out.starts_with("\\x1b[2Ja:b\\x0a-42;[anon] 9\n")) << ran.out;
  EXPECT_EQ(hodo("calls evil.data").out.find('\033'), std::string::npos);
}

}  // namespace
}  // namespace hodo::cli
