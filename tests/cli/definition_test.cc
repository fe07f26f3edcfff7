// Help, manual pages and completions are rendered from one definition; here from a small one.
#include <gtest/gtest.h>

#include <memory>

#include "complete.h"
#include "help.h"
#include "man.h"

namespace hodo::cli {
namespace {

class Definition : public ::testing::Test {
 protected:
  Definition() {
    OptionSet app =
        program_.command("count",
                         {.summary = "count things",
                          .description = "Counts every thing. It's quick.\n\n.Second paragraph\\.",
                          .examples = {{"hodo count -o F", "Count into F."}},
                          .exit_statuses = {{"0", "Counted."}}},
                         [this] { return ran_ = 7; });
    app.add_option("-o,--output", file_, "where the counts go");
    add_choice<int>(app, "--unit", unit_, {{"one", 1}, {"dozen", 12}}, "what to count in");
    app.add_option("--limit", limit_, "how many at most").type_name("N").range(1, 100);
    app.add_option("--skip", skip_, "how many not to count").type_name("N");
    app.add_option("FILE", file_, "what to count");
  }

  int run(std::vector<std::string> words) {
    words.insert(words.begin(), "hodo");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    return program_.run(static_cast<int>(argv.size()), argv.data());
  }
  CommandModel model() { return model_of(program_, *program_.find("count")); }

  Program program_;
  std::string file_;
  int unit_ = 1;
  std::uint64_t limit_ = 100;
  std::uint32_t skip_ = 0;
  int ran_ = 0;
};

TEST_F(Definition, RunsTheChosenCommand) {
  EXPECT_EQ(run({"count", "--unit", "dozen", "--limit", "3", "things"}), 7);
  EXPECT_EQ(limit_, 3U);
  EXPECT_EQ(unit_, 12);
  EXPECT_EQ(file_, "things");
}

TEST_F(Definition, WrongUsageIsStatusTwoAndRunsNothing) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"cuont"},
                                                {"count", "--unit", "score"},
                                                {"count", "--nothing"},
                                                {"count", "--limit", "0"},
                                                {"count", "--limit", "101"},
                                                {"count", "--limit", "-3"},
                                                {"count", "--limit", "many"},
                                                {"count", "--skip", "-3"},
                                                {"count", "--skip", "4294967296"},
                                                {"count", "a", "b"},
                                                {"--nothing"}}) {
    EXPECT_EQ(run(words), kExitUsage);
  }
  EXPECT_EQ(ran_, 0);
}

TEST_F(Definition, UnknownCommandNamesTheNearest) {
  EXPECT_EQ(program_.unknown("cuont"), "unknown command 'cuont' (did you mean 'count'?)");
  EXPECT_EQ(program_.unknown("xyzzy"), "unknown command 'xyzzy'");
}

TEST_F(Definition, HelpHasEveryPart) {
  EXPECT_EQ(help_text(model()),
            "hodo count - count things\n"
            "\n"
            "Usage: hodo count [OPTIONS] [FILE]\n"
            "\n"
            "Counts every thing. It's quick.\n"
            "\n"
            ".Second paragraph\\.\n"
            "\n"
            "Arguments:\n"
            "  FILE                    what to count\n"
            "\n"
            "Options:\n"
            "  -h, --help              show this help and exit\n"
            "  -o, --output TEXT       where the counts go\n"
            "      --unit one|dozen    what to count in\n"
            "      --limit N           how many at most\n"
            "      --skip N            how many not to count\n"
            "\n"
            "Examples:\n"
            "  hodo count -o F\n"
            "      Count into F.\n"
            "\n"
            "Exit status:\n"
            "  0   Counted.\n");
}

TEST_F(Definition, ManPageEscapesRoff) {
  std::string page = man_page(model(), "1.2.3");
  EXPECT_NE(page.find(".TH HODO\\-COUNT 1 \"\" \"hodoscope 1.2.3\""), std::string::npos) << page;
  EXPECT_NE(page.find("\n\\&.Second paragraph\\e.\n"), std::string::npos) << page;
  EXPECT_NE(page.find("\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fITEXT\\fR"), std::string::npos)
      << page;
}

TEST_F(Definition, CompletionsKnowCommandsOptionsAndChoices) {
  CommandModel whole = model_of(program_, program_.app());
  for (const std::string& script :
       {bash_completion(whole), zsh_completion(whole), fish_completion(whole)}) {
    EXPECT_NE(script.find("count"), std::string::npos) << script;
    EXPECT_NE(script.find("one dozen"), std::string::npos) << script;
    EXPECT_NE(script.find("output"), std::string::npos) << script;
  }
}

}  // namespace
}  // namespace hodo::cli
