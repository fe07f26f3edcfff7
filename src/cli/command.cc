#include "command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>

#include "help.h"
#include "model.h"
#include "output_file.h"
#include "reading.h"
#include "suggest.h"
#include "version.h"

namespace hodo::cli {
namespace {

const std::string kHelpText = "show this help and exit";
const std::string kVersionText = "show the version and exit";

Manual program_manual() {
  return {
      .summary = "record and read the branches that a program took",
      .description =
          "hodo records every branch of a program: with a processor that has Intel PT the kernel "
          "does, on every other x86-64 machine a software trace unit, which writes the same "
          "packets. The recording is a perf.data file; the reading commands rebuild the executed "
          "path from it and from the program's files.\n\n"
          "Each command reads hodo.data unless it is given another FILE.",
      .examples = {{"hodo record -- ls -l /usr/bin", "Record a program and print the report."},
                   {"hodo report", "Show the report of the last recording again."},
                   {"hodo branches | less", "Look at every branch that it took."}},
      .exit_statuses = reading_exit_statuses()};
}

int usage_error(const std::string& message, std::string_view command) {
  std::string line = fmt::format("hodo: {}; see 'hodo {}{}--help'\n", message, command,
                                 command.empty() ? "" : " ");
  std::fputs(line.c_str(), stderr);
  return kExitUsage;
}

// CLI11's messages end in anything; ours are one line without a period.
std::string one_line(std::string message) {
  for (char& c : message) {
    if (c == '\n') c = ' ';
  }
  while (!message.empty() && (message.back() == '.' || message.back() == ' ')) message.pop_back();
  return message;
}

// What was given that nothing takes, and the option that may have been meant.
std::string surplus(const CLI::App& program) {
  const std::vector<std::string> words = program.remaining(true);
  const std::string first = words.empty() ? "" : words.front().substr(0, words.front().find('='));
  if (!first.starts_with("-")) return fmt::format("unexpected argument '{}'", first);
  std::vector<std::string> options;
  for (const CLI::App* command : program.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
    }
  }
  const std::string nearest = nearest_word(first, options);
  return fmt::format("unknown option '{}'{}", first,
                     nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest));
}

}  // namespace

std::vector<ExitStatus> reading_exit_statuses() {
  return {{"0",
           "Done, and nothing of the recording was lost; of one that is still being made, nothing "
           "of the part that was there, which is told on standard error."},
          {"2", "Wrong usage, or the input cannot be read."},
          {"3",
           "Done, but part of the recording was lost or could not be decoded; the output says what "
           "and why."}};
}

Program::Program() : app_(std::make_unique<CLI::App>("", "hodo")), manual_(program_manual()) {
  app_->set_help_flag();
  // Behind one command its siblings' names are arguments: files, or what to describe.
  app_->require_subcommand(0, 1);
  app_->add_flag("-h,--help", kHelpText);
  app_->add_flag("-V,--version", kVersionText);
}

Program::~Program() = default;

OptionSet Program::command(const std::string& name, Manual manual, Action action) {
  CLI::App* app = app_->add_subcommand(name, std::string(manual.summary));
  app->set_help_flag();
  app->add_flag("-h,--help", kHelpText);
  entries_.push_back({app, std::move(manual), std::move(action)});
  return OptionSet(*app);
}

const Manual& Program::manual(const CLI::App& app) const {
  for (const Entry& entry : entries_) {
    if (entry.app == &app) return entry.manual;
  }
  return manual_;
}

const CLI::App* Program::find(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.app->get_name() == name) return entry.app;
  }
  return nullptr;
}

std::vector<std::string> Program::remaining(std::string_view name) const {
  return find(name)->remaining();
}

std::string Program::unknown(std::string_view name) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (!entry.app->get_group().empty()) names.push_back(spoken(entry.app->get_name()));
  }
  std::string message = fmt::format("unknown command '{}'", name);
  std::string nearest = nearest_word(spoken(std::string(name)), names);
  return nearest.empty() ? message : fmt::format("{} (did you mean '{}'?)", message, nearest);
}

void Program::join_group(std::vector<std::string>& words) const {
  if (words.size() < 2 || find(words[0] + "-" + words[1]) == nullptr) return;
  words[1].insert(0, words[0] + "-");
  words.erase(words.begin());
}

std::string Program::group(std::string_view word) const {
  std::string members;
  for (const Entry& entry : entries_) {
    const std::string& name = entry.app->get_name();
    if (!name.starts_with(std::string(word) + "-")) continue;
    members += fmt::format("{}'hodo {}'", members.empty() ? "" : " or ", spoken(name));
  }
  return members;
}

std::string Program::spoken(std::string name) {
  std::ranges::replace(name, '-', ' ');
  return name;
}

int Program::parse(int argc, char** argv, const Entry*& chosen) {
  std::vector<std::string> words(argv + 1, argv + argc);
  join_group(words);
  const std::string first = words.empty() ? "" : words[0];
  if (!first.empty() && first[0] != '-' && find(first) == nullptr) {
    const std::string members = group(first);
    return usage_error(
        members.empty() ? unknown(first) : fmt::format("{}: write {}", first, members), "");
  }
  // Help is asked for anywhere before a "--", even among options that would not parse.
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    const std::string& word = words[i];
    const CLI::App* app = find(first);
    bool own = app == nullptr || !app->get_prefix_command();
    // What follows a command that runs another program is that program's, but for the first word.
    if (i > 1 && !own) break;
    if (word == "--help" || word == "-h") {
      return print_text(help_text(model_of(*this, app == nullptr ? *app_ : *app)));
    }
  }
  const CLI::App* app = find(first);
  if (app != nullptr && app->get_prefix_command()) {
    // The words of the other program need no "--" in front; CLI11 would take them for its own.
    const auto mark = std::find(words.begin(), words.end(), "--");
    if (mark != words.end()) words.erase(mark);
  }
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app_->parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    return usage_error(surplus(*app_), find(first) == nullptr ? "" : spoken(first));
  } catch (const CLI::ParseError& error) {
    return usage_error(one_line(error.what()), find(first) == nullptr ? "" : spoken(first));
  }
  if (app_->count("--version") != 0) {
    return print_text(fmt::format("hodo {}\n", version()));
  }
  for (const Entry& entry : entries_) {
    if (app_->got_subcommand(entry.app->get_name())) chosen = &entry;
  }
  return chosen == nullptr ? usage_error("no command given", "") : kExitOk;
}

int Program::run(int argc, char** argv) {
  const Entry* chosen = nullptr;
  int status = parse(argc, argv, chosen);
  if (chosen == nullptr) return status;
  try {
    return chosen->action();
  } catch (const std::bad_alloc&) {
    return report_error("", {ErrorCode::no_space,
                             "there is not enough memory; remedy: let hodo have more (ulimit -v)"});
  }
}

}  // namespace hodo::cli
