// hodo help [COMMAND]: the same text as --help, or the manual page.
#include <fmt/format.h>

#include <memory>

#include "commands.h"
#include "help.h"
#include "man.h"
#include "output_file.h"
#include "version.h"

namespace hodo::cli {
namespace {

struct HelpOptions {
  std::vector<std::string> command;  // its words
  bool man = false;
};

int run(const Program& program, const HelpOptions& options) {
  std::string name;
  for (const std::string& word : options.command) name += (name.empty() ? "" : "-") + word;
  const CLI::App* app = name.empty() || name == "hodo" ? &program.app() : program.find(name);
  if (app == nullptr) {
    const std::string members = program.group(name);
    const std::string line = members.empty()
                                 ? fmt::format("hodo: {}\n", program.unknown(Program::spoken(name)))
                                 : fmt::format("hodo: {} is several commands: {}\n", name, members);
    std::fputs(line.c_str(), stderr);
    return kExitUsage;
  }
  CommandModel model = model_of(program, *app);
  return print_text(options.man ? man_page(model, version()) : help_text(model));
}

}  // namespace

void add_help(Program& program) {
  auto options = std::make_shared<HelpOptions>();
  OptionSet app =
      program.command("help",
                      {.summary = "describe hodo or one of its commands",
                       .description = "Prints what 'hodo COMMAND --help' prints.",
                       .examples = {{"hodo help record", "Describe the record command."}},
                       .exit_statuses = {{"0", "Done."}, {"2", "There is no such command."}}},
                      [&program, options] { return run(program, *options); });
  app.add_option("COMMAND", options->command,
                 "the command to describe; without it, hodo as a whole");
  // For the build, which makes docs/man with it.
  app.add_flag("--man", options->man, "print the manual page in roff").hidden();
}

}  // namespace hodo::cli
