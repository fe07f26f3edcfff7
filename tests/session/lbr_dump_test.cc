#include "raw/lbr_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hodo::session {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// All stacks.
Result<std::vector<LbrDump>> dumps_of(Status (*parse)(std::string_view, const LbrDumpSink&),
                                      std::string_view text) {
  std::vector<LbrDump> out;
  const Status status = parse(text, [&](LbrDump dump) {
    out.push_back(std::move(dump));
    return Status();
  });
  if (!status) return std::unexpected(status.error());
  return out;
}

// "from>to" of each branch, newest first, with what is set.
std::vector<std::string> branches(const LbrDump& dump) {
  const auto stack = newest_first(dump);
  if (!stack) return {stack.error().message};
  std::vector<std::string> out;
  for (const hw::LbrEntry& entry : *stack) {
    char text[64];
    std::snprintf(text, sizeof text, "%lx>%lx", entry.from, entry.to);
    std::string line = text;
    if (entry.mispredicted) line += " mispredicted";
    if (entry.in_tx) line += " in_tx";
    if (entry.wrong_path) line += " wrong_path";
    if (entry.cycles != 0) line += " " + std::to_string(entry.cycles);
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> of_text(const std::string& text) {
  const auto dumps = dumps_of(parse_lbr_dump, text);
  if (!dumps) return {dumps.error().message};
  EXPECT_THAT(*dumps, SizeIs(1));
  return branches(dumps->at(0));
}

TEST(LbrDump, ComesNewestFirstFromTosDownwards) {
  EXPECT_THAT(of_text("format 5\n"
                      "tos 1\n"
                      "from0 0x10\nto0 0x20\ninfo0 0x8000000000000003\n"
                      "from1 0x30\nto1 0x40\n"
                      "from2 0x50\nto2 0x60\ninfo2 7\n"),
              ElementsAre("30>40", "10>20 mispredicted 3", "50>60 7"));
}

TEST(LbrDump, TakesAnyOfTheUsualSpellings) {
  EXPECT_THAT(of_text("# a comment is no end of a stack\n"
                      "LBR_FMT = info\n"
                      "\t TOS:0   # the newest\r\n"
                      "From[0] = 0x10\n"
                      "TO 0: 32\n"),
              ElementsAre("10>20"));
}

TEST(LbrDump, AProcessorGivesFormatDepthAndMeaningOfMsrs) {
  // Haswell: 16 records, FROM from 0x680, TO from 0x6c0, TOS 0x1c9; flags in FROM.
  EXPECT_THAT(of_text("family 6\nmodel 0x3c\n"
                      "0x1c9 = 0\n"
                      "0x680 = 0xc000000000401000\n0x6c0 = 0x402000\n"
                      "0x68f = 0x1fffffff81000000\n0x6cf = 0xffffffff81000010\n"),
              ElementsAre("401000>402000 mispredicted in_tx", "ffffffff81000000>ffffffff81000010"));
}

TEST(LbrDump, TosCountsThroughTheWholeStackOfTheProcessor) {
  EXPECT_THAT(
      of_text("vendor intel\nfamily 6\nmodel 94\ntos 31\nfrom31 1\nto31 2\nfrom0 3\nto0 4\n"),
      ElementsAre("1>2", "3>4"));
}

TEST(LbrDump, ADepthBelowTheProcessorsCounts) {
  EXPECT_THAT(of_text("family 6\nmodel 94\ndepth 2\ntos 1\nfrom0 1\nto0 2\nfrom1 3\nto1 4\n"
                      "from2 5\nto2 6\n"),
              ElementsAre("3>4", "1>2"));
}

TEST(LbrDump, ProcessorsWithArchitecturalLbrAreKnownByTheirModel) {
  for (const char* model : {"151", "143", "0xcf", "221"}) {
    EXPECT_THAT(of_text(std::string("family 6\nmodel ") + model +
                        "\n0x1500 0x10\n0x1600 0x20\n0x1200 0x8000000000000000\n"
                        "0x1501 0x30\n0x1601 0x40\n"),
                ElementsAre("10>20 mispredicted", "30>40"))
        << model;
  }
}

TEST(LbrDump, ProcessorsWithLbrExtV2AreKnownByTheirModel) {
  for (const char* processor : {"family 25\nmodel 97\n", "family 25\nmodel 0x11\n",
                                "family 26\nmodel 68\n", "family 0x1a\nmodel 2\n"}) {
    EXPECT_THAT(of_text(std::string("vendor amd\n") + processor +
                        "from0 0x8000000000401110\nto0 0x8000000000401200\n"
                        "0xc0010302 0x30\n0xc0010303 0x8000000000000040\n"),
                ElementsAre("401110>401200 mispredicted", "30>40"))
        << processor;
  }
  // Zen 3 has the pair of its ancestors, and so has Hygon's Zen.
  EXPECT_THAT(of_text("vendor AuthenticAMD\nfamily 25\nmodel 33\n0x1db 1\n0x1dc 2\n"),
              ElementsAre("1>2"));
  EXPECT_THAT(of_text("vendor HygonGenuine\nfamily 24\nmodel 1\n0x1db 1\n0x1dc 2\n"),
              ElementsAre("1>2"));
}

TEST(LbrDump, AFormatThatOnlyOneKindOfStackHasTellsWhereItsRegistersAre) {
  EXPECT_THAT(of_text("format 5\n0x1c9 1\n0x680 1\n0x6c0 2\n0x681 3\n0x6c1 4\n0xdc1 7\n"),
              ElementsAre("3>4 7", "1>2"));
  EXPECT_THAT(of_text("format 1\n0x680 1\n0x6c0 2\n"),
              ElementsAre(HasSubstr("say 'family' and 'model'")));
  EXPECT_THAT(of_text("family 6\nmodel 15\n0x680 1\n0x6c0 2\n"),
              ElementsAre(HasSubstr("which has them from 0x40 and 0x60 on")));
}

// A model of Alder Lake, but a stack with LBR_INFO and TOS: as said, not as the model has it.
TEST(LbrDump, AFormatThatIsNotTheProcessorsCounts) {
  EXPECT_THAT(of_text("family 6\nmodel 151\nformat 5\ntos 1\nfrom0 1\nto0 2\nfrom1 3\nto1 4\n"),
              ElementsAre("3>4", "1>2"));
}

// Linux does not use the stack of early Atoms, since it does not freeze; somebody else may.
TEST(LbrDump, EverySteppingCounts) {
  const std::string rest = "tos 0\n0x40 1\n0x60 2\n";
  EXPECT_THAT(of_text("family 6\nmodel 28\n" + rest), ElementsAre("1>2"));
  EXPECT_THAT(of_text("family 6\nmodel 28\nstepping 2\n" + rest), ElementsAre("1>2"));
}

TEST(LbrDump, PackedRegistersHoldBothAddresses) {
  // Pentium M: eight registers from 0x40, TO above FROM.
  EXPECT_THAT(of_text("family 6\nmodel 13\ntos 0\n0x40 0x0000200000001000\n"),
              ElementsAre("1000>2000"));
}

TEST(LbrDump, Record0IsTheNewestWhereThereIsNoTos) {
  EXPECT_THAT(of_text("format arch\nfrom0 0x10\nto0 0x20\nfrom1 0x30\nto1 0x40\n"),
              ElementsAre("10>20", "30>40"));
  // Bit 63 of TO says that it is valid, 62 that it was speculative.
  EXPECT_THAT(of_text("format amd_v2\nfrom0 0x10\nto0 0x8000000000000020\n"
                      "from1 0x30\nto1 0x4000000000000040\n"),
              ElementsAre("10>20", "30>40 wrong_path"));
}

TEST(LbrDump, TypesAllZeroWereNotRecorded) {
  const auto types = [](const std::string& text) {
    std::vector<std::optional<hw::BranchClass>> out;
    const auto dumps = dumps_of(parse_lbr_dump, text);
    const auto stack = newest_first(dumps->at(0));
    for (const hw::LbrEntry& entry : *stack) out.push_back(entry.type);
    return out;
  };
  const std::string stack = "format arch\nfrom0 1\nto0 2\nfrom1 3\nto1 4\n";
  EXPECT_THAT(types(stack + "info0 0x1000000000000007\n"), ElementsAre(std::nullopt, std::nullopt));
  EXPECT_THAT(types(stack + "info0 0x0500000000000000\n"),
              ElementsAre(hw::BranchClass::ret, hw::BranchClass::cond));
}

TEST(LbrDump, RegistersThatWereNeverWrittenAreNoBranches) {
  EXPECT_THAT(of_text("format 1\ntos 1\nfrom0 0\nto0 0\nfrom1 1\nto1 2\n"), ElementsAre("1>2"));
}

TEST(LbrDump, AnEmptyLineEndsAStackButNotWhatIsSaidOfTheProcessor) {
  const auto dumps =
      dumps_of(parse_lbr_dump, "format 1\n\ntos 0\nfrom0 1\nto0 2\n\n\ntos 0\nfrom0 3\nto0 4");
  ASSERT_TRUE(dumps);
  ASSERT_THAT(*dumps, SizeIs(2));
  EXPECT_THAT(branches(dumps->at(0)), ElementsAre("1>2"));
  EXPECT_THAT(branches(dumps->at(1)), ElementsAre("3>4"));
}

TEST(LbrDump, SaysWhatIsMissing) {
  EXPECT_THAT(of_text("from0 1\nto0 2\n"), ElementsAre(HasSubstr("say 'format'")));
  EXPECT_THAT(of_text("format 1\nfrom0 1\nto0 2\nfrom1 1\nto1 2\n"),
              ElementsAre(HasSubstr("say 'tos'")));
  EXPECT_THAT(of_text("format 1\ntos 2\nfrom0 1\nto1 2\n"),
              ElementsAre(HasSubstr("tos is 2 in a stack of 2")));
  EXPECT_THAT(of_text("family 6\nmodel 94\ntos 32\nfrom0 1\nto0 2\n"),
              ElementsAre(HasSubstr("tos is 32 in a stack of 32")));
}

TEST(LbrDump, SaysWhichLineIsNone) {
  EXPECT_THAT(of_text("format 1\nfrom0 1\nhello\n"), ElementsAre(HasSubstr("line 3: 'hello'")));
  EXPECT_THAT(of_text("from0 x\n"), ElementsAre("line 1: from0: 'x' is no number"));
  EXPECT_THAT(of_text("format 9\n"), ElementsAre(HasSubstr("'9' is no LBR format")));
  EXPECT_THAT(of_text("from4096 1\n"), ElementsAre(HasSubstr("no stack is that deep")));
  EXPECT_THAT(of_text("depth 4097\n"), ElementsAre(HasSubstr("no stack is that deep")));
  EXPECT_THAT(of_text("depth 0\n"), ElementsAre(HasSubstr("it is 1 to 4096")));
  EXPECT_THAT(of_text("family 65542\n"), ElementsAre(HasSubstr("it is 0 to 270")));
  EXPECT_THAT(of_text("model 350\n"), ElementsAre(HasSubstr("it is 0 to 255")));
  EXPECT_THAT(of_text("vendor intell\n"), ElementsAre(HasSubstr("'intell' is no vendor")));
  EXPECT_THAT(of_text("tos 99999999999999999999\n"), ElementsAre(HasSubstr("is no number")));
}

TEST(LbrJson, ObjectsAndArraysOfThem) {
  const auto dumps = dumps_of(
      parse_lbr_json,
      R"([{"family": 6, "model": "0x5e", "tos": 1, "from": ["0x10", 48], "to": [32, "0x40"],
           "info": ["0x8000000000000000"]},
          {"format": "arch", "from0": 1, "to0": 2}])");
  ASSERT_TRUE(dumps) << dumps.error().message;
  ASSERT_THAT(*dumps, SizeIs(2));
  EXPECT_THAT(branches(dumps->at(0)), ElementsAre("30>40", "10>20 mispredicted"));
  EXPECT_THAT(branches(dumps->at(1)), ElementsAre("1>2"));
}

TEST(LbrJson, SaysWhatIsNone) {
  EXPECT_THAT(dumps_of(parse_lbr_json, "{").error().message, HasSubstr("no well-formed JSON"));
  EXPECT_THAT(dumps_of(parse_lbr_json, "[1]").error().message, HasSubstr("no JSON object"));
  EXPECT_THAT(dumps_of(parse_lbr_json, R"({"tos": -1})").error().message,
              HasSubstr("is no number"));
  EXPECT_THAT(dumps_of(parse_lbr_json, R"({"from": [{}]})").error().message,
              HasSubstr("is no number"));
}

// No stack waits for the end of the file: memory does not grow with it.
TEST(LbrJson, HandsEachStackOnAtOnce) {
  int seen = 0;
  const auto count = [&](const LbrDump& dump) {
    EXPECT_EQ(dump.from.size(), 1u) << "of this stack alone";
    ++seen;
    return Status();
  };
  const Status cut = parse_lbr_json(R"([{"from": [1]}, {"from": [2]}, {"from")", count);
  EXPECT_THAT(cut.error().message, HasSubstr("no well-formed JSON"));
  EXPECT_EQ(seen, 2);
  const auto refuse = [&](const LbrDump&) -> Status {
    ++seen;
    return fail(ErrorCode::no_space, "enough");
  };
  EXPECT_EQ(parse_lbr_json(R"([{"from": [1]}, {"from": [2]}])", refuse).error().message, "enough");
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace hodo::session
