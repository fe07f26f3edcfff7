// Help, version, manual pages and completions of the built command.
#include "run_fixture.h"

namespace hodo::cli {
namespace {

const std::vector<std::string> kCommands{"report", "branches",   "packets", "stats",
                                         "doctor", "completion", "help",    "explain"};

TEST_F(Command, HelpOfEveryCommandHasExamplesAndExitStatus) {
  for (const std::string& name : kCommands) {
    Ran ran = hodo(name + " --help");
    EXPECT_EQ(ran.status, 0) << name;
    EXPECT_TRUE(ran.out.starts_with("hodo " + name + " - ")) << ran.out;
    for (const char* part : {"\nUsage: hodo ", "\nExamples:\n", "\nExit status:\n", "--help"}) {
      EXPECT_NE(ran.out.find(part), std::string::npos) << part << " in " << ran.out;
    }
    EXPECT_EQ(hodo("help " + name).out, ran.out);
    std::stringstream lines(ran.out);
    std::string line;
    // Examples are typed as they are and may be longer.
    while (std::getline(lines, line) && line != "Examples:") EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST_F(Command, HelpListsTheCommands) {
  Ran ran = hodo("--help");
  EXPECT_EQ(ran.status, 0);
  for (const std::string& name : kCommands) {
    EXPECT_NE(ran.out.find("\n  " + name + " "), std::string::npos) << ran.out;
  }
  EXPECT_EQ(hodo("help").out, ran.out);
  EXPECT_EQ(hodo("-h").out, ran.out);
}

TEST_F(Command, Version) {
  Ran ran = hodo("--version");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.out, "hodo " HODO_VERSION "\n");
}

TEST_F(Command, UnknownCommandSuggestsTheNearest) {
  Ran ran = hodo("brnaches");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err,
            "hodo: unknown command 'brnaches' (did you mean 'branches'?); see 'hodo --help'\n");
  EXPECT_EQ(hodo("help xyzzy").status, 2);
  EXPECT_EQ(hodo("").status, 2);
}

// A baseline is read and written.
TEST_F(Command, BaselinesAreNoStandardOutput) {
  const Ran ran = hodo("check --learn - nothing.data");
  EXPECT_EQ(ran.status, 2);
  EXPECT_TRUE(ran.err.starts_with("hodo: --learn -: ")) << ran.err;
}

TEST_F(Command, ManPagesPassTheFormatter) {
  bool formatter = std::system("command -v man > /dev/null 2>&1") == 0;
  for (const std::string& name : kCommands) {
    Ran page = hodo("help --man " + name);
    EXPECT_EQ(page.status, 0);
    for (const char* part :
         {".TH ", ".SH NAME", ".SH OPTIONS", ".SH EXAMPLES", ".SH EXIT STATUS"}) {
      EXPECT_NE(page.out.find(part), std::string::npos) << part << " in " << page.out;
    }
    if (!formatter) continue;
    write("page.1", page.out);
    std::string line =
        "cd '" + folder_.string() + "' && man --warnings -l page.1 2> warnings > text";
    EXPECT_EQ(std::system(line.c_str()), 0);
    EXPECT_EQ(contents(at("warnings")), "") << name;
  }
  if (!formatter) GTEST_SKIP() << "no man here: the pages were made but not formatted";
}

// What bash offers for a command line, one word per line.
std::string offered(const std::string& folder, const std::string& words, int current) {
  std::string script = "source " + folder + "/hodo.bash; COMP_WORDS=(" + words +
                       "); COMP_CWORD=" + std::to_string(current) +
                       "; _hodo; printf '%s\\n' \"${COMPREPLY[@]}\"";
  std::ofstream(folder + "/ask.sh") << script;
  EXPECT_EQ(std::system(("bash " + folder + "/ask.sh > " + folder + "/offered").c_str()), 0);
  return contents(folder + "/offered");
}

TEST_F(Command, BashCompletes) {
  write("hodo.bash", hodo("completion bash").out);
  std::string folder = folder_.string();
  EXPECT_EQ(offered(folder, "hodo br", 1), "branches\n");
  EXPECT_EQ(offered(folder, "hodo branches --format js", 3), "jsonl\n");
  EXPECT_EQ(offered(folder, "hodo branches --not", 2), "--not-taken\n");
  EXPECT_EQ(offered(folder, "hodo completion f", 2), "fish\n");
  EXPECT_EQ(offered(folder, "hodo help st", 2), "stats\n");
  EXPECT_EQ(offered(folder, "hodo help vm r", 3), "record\n");
  EXPECT_EQ(offered(folder, "hodo vm ps --qm", 3), "--qmp\n");
  EXPECT_EQ(offered(folder, "hodo show cr", 2), "crash\n");
  EXPECT_EQ(offered(folder, "hodo show crash cr", 3), "\n") << "a file";
  EXPECT_EQ(offered(folder, "hodo branches --from f", 3), "finding:\n");
  EXPECT_EQ(offered(folder, "hodo show crash --step ov", 4), "over\n");
  EXPECT_EQ(offered(folder, "hodo explain chain.r", 2), "chain.rop\n");
  EXPECT_EQ(offered(folder, "hodo record --check -- bas", 4).substr(0, 4), "bash");
  EXPECT_EQ(offered(folder, "hodo record -- bash --ver", 4), "\n") << "the program's own";
  EXPECT_EQ(offered(folder, "hodo report x", 2), "\n") << "file names are left to bash";
}

// What fish offers for a command line, one word per line.
TEST_F(Command, FishCompletes) {
  if (std::system("command -v fish > /dev/null 2>&1") != 0) GTEST_SKIP() << "no fish here";
  write("hodo.fish", hodo("completion fish").out);
  const auto offers = [&](const std::string& line) {
    write("ask.fish", "source hodo.fish; complete -C '" + line + "' | string split -f1 \\t");
    // Its status says whether the last of them was split.
    const std::string words =
        "cd '" + folder_.string() + "' && HOME=. fish ask.fish > offered; true";
    EXPECT_EQ(std::system(words.c_str()), 0);
    return contents(at("offered"));
  };
  EXPECT_EQ(offers("hodo br"), "branches\n");
  EXPECT_EQ(offers("hodo help vm r"), "record\n");
  EXPECT_EQ(offers("hodo vm ps --qm"), "--qmp\n");
  EXPECT_EQ(offers("hodo vm record --sour"), "") << "of hodo record";
  EXPECT_EQ(offers("hodo record --sour"), "--source\n");
  EXPECT_EQ(offers("hodo show cr"), "crash\n");
  EXPECT_EQ(offers("hodo show crash cr"), "");
  EXPECT_EQ(offers("hodo show crash hodo.f"), "hodo.fish\n");
  EXPECT_EQ(offers("hodo branches --from f"), "finding:\n");
  EXPECT_EQ(offers("hodo list main --top hodo.f"), "") << "a number";
}

TEST_F(Command, HelpTakesTheWordsOfACommand) {
  EXPECT_EQ(hodo("help vm record").out, hodo("vm record --help").out);
  const Ran ran = hodo("help vm");
  EXPECT_EQ(ran.status, 2);
  EXPECT_TRUE(ran.err.starts_with("hodo: vm is several commands: 'hodo vm record' or ")) << ran.err;
  EXPECT_EQ(hodo("help vm recrod").err,
            "hodo: unknown command 'vm recrod' (did you mean 'vm record'?)\n");
}

}  // namespace
}  // namespace hodo::cli
