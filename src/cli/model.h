// A command's definition as plain data: what help, manual pages and completions are rendered from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.h"

namespace hodo::cli {

struct OptionModel {
  std::vector<std::string> names;  // "-o", "--output"; empty for an argument
  std::string value;               // "FILE", "text|csv"; empty for a flag
  std::string type;                // the same, where an argument is called otherwise
  std::string text;                // what it does
  bool argument = false;           // positional
  bool required = false;
  bool repeats = false;

  // The words that `type` offers: "text|csv" has two, "FILE" none.
  std::vector<std::string> choices() const;
};

struct CommandModel {
  std::string name;  // "hodo branches", or "hodo"
  Manual manual;
  std::vector<OptionModel> options;  // in order of definition; hidden ones left out
  std::vector<CommandModel> commands;

  // "hodo branches [OPTIONS] [FILE]".
  bool runs_program = false;  // takes another program's command line at its end
  std::string usage() const;
  // The paragraphs of the manual's description, newlines turned into blanks.
  std::vector<std::string> paragraphs() const;
  // What is typed after `hodo`: "branches", "vm record".
  std::string words() const;
  // The same as one word: "vm-record".
  std::string word() const;
};

// `app` is program.app() or one of its subcommands.
CommandModel model_of(const Program& program, const CLI::App& app);

}  // namespace hodo::cli
