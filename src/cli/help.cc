#include "help.h"

#include <fmt/format.h>

namespace hodo::cli {
namespace {

constexpr std::size_t kColumns = 80;

// Appends `text`, broken at blanks, each line behind `indent` blanks. The first line starts at
// column `column` of the line that `out` ends in.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent,
                    std::size_t column) {
  if (column < indent) {
    out.append(indent - column, ' ');
    column = indent;
  }
  bool first = true;
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (!first && column + 1 + word.size() > kColumns) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
      first = true;
    }
    if (!first) out += ' ';
    out += word;
    column += word.size() + !first;
    first = false;
  }
  out += '\n';
}

void append_item(std::string& out, const std::string& term, std::string_view text,
                 std::size_t indent) {
  out += "  " + term;
  std::size_t column = term.size() + 2;
  if (column + 2 > indent) {
    out += '\n';
    column = 0;
  }
  append_wrapped(out, text, indent, column);
}

std::string term(const OptionModel& option) {
  if (option.argument) return option.value;
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "" : ", ") + name;
  if (option.names.front().starts_with("--")) out = "    " + out;
  return option.value.empty() ? out : out + " " + option.value;
}

void append_options(std::string& out, const CommandModel& command, bool arguments) {
  bool any = false;
  for (const OptionModel& option : command.options) {
    if (option.argument != arguments) continue;
    if (!any) out += arguments ? "\nArguments:\n" : "\nOptions:\n";
    any = true;
    append_item(out, term(option), option.text, 26);
  }
}

}  // namespace

std::string help_text(const CommandModel& command) {
  std::string out =
      fmt::format("{} - {}\n\nUsage: {}\n", command.name, command.manual.summary, command.usage());
  for (const std::string& paragraph : command.paragraphs()) {
    out += '\n';
    append_wrapped(out, paragraph, 0, 0);
  }
  if (!command.commands.empty()) out += "\nCommands:\n";
  for (const CommandModel& sub : command.commands) {
    append_item(out, sub.words(), sub.manual.summary, 14);
  }
  append_options(out, command, true);
  append_options(out, command, false);
  if (!command.manual.examples.empty()) out += "\nExamples:\n";
  for (const Example& example : command.manual.examples) {
    out += fmt::format("  {}\n", example.command);
    append_wrapped(out, example.effect, 6, 0);
  }
  if (!command.manual.exit_statuses.empty()) out += "\nExit status:\n";
  for (const ExitStatus& exit : command.manual.exit_statuses) {
    append_item(out, std::string(exit.status), exit.meaning, 6);
  }
  if (!command.commands.empty()) out += "\n'hodo COMMAND --help' describes a command.\n";
  return out;
}

}  // namespace hodo::cli
